"""The cell magic `%%doctor` for IPython and Jupyter."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from retrograd.doctor.fixes.again import of_cells
from retrograd.doctor.fixes.cells import engine_asked
from retrograd.doctor.library import watch
from retrograd.watching.endings import strip_own_frames
from retrograd.watching.program import has_torch

TRIED = {"--verify": True, "--no-verify": False}
IMPORTS_TORCH = re.compile(r"^\s*(import|from)\s+torch\b", re.MULTILINE)


def load(shell: Any) -> None:
    """Define the magic in a shell."""

    def doctor(line: str, cell: str) -> None:
        """Run the cell, watch it, and show what was wrong.

        `%%doctor [torch|retrograd] [--verify | --no-verify]`
        """
        verify = next((wanted for word, wanted in TRIED.items() if word in line.split()), None)
        watcher = watch(engine=engine_asked(line) or _engine_of(cell), verify=verify)
        watcher.again = partial(of_cells, shell)
        watcher.start(None)
        try:
            with _without_own_frames(shell):
                done = shell.run_cell(cell)
        except BaseException as error:
            watcher.finish(error)
            raise
        watcher.finish(done.error_in_exec or done.error_before_exec)
        if watcher.report.diagnoses or watcher.report.unseen:
            text, page = watcher.report.text(), watcher.report._repr_html_()
            shell.display_pub.publish({"text/plain": text, "text/html": page})

    shell.register_magic_function(doctor, magic_kind="cell", magic_name="doctor")


@contextmanager
def _without_own_frames(shell: Any) -> Iterator[None]:
    """The shell prints the error of a cell before anybody else sees it."""
    show = shell.showtraceback

    def showtraceback(*args: object, **keywords: object) -> object:
        error = sys.exc_info()[1]
        if error is not None:
            strip_own_frames(error)
        return show(*args, **keywords)

    shell.showtraceback = showtraceback
    try:
        yield
    finally:
        del shell.showtraceback


def _engine_of(cell: str) -> str | None:
    """PyTorch, if the cell is the first to import it; else what the notebook has imported."""
    return "torch" if IMPORTS_TORCH.search(cell) and has_torch() else None
