"""`graph.show`: the graph behind a tensor as text.

A graph is long and thin, so what follows one after the other stands one below the other, without
indentation. Where a node has several inputs, the shorter ways are indented below it and the longest
one goes on. Blocks that repeat are folded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from shutil import get_terminal_size
from types import FrameType
from typing import Any, TextIO

from retrograd.graph.states import state
from retrograd.graph.wording import counted, size, where
from retrograd.watching.holders import paths_to
from retrograd.watching.reading import Node, Reader, behind, node_of, reader_of

MARKS = {"held": "●", "freed": "○", "leaf": "◆", "nothing saved": "·", "unknown": "?"}
_PLAIN_MARKS = {"held": "*", "freed": "o", "leaf": "=", "nothing saved": ".", "unknown": "?"}
LEGEND = "holds values", "freed", "leaf", "saved nothing", "not visible"

LONGEST_BLOCK = 200  # lines of a block that is looked for when folding
MOST_FRAMES = 5  # whose variables name leaves


@dataclass(slots=True)
class Line:
    """One line of the tree."""

    depth: int
    text: str  # name and shape
    mark: str  # state
    note: str  # bytes held, who freed it, the name of a leaf
    place: str
    bytes: int = 0

    @property
    def kind(self) -> tuple[int, str, str, str]:
        """What makes two lines of repeated blocks alike: names of leaves and bytes may differ."""
        return self.depth, self.text, self.mark, self.place


@dataclass(slots=True)
class Fold:
    """Lines above that come again, `times` more."""

    depth: int
    lines: int
    times: int
    bytes: int


def show(
    tensor: Any,
    *,
    depth: int | None = None,
    fold: bool = True,
    width: int | None = None,
    file: TextIO | None = None,
) -> None:
    """Print the graph behind a tensor: states, saved bytes, lines.

    depth  how many branches deep; what is deeper is counted (None: all)
    fold   write blocks that repeat once, with how often they come
    width  of a line; that of the terminal by default

    Each node has a mark for its state, and the legend stands below.

    >>> x = torch.ones(3, requires_grad=True)
    >>> torch.graph.show((x.exp() * x).sum(), width=100)
    created: 3 nodes, 1 leaf, 2 nodes hold 12 B
    · SumBackward0 ()...
    ● MulBackward0 (3,)      holds 12 B...
      ◆ AccumulateGrad (3,)  ...x
    ● ExpBackward0 (3,)      12 B, counted above...
    ◆ AccumulateGrad (3,)    ...x
    ● holds values   ◆ leaf   · saved nothing
    """
    out = sys.stdout if file is None else file
    reader = reader_of(tensor)
    width = width or get_terminal_size((100, 24)).columns
    print(state(tensor), file=out)
    root = node_of(reader, tensor)
    if root is None or reader.leaf(root) is not None:
        return
    lines = _Tree(reader, root, sys._getframe(1), depth).lines
    shown: Sequence[Line | Fold] = folded(lines) if fold else lines
    for text in laid_out(shown, width, _can_print(out)):
        print(text, file=out)


def _can_print(out: TextIO) -> bool:
    try:
        "".join(MARKS.values()).encode(getattr(out, "encoding", None) or "utf-8")
    except UnicodeError:
        return False
    return True


class _Tree:
    """Turns a graph into lines: the branches of a node, then its longest way.

    A node that several others use is written where the last of them leads to it, so that the ways
    around a residual block meet again below it.
    """

    def __init__(self, reader: Reader, root: Node, frame: FrameType, depth: int | None) -> None:
        self.reader = reader
        self.lines: list[Line] = []
        self._limit = depth
        nodes = behind(reader, [root])
        self._inputs = {
            node: list(dict.fromkeys(following for following, _ in reader.edges(node)))
            for node in nodes
        }
        self._users = {node: 0 for node in nodes}
        self._users[root] = 1
        for inputs in self._inputs.values():
            for following in inputs:
                self._users[following] += 1
        self._length: dict[Node, int] = {}  # of the longest way to an end of the graph
        for node in reversed(nodes):
            lengths = [self._length[following] for following in self._inputs[node]]
            self._length[node] = 1 + max(lengths, default=0)
        self._names = _leaf_names(reader, nodes, frame)
        self._counted: set[int] = set()
        self._write(root)

    def _write(self, root: Node) -> None:
        waiting: list[tuple[Node, int, _Hidden | None]] = [(root, 0, None)]
        while waiting:
            node, depth, hidden = waiting.pop()
            self._users[node] -= 1
            inputs = sorted(self._inputs[node], key=self._length.__getitem__)
            if self._users[node] and inputs:
                if hidden is None:
                    name = self.reader.name(node)
                    self.lines.append(Line(depth, name, self.reader.state(node), "below", ""))
                continue
            if hidden is None and self._limit is not None and depth > self._limit:
                hidden = _Hidden(depth, len(self.lines))
                self.lines.append(Line(depth, "", "nothing saved", "", ""))
            if hidden is None:
                self.lines.append(self._line(node, depth))
            else:
                hidden.nodes += 1
                self.lines[hidden.line].text = f"{counted(hidden.nodes, 'node')} more"
            if inputs:  # taken from the end: the branches in front of the longest way
                waiting.append((inputs[-1], depth, hidden))
                waiting += [(branch, depth + 1, hidden) for branch in inputs[:-1]]

    def _line(self, node: Node, depth: int) -> Line:
        reader = self.reader
        shape, _ = reader.describe(node)
        text = f"{reader.name(node)} {'' if shape is None else shape}".rstrip()
        mark = reader.state(node)
        note, kept = "", 0
        if mark == "leaf":
            note = self._names.get(id(reader.leaf(node)), "")
        elif mark == "freed":
            call = reader.freed_by(node)
            note = "" if call is None else f"freed by {call.kind} call {call.ordinal}"
        elif mark == "held":
            note, kept = self._held(node)
        return Line(depth, text, mark, note, where(reader.place(node)), kept)

    def _held(self, node: Node) -> tuple[str, int]:
        rows = [row for row in self.reader.saved(node) if row.owner in ("graph", "hook")]
        new = {row.storage: row.storage_bytes for row in rows if row.storage not in self._counted}
        self._counted |= set(new)
        kept = sum(new.values())
        if kept:
            return f"holds {size(kept)}", kept
        if rows:
            return f"{size(sum(row.bytes for row in rows))}, counted above", 0
        return "holds inputs only", 0


@dataclass(slots=True)
class _Hidden:
    """A branch that is deeper than asked for: its nodes are counted in one line."""

    depth: int
    line: int
    nodes: int = 0


def _leaf_names(reader: Reader, nodes: Iterable[Node], frame: FrameType) -> dict[int, str]:
    """The variables by which the caller reaches the leaves: `model.fc1.weight`."""
    leaves = {id(leaf): leaf for node in nodes if (leaf := reader.leaf(node)) is not None}
    frames: list[FrameType] = []
    around: FrameType | None = frame
    while around is not None and len(frames) < MOST_FRAMES:
        frames.append(around)
        around = around.f_back
    found: dict[int, str] = {}
    for name, value in [pair for inner in frames for pair in inner.f_locals.items()]:
        # a class, or an object that answers to everything, is no module
        if hasattr(type(value), "named_parameters") and "_parameters" in getattr(
            value, "__dict__", ()
        ):
            for below, parameter in value.named_parameters():
                if id(parameter) in leaves:
                    found.setdefault(id(parameter), f"{name}.{below}")
    rest = [leaf for key, leaf in leaves.items() if key not in found]
    others = paths_to(rest, frames, reader.tensor)
    return found | {key: held.path for key, held in others.items()}


def folded(lines: list[Line]) -> list[Line | Fold]:
    """Lines with blocks that come again right after themselves written once."""
    kinds = [line.kind for line in lines]
    found: list[Line | Fold] = []
    start = 0
    while start < len(lines):
        length, times = _repeats(kinds, start)
        if times:
            found += lines[start : start + length]
            again = lines[start + length : start + length * (times + 1)]
            depth = min(line.depth for line in again)
            found.append(Fold(depth, length, times, sum(line.bytes for line in again)))
            start += length * (times + 1)
        else:
            found.append(lines[start])
            start += 1
    return found


def _repeats(kinds: list[tuple[int, str, str, str]], start: int) -> tuple[int, int]:
    """Length and number of repetitions of the block at `start` that hides most lines."""
    best, hidden = (0, 0), 2  # folding must hide more lines than it adds
    for length in range(1, min(LONGEST_BLOCK, (len(kinds) - start) // 2) + 1):
        if kinds[start] != kinds[start + length]:
            continue
        block = kinds[start : start + length]
        times = 0
        while kinds[start + length * (times + 1) : start + length * (times + 2)] == block:
            times += 1
        if times * length > hidden:
            best, hidden = (length, times), times * length
    return best


def laid_out(lines: Sequence[Line | Fold], width: int, symbols: bool = True) -> list[str]:
    """Lines in columns: marks and names, notes, places."""
    marks = MARKS if symbols else _PLAIN_MARKS
    own = [line for line in lines if isinstance(line, Line)]
    first = min(
        max(len(line.text) + 2 * line.depth + 2 for line in own),
        max(width // 2, 24),
    )
    second = min(max((len(line.note) for line in own), default=0), max(width // 4, 12))
    found = []
    for line in lines:
        indent = "  " * line.depth
        if isinstance(line, Fold):
            more = f", {size(line.bytes)}" if line.bytes else ""
            dots = "⋮" if symbols else ":"
            lines_above = "line above" if line.lines == 1 else f"{line.lines} lines above"
            found.append(f"{indent}{dots} the {lines_above} {line.times} times more{more}")
            continue
        text = f"{indent}{marks[line.mark]} {line.text}"
        row = f"{text:<{first}}  {line.note:<{second}}  {line.place}".rstrip()
        found.append(row)
    used = {line.mark for line in own}
    legend = [
        f"{marks[kind]} {words}" for kind, words in zip(MARKS, LEGEND, strict=True) if kind in used
    ]
    return [*found, "   ".join(legend)]
