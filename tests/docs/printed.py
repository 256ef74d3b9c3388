"""What the programs in the documentation print, as the pages show it.

A `text` block right after a `python` block is all that the program prints: its output, then, if it
fails, the last lines of the traceback. A `text` block right after the command `retrograd ... FILE`
is what the command prints, with the last `py` block of the page as that file; of the doctor it is
the report.
`python tests/docs/printed.py` writes these blocks anew.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))  # where this file is started by its path
from tests import forked

DOCS = ROOT / "docs"
CAUSES = ROOT / "retrograd" / "diagnostics" / "explain"
PAGES = [
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
    *(*sorted(DOCS.glob("**/*.md")), *sorted(CAUSES.glob("[a-z]*.md"))),
]
PROGRAM = re.compile(
    r"^```python\n(?P<program>(?:(?!```).*\n)*)```\n\n```text\n(?P<printed>(?:(?!```).*\n)*)```$",
    re.MULTILINE,
)
COMMAND = re.compile(
    r"^```py\n(?P<program>(?:(?!```).*\n)*)```\n\n```sh\n(?P<command>retrograd .*)\n```\n\n"
    r"```text\n(?P<printed>(?:(?!```).*\n)*)```$",
    re.MULTILINE,
)
# the last exception of a traceback: its message, which may be long, and its report
ERROR = re.compile(r"^(?:\w+\.)*(\w+Error: .*?)(?:\n+(error\[.*))?\Z", re.MULTILINE | re.DOTALL)

REPORT = re.compile(r"^(?:error|warning)\[[a-z-]+\]: .*", re.MULTILINE | re.DOTALL)


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with the arguments given."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RETROGRAD_")}
    environment = {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    doctor = command[:3] == ["-m", "retrograd", "doctor"]
    imported = (*forked.WITH_RETROGRAD, *forked.WITH_DOCTOR) if doctor else forked.WITH_RETROGRAD
    return forked.python(command, folder, environment, imported=imported)


def printed_by_command(program: str, command: str, folder: Path) -> str:
    """What `retrograd ... FILE` prints, where FILE has the program."""
    words = command.split()
    (folder / words[-1]).write_text(program, encoding="utf-8")
    done = run(["-m", *words], folder)
    if words[1] == "doctor":
        found = REPORT.search(done.stderr)
        assert found is not None, done.stderr
        return found[0]
    assert done.stderr == "", done.stderr
    return done.stdout


def printed_by(program: str, folder: Path) -> str:
    """What a program prints. Of a long message the first sentence is shown."""
    (folder / "train.py").write_text(program, encoding="utf-8")
    done = run(["train.py"], folder)
    if done.returncode == 0:
        return done.stdout
    found = ERROR.search(done.stderr)
    if found is None:
        raise AssertionError(f"the program failed without a message:\n{done.stderr}")
    report = f"\n{found[2].rstrip()}\n" if found[2] else ""
    return done.stdout + shortened(found[1]) + report


def shortened(message: str) -> str:
    """The first sentence, at most 100 columns wide, and a mark for the rest."""
    first = re.split(r"(?<=\.)\s", message.strip(), maxsplit=1)[0]
    shown = message.strip() if first == message.strip() else f"{first} [...]"
    return textwrap.fill(shown, 100, break_long_words=False) + "\n"


def same(shown: str, printed: str) -> bool:
    """Whether two texts agree; the last digit of a fraction may differ by one, as processors do."""
    fraction = re.compile(r"\d+\.(\d+)")
    if fraction.sub("#", shown) != fraction.sub("#", printed):
        return False
    return all(
        abs(float(one[0]) - float(other[0])) < 1.01 * 10 ** -len(one[1])
        for one, other in zip(fraction.finditer(shown), fraction.finditer(printed), strict=True)
    )


def renewed(text: str) -> str:
    """The page with its printed blocks as they are now."""

    def block(found: re.Match[str]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            if found.re is PROGRAM:
                printed = printed_by(found["program"], Path(folder))
            else:
                printed = printed_by_command(found["program"], found["command"], Path(folder))
        before = found[0][: found.start("printed") - found.start()]
        return f"{before}{printed}```"

    return COMMAND.sub(block, PROGRAM.sub(block, text))


def main() -> None:
    """Write the blocks of the pages given, or of all of them."""
    for page in [Path(argument) for argument in sys.argv[1:]] or PAGES:
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
