"""Fixes of a `watch()` block, a test and a cell are tried: their code runs again by itself."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import retrograd
from retrograd.doctor.fixes import again, cells
from retrograd.doctor.library import Report, watch
from tests import forked
from tests.forked import ROOT
from tests.limits import LIMIT

STATE = """\
weight = torch.ones(3, requires_grad=True)
state = torch.zeros(3)
for _ in range(3):
    state = torch.tanh(state * weight + 1)
    state.sum().backward()
"""


def in_block(text: str, options: str = "", before: str = "") -> str:
    """A program with the text in a `watch()` block, that prints its report."""
    inner = "".join(f"        {line}\n" for line in text.splitlines())
    return f"""\
import os
import sys
import retrograd as torch
from retrograd.doctor import watch

{before}
report = None
try:
    with watch({options}) as report:
{inner}
except RuntimeError as error:
    print(type(error).__name__)
print("printed once")
print(report)
"""


def run(folder: Path, text: str, *arguments: str, command: tuple[str, ...] = ()) -> str:
    """What a program prints that Python runs, nobody around it."""
    (folder / "program.py").write_text(text)
    asked = [*(command or ("program.py", *arguments))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if arguments:  # a fork knows only the command line of the process that forks
        done = subprocess.run(
            [sys.executable, *asked],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    else:
        done = forked.python(asked, folder, environment, imported=forked.WITH_DOCTOR)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


PROVEN = "tried: ran to the end without an error or a report"


@pytest.mark.slow
def test_the_script_of_a_block_runs_again(tmp_path: Path) -> None:
    out = run(tmp_path, in_block(STATE))
    assert out.count("printed once") == 1
    assert "error[stale-state-carried]" in out and PROVEN in out
    assert "state.detach()" in out.partition(PROVEN)[0]


@pytest.mark.slow
def test_it_is_not_run_again_if_nobody_wants_it(tmp_path: Path) -> None:
    out = run(tmp_path, in_block(STATE, "verify=False"))
    assert "state.detach()" in out and "tried:" not in out


@pytest.mark.slow
def test_what_it_did_outside_is_not_done_again(tmp_path: Path) -> None:
    before = "open('log.txt', 'a').write('once\\n')"
    out = run(tmp_path, in_block(STATE, before=before))
    said = " ".join(out.split())
    assert "not tried: run again by itself, it wrote log.txt" in said
    assert "watch(verify=True) tries it nevertheless" in said
    assert (tmp_path / "log.txt").read_text() == "once\n"
    out = run(tmp_path, in_block(STATE, "verify=True", before))
    assert PROVEN in out and (tmp_path / "log.txt").read_text().count("once") > 2


@pytest.mark.slow
def test_its_arguments_are_those_it_was_started_with(tmp_path: Path) -> None:
    before = "steps = int(sys.argv.pop())\nassert steps == 3"
    out = run(tmp_path, in_block(STATE.replace("range(3)", "range(steps)"), before=before), "3")
    assert PROVEN in out


@pytest.mark.slow
def test_the_block_is_the_same_one(tmp_path: Path) -> None:
    """A program with several blocks: the first one has nothing to say."""
    before = "with watch():\n    torch.ones(3, requires_grad=True).sum().backward()"
    assert PROVEN in run(tmp_path, in_block(STATE, before=before))


@pytest.mark.slow
def test_a_mistake_that_does_not_show_again_proves_nothing(tmp_path: Path) -> None:
    """The program has gone to another folder, where it would not find its file."""
    (tmp_path / "steps").write_text("3")
    (tmp_path / "else").mkdir()
    before = "steps = int(open('steps').read())\nos.chdir('else' if os.path.isdir('else') else '.')"
    out = run(tmp_path, in_block(STATE.replace("range(3)", "range(steps)"), before=before))
    assert "not tried: run again by itself, the program does not come" in " ".join(out.split())
    (tmp_path / "else" / "steps").write_text("1")
    out = run(tmp_path, in_block(STATE.replace("range(3)", "range(steps)"), before=before))
    assert "not tried: run again by itself, it does not show this mistake" in " ".join(out.split())


def test_a_program_without_a_file(tmp_path: Path) -> None:
    out = run(tmp_path, "", command=("-c", in_block(STATE)))
    assert "error[" in out and "state.detach()" not in out  # no lines, no diff


@pytest.mark.slow
def test_a_module_runs_again_as_one(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "train.py").write_text(in_block(STATE, before="from . import __name__ as name"))
    assert PROVEN in run(tmp_path, "", command=("-m", "package.train"))


def test_a_block_in_a_test_says_how() -> None:
    with pytest.raises(RuntimeError, match="second time"), watch("retrograd") as report:
        exec(compile(STATE, __file__, "exec"), {"torch": retrograd})
    code = again.of_this_process(1)
    assert code.against == "a test runs again with `pytest --autograd-doctor`"
    assert not any(fix.verified for found in report.diagnoses for fix in found.fixes)


# ------------------------------------------------------------------------- the second pass

CUT = """\
first, last = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], 0.1)
for _ in range(6):
    hidden = torch.relu(first(torch.ones(2, 3))).detach()
    loss = last(hidden).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRITTEN = """\
weight = torch.ones(3, requires_grad=True)
value = weight.exp()
result = value * value
alias = value
alias.mul_(2)
result.sum().backward()
"""


