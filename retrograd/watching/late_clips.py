"""Clips in vain: after the step that has used the gradients, before there are any, or of nothing.

A generator of parameters gives them once; whoever gets it next clips none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from retrograd.watching.gradients import Gradients, parameters_of
from retrograd.watching.iterators import is_used_up
from retrograd.watching.lines import Step
from retrograd.watching.replacing import Undo, replaced
from retrograd.watching.scaling import CLIPPING
from retrograd.watching.torch_types import OptimizerLike

MOST = 24  # clips of one line that are looked at


@dataclass(eq=False)
class ClipLine:
    """What the clips of one line have met."""

    stack: list[Step]
    function: str
    late: int = 0  # clips of gradients that a step had used
    shortened: int = 0  # of these, such as have changed something, as far as it is known
    in_time: int = 0  # others, and late ones whose gradients a further step has used
    stepped: list[Step] = field(default_factory=list)  # the step before the last late one
    early: int = 0  # clips when nothing had a gradient, and a backward gave some before the step
    used_up: int = 0  # clips of a generator that had nothing left


class LateClips:
    """Follows the gradients that each clip has changed, up to the next step or clearing."""

    def __init__(self, gradients: Gradients) -> None:
        self.lines: dict[tuple[int, int], ClipLine] = {}
        self._gradients = gradients
        self._clipped: dict[int, ClipLine] = {}  # parameter id -> the line that clipped it late
        self._stepped: list[Step] = []
        self._early: set[ClipLine] = set()  # since the last step
        gradients.follow(self._clipped)

    def install(
        self, torch: Any, safely: Callable[..., Any], here: Callable[[], list[Step]]
    ) -> list[Undo]:
        """Put the patches in place; each of the results takes one away."""
        utils = torch.nn.utils

        def watched(name: str, original: Any) -> Any:
            def clip(*args: Any, **keywords: Any) -> Any:
                before = safely(self._before, here())
                given = keywords.get("parameters", args[0] if args else None)
                gone = is_used_up(given)
                if isinstance(given, Iterator) and not gone:
                    given = list(given)  # to be looked at, too; the clip gets an iterator again
                    again = iter(given)
                    if "parameters" in keywords:
                        keywords["parameters"] = again
                    else:
                        args = (again, *args[1:])
                if before is not None:
                    safely(self._note_nothing, name, here(), given, gone)
                result = original(*args, **keywords)
                if before:
                    limit = keywords.get("max_norm", args[1] if len(args) > 1 else math.inf)
                    safely(self._note, before, name, here(), result, limit)
                return result

            return clip

        return [replaced(utils, name, watched(name, getattr(utils, name))) for name in CLIPPING]

    def _before(self, stack: list[Step]) -> dict[int, tuple[int, bool]]:
        """The versions of all gradients, and whether a step has used them."""
        known = self.lines.get((stack[-1].chain, stack[-1].line)) if stack else None
        if not stack or (known is not None and known.late + known.in_time >= MOST):
            return {}
        return {
            id(p): (p.grad._version, self._gradients.was_used(p))
            for p in self._gradients.held()
            if p.grad is not None
        }

    def _note_nothing(self, name: str, stack: list[Step], given: Any, gone: bool) -> None:
        """A clip that finds no gradients."""
        if not stack:
            return
        line = self.lines.setdefault((stack[-1].chain, stack[-1].line), ClipLine(stack, name))
        if gone:
            line.used_up += any(p.grad is not None for p in self._gradients.held())
        elif not any(p.grad is not None for p in (*self._gradients.held(), *_parts(given))):
            self._early.add(line)  # copies whose gradients are handed on count, too

    def _note(
        self,
        before: dict[int, tuple[int, bool]],
        name: str,
        stack: list[Step],
        result: Any,
        limit: object,
    ) -> None:
        changed = [
            p
            for p in self._gradients.held()
            if p.grad is not None and before.get(id(p), (p.grad._version,))[0] != p.grad._version
        ]
        line = self.lines.setdefault((stack[-1].chain, stack[-1].line), ClipLine(stack, name))
        if not changed or not all(before[id(p)][1] for p in changed):
            line.in_time += bool(changed)
            return
        line.late += 1
        line.stepped = self._stepped
        if name == "clip_grad_value_" or _is_longer(result, limit):
            line.shortened += 1
        self._clipped.update((id(p), line) for p in changed)

    def before_step(self, optimizer: OptimizerLike) -> None:
        """What is still there was clipped for this step."""
        if self._early:
            held = parameters_of(optimizer)
            if any(p.grad is not None for p in held):
                for line in self._early:
                    line.early += 1
            self._early.clear()
        for parameter in parameters_of(optimizer) if self._clipped else ():
            late = self._clipped.pop(id(parameter), None)
            if late is not None and parameter.grad is not None:
                late.in_time += 1

    def after_step(self, stack: list[Step]) -> None:
        """Clips that follow come after this step."""
        self._stepped = stack


def _parts(given: Any) -> Iterable[Any]:
    """The tensors of an argument that may be one, or several."""
    if isinstance(given, (list, tuple)):
        return [part for part in given if hasattr(part, "grad")]
    return [given] if hasattr(given, "grad") else []


def _is_longer(norm: Any, limit: object) -> bool:
    """Whether the gradients were longer than they may be; no length is one that only looks."""
    return isinstance(limit, (int, float)) and float(norm) > limit
