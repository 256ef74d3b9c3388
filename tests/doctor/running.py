"""Runs `retrograd doctor` on a text, as a user would, and gives what came out."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import forked

ROOT = Path(__file__).parents[2]


@dataclass
class Run:
    """What a run has printed, its status, and the report for programs."""

    status: int
    out: str
    errors: str
    report: dict[str, Any]

    @property
    def causes(self) -> list[str]:
        return [found["category"] for found in self.report["diagnoses"]]


def command(*options: str) -> list[str]:
    """The command line up to the program."""
    # the folder of the checkout is in no path of the program: the doctor finds itself
    start = f"import sys; sys.path[0] = {str(ROOT)!r}; from retrograd.cli import main; "
    return [sys.executable, "-c", start + "sys.exit(main())", "doctor", *options]


def doctor(
    folder: Path,
    text: str | bytes,
    *options: str,
    engine: str = "retrograd",
    arguments: tuple[str, ...] = (),
    given: str = "",
    name: str = "program.py",
    verify: bool = False,
) -> Run:
    """Write the program, run it under the doctor, and read the report."""
    script, out = folder / name, folder / "report.json"
    script.write_bytes(text if isinstance(text, bytes) else text.encode())
    tried = () if verify else ("--no-verify",)
    asked = [*command(*tried, "--engine", engine, *options), "--json", str(out)]
    imported = forked.WITH_TORCH if engine == "torch" else forked.WITH_DOCTOR
    command_line = [*asked[1:], str(script), *arguments]
    done = forked.python(command_line, folder, given=given, imported=imported)
    report = json.loads(out.read_text()) if out.exists() else {}
    return Run(done.returncode, done.stdout, done.stderr, report)


TWICE = """\
import torch

weight = torch.ones(3, requires_grad=True)
loss = (weight * weight).sum()
loss.backward()
loss.backward()
"""

HEALTHY = """\
import torch

layer = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
for step in range(3):
    optimizer.zero_grad()
    layer(torch.ones(2, 3)).sum().backward()
    optimizer.step()
print("done")
"""
