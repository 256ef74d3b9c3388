"""How the code of a `watch()` block, of a test or of a cell can run again by itself.

The command starts a program and can start it again. A block stands in a program that runs already:
its script with the block, the one test, or the notebook's cells are then run in a new process. What
they depend on may not be there (other tests, another folder, luck). So they first run without any
edit, and a fix is tried only if the mistake shows again.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from retrograd.doctor.fixes.edits import propose_all
from retrograd.doctor.fixes.verify import (
    VERIFIED_BELOW,
    Outcome,
    Request,
    run_trial,
    say_of_first,
    verify_all,
)
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.result import Result


@dataclass
class Again:
    """What to start, and which of its blocks is meant."""

    block: int  # so many blocks have begun in its process, this one included
    script: str | None = None
    module: str | None = None
    arguments: list[str] = field(default_factory=list)
    cells: list[dict[str, Any]] = field(default_factory=list)
    against: str = ""  # why it cannot run again
    option: str = "watch(verify=True)"  # what permits it

    @property
    def permit(self) -> str:
        """How to have it nevertheless."""
        return f" ({self.option} tries it nevertheless)"

    def reason_against(self, wanted: bool | None) -> str:
        """Why it should not run again unasked; "" if nothing speaks against it."""
        computed = time.process_time()
        if self.against or wanted is not None or computed <= VERIFIED_BELOW:
            return self.against
        return f"the program has computed for {computed:.0f} s{self.permit}"

    def request(self, engine: str, seconds: float, wanted: bool | None) -> Request:
        """What a process is asked that runs it again; the block itself took so many seconds."""
        return Request(
            *(self.script, self.module, list(self.arguments)),
            engine="torch" if self.cells and engine == "torch" else None,
            forced=wanted is True,
            first=Result(seconds=max(time.process_time(), seconds)),
            block=self.block,
            cells=self.cells,
            permit=self.permit,
        )


def of_this_process(block: int) -> Again:
    """The program that runs now, as far as it can be known."""
    shell = _shell()
    if shell is not None:
        return of_cells(shell, block)
    if "pytest" in sys.modules and "PYTEST_CURRENT_TEST" in os.environ:
        return Again(block, against="a test runs again with `pytest --autograd-doctor`")
    if "RANK" in os.environ or "--multiprocessing-fork" in sys.orig_argv:
        return Again(block, against="it is one process of several")
    main = sys.modules["__main__"]
    file, spec = getattr(main, "__file__", None), getattr(main, "__spec__", None)
    if spec is not None:  # `python -m package.module`
        return Again(block, module=spec.name.removesuffix(".__main__"), arguments=sys.argv[1:])
    if not file or not os.path.isfile(file):
        return Again(block, against="the program is in no file that could run again")
    return Again(block, script=os.path.abspath(file), arguments=_arguments(main))


def _arguments(main: ModuleType) -> list[str]:
    """What followed the script; the program may have taken some of them out of `sys.argv`."""
    words = sys.orig_argv
    for position, word in enumerate(words[1:], 1):
        if os.path.basename(word) == os.path.basename(str(main.__file__)):
            return words[position + 1 :]
    return sys.argv[1:]


def _shell() -> Any:
    """The notebook or the IPython prompt that this process is, if it is one."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def of_cells(shell: Any, block: int) -> Again:
    """The cells that a notebook has run."""
    from retrograd.doctor.fixes import cells

    option = "%%doctor --verify, watch(verify=True)"
    try:
        return Again(block, cells=cells.cells_of(shell), option=option)
    except cells.CannotReplay as error:
        return Again(block, against=str(error), option=option)


# -------------------------------------------------------------------------------- the trials


def try_fixes(result: Result, again: Again, wanted: bool | None, asked: bool = False) -> None:
    """Write the fixes of a block as diffs, and try them where its code can run again.

    wanted  True: however long it takes and whatever it does; False: not at all
    asked   a second pass has told of this block
    """
    propose_all(result.diagnoses)
    if wanted is False or not any(d.fixes for d in result.diagnoses):
        return
    against = again.reason_against(wanted)
    if against:
        say_of_first(result.diagnoses, f"not tried: {against}")
        return
    request = again.request(result.engine, result.seconds, wanted)
    permit = request.permit
    if sys.stderr.isatty():
        print("\nretrograd doctor: trying the fixes on a copy ...", file=sys.stderr)
    found = run_trial(None, request)
    shown = [] if isinstance(found, str) else _shown_again(result, found, asked)
    rest = [diagnosis for diagnosis in result.diagnoses if diagnosis not in shown]
    say_of_first(rest, f"not tried: {_why_not(found, permit)}")
    if shown and not isinstance(found, str):
        request.first = found.result
        verify_all(shown, request)
        result.diagnoses[:] = shown + rest


def _shown_again(result: Result, found: Outcome, asked: bool) -> list[Diagnosis]:
    """The findings of the first run that are made again.

    What a second pass has told was seen in another run already: there the symptoms are enough, the
    same error and the same parameters without a gradient.
    """
    second = found.result
    if asked and second.started and not found.stopped:
        if (second.error[:60], second.gradients) == (result.error[:60], result.gradients):
            return list(result.diagnoses)
    keys = [(d.cause, d.error_line) for d in second.diagnoses]
    return [d for d in result.diagnoses if (d.cause, d.error_line) in keys]


def _why_not(found: Outcome | str, permit: str) -> str:
    if isinstance(found, str):
        return f"run again by itself, {found}"
    if found.stopped:
        return f"run again by itself, {found.stopped}{permit}"
    if not found.result.started:
        return "run again by itself, the program does not come to this place"
    return "run again by itself, it does not show this mistake"
