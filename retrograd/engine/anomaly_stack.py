"""The stack of the forward call that made a node; recorded in anomaly mode only.

Frames are not kept, since they would keep the caller's tensors alive: only code and instruction,
which become lines of text when somebody reads them.
"""

from __future__ import annotations

import os
from sys import _getframe
from types import CodeType
from typing import TYPE_CHECKING

from retrograd.engine.state import STATE
from retrograd.lifecycle.site import is_library

if TYPE_CHECKING:
    from retrograd.engine.node import Node

_LAYERS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "nn", "")


class ForwardRecord:
    """Where a node was made, and the node whose backward made it, if one did."""

    __slots__ = ("frames", "parent")

    def __init__(self) -> None:
        frames: list[tuple[CodeType, int]] = []
        frame = _getframe(1)
        while True:
            frames.append((frame.f_code, frame.f_lasti))
            if frame.f_back is None:
                break
            frame = frame.f_back
        self.frames = frames  # the innermost first
        call = STATE.call
        self.parent: Node | None = None if call is None else call.node

    def lines(self) -> list[str]:
        """The stack as `traceback.format_stack` writes it, the outermost call first.

        It ends with the line that called the op: what happens inside the op is left out.
        """
        import traceback  # as late as a stack is shown: it takes a millisecond

        skipped = 0
        for code, _ in self.frames:
            name = code.co_filename
            if not is_library(name) or name.startswith(_LAYERS):
                break
            skipped += 1
        frames = self.frames[skipped:] or self.frames
        return traceback.StackSummary.from_list(
            [(code.co_filename, _line(code, at), code.co_name, None) for code, at in frames[::-1]]
        ).format()


def _line(code: CodeType, instruction: int) -> int:
    """The line of an instruction."""
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno
