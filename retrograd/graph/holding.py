"""`graph.holders`: what keeps a graph alive, as a path that a person would type."""

from __future__ import annotations

import os
import re
import sys
import types
from dataclasses import dataclass, replace
from types import FrameType

from retrograd.diagnostics.report import Place
from retrograd.watching.contents import function_name
from retrograd.watching.holders import Part
from retrograd.watching.keepers import Kept, is_own_frame, keepers
from retrograd.watching.reading import Reader, node_of, reader_of


@dataclass(frozen=True)
class Holder:
    """One thing that keeps a graph alive."""

    path: str
    """As one would type it: `trainer.history[3]`; else a phrase: `closure of step: h`."""
    kind: str
    """`variable`, `frame`, `closure`, `default`, `hook`, `generator`, `exception`, `cache`, `grad`,
    `base`, `saved`, `ctx`, or `key` (of a dict)."""
    place: Place | None = None
    """Of the function, the frame or the node that is named; None for a variable."""
    through: str = ""
    """The variable behind a closure, an exception, a node: `handlers[0]`."""
    relation: str = ""
    """What is held: the tensor itself, a tensor computed from it, or a node of the graph."""
    made: Place | None = None
    """The line that computed what is held; on PyTorch where a line log was kept."""
    count: int = 1
    """How many such holders there are: `history[3]`, `history[4]`, ... are told once."""

    def __str__(self) -> str:
        text = self.path
        if self.through:
            text += f", through {self.through}"
        if self.relation != "the tensor itself":
            made = "" if self.made is None else f", made at {_short(self.made)}"
            text += f" ({self.relation}{made})"
        return text + (f" (and {self.count - 1} more like it)" if self.count > 1 else "")

    def to_json(self) -> dict[str, object]:
        """For programs."""
        return {
            **{"path": self.path, "kind": self.kind, "through": self.through},
            **{"relation": self.relation, "count": self.count},
            "place": None if self.place is None else self.place.to_json(),
            "made": None if self.made is None else self.made.to_json(),
        }


class Holders(list[Holder]):
    """The holders, nearest first; `print` shows one on each line."""

    unseen: str = ""
    """What the library does not show, or where the search was broken off, if that could matter."""

    def __str__(self) -> str:
        lines = [str(holder) for holder in self] or ["nothing that can be found"]
        return "\n".join([*lines, *([self.unseen] if self.unseen else [])])

    def _repr_html_(self) -> str:
        from retrograd.graph.rich import table

        return table(("held by", "kind"), [(str(holder), holder.kind) for holder in self])

    def to_json(self) -> list[dict[str, object]]:
        """For programs."""
        return [holder.to_json() for holder in self]


_BROKEN_OFF = {
    "forward": "there may be more: the search ended among very many objects, nearest first",
    "backward": "there may be more: very many objects live, and the search backward was ended",
}


def holders(target: object) -> Holders:
    """What keeps a tensor or a node, and the graph behind it, alive.

    target   a tensor of retrograd or of PyTorch, or a node: `loss.grad_fn`

    A graph lives as long as something holds a tensor that was computed from it, or one of its
    nodes. Each of them is named by the path from a variable. The tool's own references and those of
    the frames that run it are left out.

    >>> from retrograd import graph
    >>> class Trainer:
    ...     def __init__(self):
    ...         self.history = []
    >>> trainer = Trainer()
    >>> w = torch.ones(3, requires_grad=True)
    >>> trainer.history.append((w * w).sum())
    >>> [holder.path for holder in graph.holders(trainer.history[0])]
    ['trainer.history[0]']
    """
    reader = reader_of(target)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own_frame(frame):
        frame = frame.f_back
    module = None if frame is None else frame.f_globals.get("__name__")
    kept, broken_off = keepers(reader, target, frame)
    found = Holders()
    if broken_off:
        found.unseen = _BROKEN_OFF[broken_off]
    elif not kept and reader.library == "torch":
        found.unseen = "not visible in PyTorch: what only its C++ code holds"
    seen: dict[tuple[str, str], int] = {}
    for each in kept:
        holder = _holder(reader, each, module)
        key = re.sub(r"\[\d+\]", "[]", holder.path), holder.through
        if key not in seen:
            seen[key] = len(found)
            found.append(holder)
        elif found[seen[key]].path != holder.path:
            first = found[seen[key]]
            found[seen[key]] = replace(first, count=first.count + 1)
    return found


def _holder(reader: Reader, kept: Kept, module: str | None) -> Holder:
    text = _text(kept, module)
    made = None
    node = node_of(reader, kept.value)
    if kept.relation != "the tensor itself" and node is not None:
        made = reader.place(node)
    return Holder(text.finish(), text.kind, text.place, text.through, kept.relation, made)


def _text(kept: Kept, module: str | None) -> _Text:
    text = _Text(kept.root, module)
    for part in kept.parts:
        known = None if part.key is None else kept.keys.get(id(part.key))
        if known is not None:  # an optimizer's state of a parameter
            part = replace(part, text=f"[{_text(known, module).path}]")
        text.add(part)
    return text


class _Text:
    """Puts the steps of a path together."""

    def __init__(self, root: FrameType | types.ModuleType | None, module: str | None) -> None:
        self.path = self.through = ""
        self.kind = "variable"
        self.place: Place | None = None
        self._suffix = ""  # after the path of a local variable
        self._root = root
        if isinstance(root, types.ModuleType) and root.__name__ not in (module, "__main__", "sys"):
            self.path = root.__name__.rpartition(".")[2] + "."
        if isinstance(root, FrameType):
            self.kind = "frame"
            name = function_name(root.f_code)
            self.place = Place(root.f_code.co_filename, root.f_lineno, name)
            self._suffix = f" in {name}"

    def add(self, part: Part) -> None:
        """The next step."""
        if not part.kind:
            self.path += part.text
        elif self.kind == "hook" and part.kind in ("closure", "default"):
            self.path += ": " + part.text.rpartition(": ")[2]
        else:
            before = self.path + self._suffix
            self._suffix = ""
            self.path = part.text.replace("{0}", before)
            self.through = "" if "{0}" in part.text else before
            self.kind, self.place = part.kind, part.place
            if self.kind in ("hook", "saved") and self.place is not None:
                self.path += f" ({_short(self.place)})"
            if part.variable:
                self.path += f": {part.variable}"

    def finish(self) -> str:
        """The path as it is shown."""
        if self.kind == "grad":
            return f"{self.path} (made with create_graph)"
        if self._suffix and isinstance(self._root, FrameType):
            if self.path.isidentifier():
                name, line = function_name(self._root.f_code), self._root.f_lineno
                return f"frame of {name}: {self.path} (line {line})"
            return self.path + self._suffix
        return self.path


def _short(place: Place) -> str:
    return f"{os.path.basename(place.file)}:{place.line}"
