"""What both libraries say to one call, and how that compares."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tests.compat.wrong_calls.functions import evaluate

# Names of the inside that no message may show; a name with an underline before it is one, unless
# PyTorch says it too.
INSIDE = re.compile(
    r"ufunc|UFunc|AxisError|numpy|ndarray|retrograd\.|<lambda>|\bxp\b|'?\b_[a-z_]\w*|NOTHING"
    r"|NoneType' object has"
)

OUR_MODULES = re.compile(r"\bretrograd\.(?:[a-z_]+\.)*")


class Outcome(NamedTuple):
    """The exception's type and the first line of what it says; empty where there is none."""

    kind: str
    line: str


class Comparison(NamedTuple):
    """One call that at least one of the libraries refuses."""

    family: str
    name: str
    call: str
    theirs: Outcome
    ours: Outcome

    @property
    def verdict(self) -> str:
        if not self.ours.kind:
            return "only there"
        if not self.theirs.kind:
            return "only here"
        if self.ours.kind != self.theirs.kind:
            return "other type"
        return "same" if self.ours.line == self.theirs.line else "other words"

    @property
    def leaks(self) -> bool:
        """Whether our message names something of the inside that PyTorch's does not name."""
        if OUR_MODULES.sub("torch.", self.ours.line) == self.theirs.line:
            return False  # the same sentence: a type is named with the library that it is of
        said = {*INSIDE.findall(self.ours.line)}
        if "np." in self.call:
            said -= {"numpy", "ndarray"}  # the program's own
        return any(word not in self.theirs.line for word in said)


def outcome(call: str, library: Any) -> Outcome:
    """What a library says to a call."""
    try:
        evaluate(call, library)
    except Exception as error:
        first = str(error).split("\n", 1)[0]
        return Outcome(type(error).__name__, re.sub(r"0x[0-9a-f]+", "0x", first))
    return Outcome("", "")
