"""Where detached values go: which later node has one of them for an operand.

A node that saves its operand says so by its memory. One that saves nothing, such as an addition,
only shows that an operand has no history; that it is the detached value is then read in the text of
the line: the operand at that place is `h.detach()` itself, or the name that it was given.
"""

from __future__ import annotations

import ast
import linecache
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from retrograd.watching.lines import Chains

MOST_PENDING = 64

_SIGNS: dict[str, type[ast.operator]] = {"AddBackward0": ast.Add, "SubBackward0": ast.Sub}

Site = tuple[int, int, int]  # chain, line, activation


@dataclass(eq=False, slots=True)
class Cut:
    """A node's result was detached; `index` is known once the node is written down."""

    position: Any
    index: int = -1


@dataclass(frozen=True, slots=True)
class _Detached:
    cut: Cut
    number: int  # of the next node then
    site: Site


class Uses:
    """The latest detaches, and the search for what used their values."""

    def __init__(self, chains: Callable[[], Chains | None]) -> None:
        self.pending: deque[_Detached] = deque(maxlen=MOST_PENDING)
        self._chains = chains

    def note(self, cut: Cut, number: int, site: Site) -> None:
        """The line at a site has detached a node's result."""
        self.pending.append(_Detached(cut, number, site))

    def used_by(
        self, name: str, number: int, site: Site, edges: Sequence[tuple[Any, int]]
    ) -> Cut | None:
        """The detach whose value is the operand without history of a node, where it is certain."""
        slots = [slot for slot, (following, _) in enumerate(edges) if following is None]
        chains = self._chains()
        if name not in _SIGNS or len(edges) != 2 or len(slots) != 1 or chains is None:
            return None
        file = chains.file_of(site[0])
        operands = [pair[slots[0]] for pair in _sums(file, site[1], name)]
        for detached in reversed(self.pending):
            if detached.number > number or detached.site[0] != site[0]:
                continue
            names = _targets(file, detached.site[1])
            # a constant has no history either: then it is not certain which sum this is
            fitting = [
                (text, constant)
                for text, constant in operands
                if constant or text in names or _detaches(text, detached.site == site)
            ]
            if len(fitting) == 1 and not fitting[0][1]:
                return detached.cut
        return None


@lru_cache(maxsize=64)
def _statements(file: str) -> dict[int, list[ast.stmt]]:
    """The simple statements of a file, by each of their lines."""
    found: dict[int, list[ast.stmt]] = {}
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found.setdefault(line, []).append(node)
    return found


Operand = tuple[str, bool]  # its text, and whether it is a constant


@lru_cache(maxsize=1024)
def _sums(file: str, line: int, name: str) -> list[tuple[Operand, Operand]]:
    """The sums or differences that a line writes, each with its two operands."""
    found, sign = [], _SIGNS[name]
    for statement in _statements(file).get(line, ()):
        for node in ast.walk(statement):
            if isinstance(node, ast.BinOp) and isinstance(node.op, sign):
                found.append((_operand(node.left), _operand(node.right)))
            elif isinstance(node, ast.AugAssign) and isinstance(node.op, sign):
                found.append((_operand(node.target), _operand(node.value)))
    return found


def _operand(node: ast.expr) -> Operand:
    return ast.unparse(node), isinstance(node, ast.Constant)


def _detaches(text: str, same_line: bool) -> bool:
    return same_line and text.endswith(".detach()")


@lru_cache(maxsize=1024)
def _targets(file: str, line: int) -> list[str]:
    """The names that a line gives to `value.detach()`."""
    found = []
    for statement in _statements(file).get(line, ()):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                found += _given(target, statement.value)
    return found


def _given(target: ast.expr, value: ast.expr) -> list[str]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=False)
        return [name for one, other in pairs for name in _given(one, other)]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr == "detach":
            return [ast.unparse(target)]
    return []
