"""One fix to be written: the draft of its file, and what the diagnosis knows about the value."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from retrograd.diagnostics.report import Fix, Place
from retrograd.doctor.fixes.text import CannotWrite, Draft, dotted
from retrograd.doctor.model import Diagnosis

_ITEM = re.compile(r"\[([^\]]*)\]")


@dataclass
class Task:
    """What a writer of edits gets to see."""

    draft: Draft
    fix: Fix
    diagnosis: Diagnosis
    inner: Place | None = None  # the line that the fix's line led to, where it is a caller's

    @property
    def line(self) -> int:
        """Where the fix goes."""
        return self.fix.place.line

    @property
    def statement(self) -> ast.stmt:
        """The statement of that line."""
        return self.draft.statement_at(self.line)

    @property
    def variable(self) -> str:
        """What holds the value at fault, without items: `self.memory` of `self.memory[2][0]`."""
        path = self.diagnosis.tensor
        if " (its " in path:  # a variable of a function that another one has made
            path = path.rpartition(" (its ")[2].replace(")", "")
        if self._is_part_of_item:
            return path  # known by its last name only
        return re.split(r"[\[ ]", path, maxsplit=1)[0]

    @property
    def items(self) -> list[str]:
        """The items on the way to the value: 2 and 0 of `self.memory[2][0]`."""
        return [] if self._is_part_of_item else _ITEM.findall(self.diagnosis.tensor)

    @property
    def _is_part_of_item(self) -> bool:
        """Whether the path goes on after an item: `meters['dice'].value`."""
        return "[" in self.diagnosis.tensor and "." in self.diagnosis.tensor.rpartition("]")[2]

    @property
    def is_deep(self) -> bool:
        """Whether the value lies deeper than in an item of its variable."""
        return len(self.items) > 1 or self._is_part_of_item

    @property
    def container(self) -> str:
        """The kind of what holds the value directly: tuple, list, dict, deque; "" if unknown."""
        return str(self.diagnosis.facts.get("container", ""))

    @property
    def fields(self) -> list[str]:
        """The fields with history of the record that holds the value: `h` and `c` of `state`."""
        names = self.diagnosis.facts.get("fields", [])
        return list(names) if isinstance(names, list) else []

    @property
    def together(self) -> list[str]:
        """The variables that are carried with this one and have its fate: `h` and `c`."""
        names = self.diagnosis.facts.get("together", [])
        own = isinstance(names, list) and self.variable in names and not self.items
        return list(names) if own else []

    def same_file(self, place: Place | None) -> Place | None:
        """A place, if it is in the file that is edited."""
        return place if place is not None and place.file == self.fix.place.file else None

    def stands_for_value(self, node: ast.AST) -> bool:
        """Whether an expression names what holds the value, from this or another object's view."""
        name = dotted(node)
        if not name or not self.variable:
            return False
        if name == self.variable:
            return True
        own = self.variable.rpartition(".")[2]
        return "." in self.variable and isinstance(node, ast.Attribute) and node.attr == own

    def torch(self) -> str:
        """The name under which the file knows PyTorch."""
        for node in ast.walk(self.draft.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name == "torch" or (
                        alias.name.startswith("torch.") and alias.asname is None
                    ):
                        return alias.asname or "torch"
                    if alias.name == "retrograd":
                        return alias.asname or "retrograd"
        raise CannotWrite("the file does not import torch")

    def modules(self) -> str:
        """The name under which the file knows torch.nn."""
        for node in ast.walk(self.draft.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name == "torch.nn" and alias.asname:
                        return alias.asname
            if isinstance(node, ast.ImportFrom) and node.module == "torch":
                for alias in node.names:
                    if alias.name == "nn":
                        return alias.asname or "nn"
        return f"{self.torch()}.nn"