@pytest.mark.slow
def test_where_the_way_is_cut_is_looked_for_in_another_run(tmp_path: Path) -> None:
    printed = run(tmp_path, in_block(CUT))
    assert "warning[broken-graph]: " in printed and "^ cut here" in printed, printed
    assert "-  |             hidden = torch.relu(first(torch.ones(2, 3))).detach()" in printed
    assert "tried: ran to the end without an error or a report; 4 of 4 parameters" in printed


@pytest.mark.slow
def test_which_line_wrote_is_looked_for_in_another_run(tmp_path: Path) -> None:
    printed = run(tmp_path, in_block(WRITTEN))
    assert "error[inplace-after-save]: " in printed and "2 written here" in printed, printed


def test_nothing_runs_again_if_nobody_wants_it(tmp_path: Path) -> None:
    printed = run(tmp_path, in_block(CUT, "verify=False"))
    assert "broken-graph" not in printed
    assert "where the loss lost its history: the code was not to run again" in printed


@pytest.mark.slow
def test_the_second_pass_changes_nothing_outside(tmp_path: Path) -> None:
    text = CUT.replace("    hidden", "    open('log.txt', 'a').write('x')\n    hidden")
    printed = run(tmp_path, in_block(text))
    assert (tmp_path / "log.txt").read_text() == "x" * 6, printed
    said = " ".join(printed.split())
    assert "not seen: where the loss lost its history: the second run was stopped: it wrote" in said


# -------------------------------------------------------------------------------- notebooks


class Shell:
    """As much of IPython as the cells are read from; it runs them as IPython does."""

    def __init__(self) -> None:
        self.history_manager = self
        self.compile = self
        self.input_hist_parsed = [""]
        self._filename_map: dict[str, int] = {}
        self.space: dict[str, Any] = {"torch": retrograd, "watch": watch}

    def transform_cell(self, text: str) -> str:
        return text if text.endswith("\n") else text + "\n"

    def ran(self, text: str) -> str:
        """A cell has run; its name."""
        number = len(self.input_hist_parsed)
        name = f"<ipython-input-{number}-{abs(hash(text)):x}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        self._filename_map[name] = number
        self.input_hist_parsed.append(text)
        return name


IMPORT = "import retrograd as torch\nfrom retrograd.doctor import watch\n"


def result_of_cells(shell: Shell, *texts: str) -> Report:
    """Run cells, the last one watched as `%%doctor` does, and try its fixes."""
    for text in texts[:-1]:
        code = compile(text, shell.ran(text), "exec")
        try:
            exec(code, shell.space)
        except Exception as error:
            assert "boom" in str(error)
    name = shell.ran(texts[-1])
    shell.input_hist_parsed[-1] = f"get_ipython().run_cell_magic('doctor', '', {texts[-1]!r})\n"
    watcher = watch("retrograd", verify=True)  # however long the tests before have computed
    watcher.again = lambda block: again.of_cells(shell, 1)  # the first one of the replay
    with pytest.raises(RuntimeError, match="second time"), watcher as report:
        exec(compile(texts[-1], name, "exec"), shell.space)
    return report


@pytest.mark.slow
def test_the_cells_run_again_in_their_order() -> None:
    shell = Shell()
    failing = "raise ValueError('boom')\n"
    head, _, tail = STATE.partition("for")
    report = result_of_cells(shell, IMPORT, failing, head, f"for{tail}")
    assert report.diagnoses[0].fixes[0].verified, report.text()
    assert "state.detach()" in report.diagnoses[0].fixes[0].diff


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("get_ipython().system('pip install torch')\n", "cell 2 uses `system`"),
        ("get_ipython().run_line_magic('pip', 'install torch')\n", "cell 2 uses the magic %pip"),
        ("get_ipython().run_cell_magic('bash', '', 'ls')\n", "cell 2 is for the magic %%bash"),
        ("await nothing()\nx = (\n", "cell 2 is no plain Python"),
    ],
)
def test_cells_that_are_more_than_a_program(cell: str, said: str) -> None:
    shell = Shell()
    shell.ran(IMPORT)
    shell.ran(cell)
    shell.ran(STATE)
    code = again.of_cells(shell, 1)
    assert code.against == said and not code.cells


def test_settings_are_left_out_and_cells_keep_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell()
    names = [
        shell.ran("get_ipython().run_line_magic('matplotlib', 'inline')\n"),
        shell.ran("def where():\n    return where.__code__.co_filename\ndisplay(1)\n"),
        shell.ran("1 / 0\n"),
        shell.ran("print(where(), __name__)\n"),
    ]
    found = cells.cells_of(shell)
    assert [cell["name"] for cell in found] == names
    cells.write_program(found, tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
    cells.replay(str(tmp_path / "cells.json"))
    out = capsys.readouterr()
    assert out.out == f"{names[1]} __main__\n" and "ZeroDivisionError" in out.err
