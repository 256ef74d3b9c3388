"""Labelled programs, written again so that they live on another device.

    python -m tests.doctor.score tests/doctor/blind --device cuda

Every program makes its tensors and modules there by default: the call stands behind the first
import of torch, on the same line, so that labels keep their lines. Programs that do not end well
there even when repaired or healthy (a generator of the CPU handed to a function, an array of NumPy
mixed in) are left out and named.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from tests.forked import Machine

FIRST_IMPORT = re.compile(r"^(?:import torch|from torch)\b[^(\\#\n]*$", re.MULTILINE)
SECONDS = 120.0


def moved(text: str, device: str) -> str:
    """The program with its default device.

    >>> moved("import math\\nimport torch\\nx = torch.ones(2)\\n", "cuda").splitlines()[1]
    "import torch; __import__('torch').set_default_device('cuda')"
    """
    call = f"; __import__('torch').set_default_device({device!r})"
    return FIRST_IMPORT.sub(lambda line: line[0].rstrip() + call, text, count=1)


def write_corpus(corpus: Any, device: str, into: Path, machine: Machine) -> list[str]:
    """The programs of a `Labelled` for a device, in a folder; those that do not run there."""
    kept, lost = [], []
    for label in [*corpus.faulty, *corpus.healthy]:
        name = proof = label["file"]
        _copy(corpus.folder / name, into, name, device)
        if not label.get("healthy"):
            proof = _fixed_name(name)
            _copy(corpus.repaired(label), into, proof, device)
            label = {**label, "fixed": proof}
        status, printed = machine.python([str(into / proof)], (into / proof).parent, SECONDS)
        if status == 0:
            kept.append(label)
        else:
            lost.append(f"{name}: {(printed.strip().splitlines() or ['?'])[-1][:100]}")
    (into / "labels.json").write_text(json.dumps(kept))
    return lost


def _fixed_name(name: str) -> str:
    """Where the repair of a program is written.

    >>> _fixed_name("01_a.py"), _fixed_name("02_b/main.py")
    ('01_a.fixed.py', '02_b.fixed/main.py')
    """
    folder, slash, file = name.rpartition("/")
    return f"{folder}.fixed/{file}" if slash else file.removesuffix(".py") + ".fixed.py"


def _copy(script: Path, into: Path, name: str, device: str) -> None:
    """A script, or the folder whose main program it is."""
    target = into / name
    if target.parent != into and not target.parent.exists():
        shutil.copytree(script.parent, target.parent)
    target.write_text(moved(script.read_text(), device))
