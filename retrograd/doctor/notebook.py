"""The cell magic `%%doctor` for IPython and Jupyter."""

from __future__ import annotations

import re
import sys
from typing import Any

from retrograd.doctor.library import watch
from retrograd.watching.program import has_torch

IMPORTS_TORCH = re.compile(r"^\s*(import|from)\s+torch\b", re.MULTILINE)


def load(shell: Any) -> None:
    """Define the magic in a shell."""

    def doctor(line: str, cell: str) -> None:
        """Run the cell, watch it, and show what was wrong: `%%doctor [torch|retrograd]`."""
        watcher = watch(engine=line.strip() or _engine_of(cell))
        watcher.start(None)
        try:
            done = shell.run_cell(cell)
        except BaseException as error:
            watcher.finish(error)
            raise
        watcher.finish(done.error_in_exec or done.error_before_exec)
        print(watcher.report.text(color=False), file=sys.stderr)

    shell.register_magic_function(doctor, magic_kind="cell", magic_name="doctor")


def _engine_of(cell: str) -> str | None:
    """PyTorch, if the cell is the first to import it; else what the notebook has imported."""
    return "torch" if IMPORTS_TORCH.search(cell) and has_torch() else None
