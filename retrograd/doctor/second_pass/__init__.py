"""The second pass: the program once more in a new process, with modes too slow for the first.

Three questions need it, and only when the first pass has seen the symptom: which line wrote into a
value that backward needs (`find_writes`), where the way from parameters to a loss ends
(`find_cuts`), and which operation made gradients nan or zero (`find_spoiled`). Three have no
symptom and are asked if the text has such lines: whether one wrote there unseen
(`find_unseen_writes`), whether a custom backward minds its input (`find_ignoring`), and whether a
parameter is compared with itself (`find_same_memory`). The output of the second run is
dropped; it is not started when the first run took long or did anything outside (see
`watching.effects`), and it is stopped if it tries to. Then `watched.unseen` says what was not
looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from retrograd.diagnostics.report import Place

if TYPE_CHECKING:
    from retrograd.doctor.session import Watched

__all__ = [
    "Cut",
    "Same",
    "Spoiled",
    "Unseen",
    "Write",
    "find_cuts",
    "find_ignoring",
    "find_number",
    "find_same_memory",
    "find_spoiled",
    "find_unseen_writes",
    "find_writes",
]

WHERE = "where the loss lost its history"
MOST_TRIALS = 3  # lines whose numbers are changed, each in a run of its own

Parameters = Literal["all"] | Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Cut:
    """A place where history ended: an operation with a differentiable input, but no output."""

    op: str  # "detach", ".data", "item", "nn.Parameter", "grad", "linear", ...
    stack: list[Place]  # outermost first
    grad_mode: bool  # whether gradients were on
    scope: Place | None = None  # the with, decorator or switch that turned them off
    scope_name: str = ""  # "no_grad", "inference_mode", "set_grad_enabled"
    escaped: bool = False  # the value left tensors: a number, an array, a list
    lost: list[tuple[int, int]] = field(default_factory=list)  # (optimizer, parameter) cut off here

    @property
    def place(self) -> Place | None:
        """The innermost line."""
        return self.stack[-1] if self.stack else None


@dataclass(frozen=True)
class Write:
    """A line that wrote into the memory of a saved value."""

    op: str  # "aten.mul_.Tensor"
    stack: list[Place]


@dataclass(frozen=True)
class Unseen:
    """A line that wrote into a saved value, and no version tells of it."""

    op: str
    stack: list[Place]
    saved: list[Place]  # the lines that saved the value
    calls: int  # backward calls that took the changed value
    parameter: bool  # it belongs to an optimizer


@dataclass(frozen=True)
class Same:
    """A line that compared a parameter with its own memory, or wrote it there."""

    op: str  # "sub"
    stack: list[Place]
    steps: int  # moments between steps at which it was seen


@dataclass(frozen=True)
class Spoiled:
    """An operation whose backward was given numbers, and gave back none, or zeros."""

    op: str  # "Sqrt"
    stack: list[Place]
    call: int  # the backward call in which it was seen last, from 1
    calls: int  # in which it was seen
    loss: float  # that was sent back then
    smallest: float | None  # of its operand or result, where that is known


def find_cuts(watched: Watched, parameters: Parameters = "all") -> list[Cut]:
    """Where the descent from parameters to a loss ends, the cut nearest to the loss first.

    `parameters` are pairs (index of the optimizer in the order of creation, index in it), or "all":
    every leaf that requires grad. After an error the loss is the one that failed. In a program that
    ended well it is what was sent back before a step of the optimizers of these parameters; with
    "all" it is the first loss that no parameter reaches.
    """
    result = _ask(watched, _question(watched, parameters), WHERE)
    return [_cut(found) for found in result.get("cuts", [])]


def find_number(watched: Watched, parameters: Sequence[tuple[int, int]]) -> Cut | None:
    """Where values of these parameters became Python numbers that a loss was computed from.

    Each line that takes such numbers is tried: the program runs again with them changed, and what
    it sends back must change with them. A further run without a change must change nothing.
    """
    question = _question(watched, parameters)
    result = _ask(watched, question, WHERE)
    for found in result.get("numbers", [])[:MOST_TRIALS]:
        trial = {**question, "values": result["values"], "changed": found["at"]}
        if _differs(watched, trial) and _differs(watched, {**trial, "changed": None}) is False:
            return _cut(found["cut"])
    return None


def _differs(watched: Watched, question: dict[str, object]) -> bool | None:
    """The answer of a trial; None if it ended without one."""
    if watched.second_pass is None:
        return None
    return (watched.second_pass(question) or {}).get("differs")


def _question(watched: Watched, parameters: Parameters) -> dict[str, object]:
    failure, silent = watched.recorder.failure, watched.error is None
    return {
        "mode": "cut",
        "parameters": "all" if parameters == "all" else [list(pair) for pair in parameters],
        "silent": silent,
        "failing_call": -1 if failure is None or silent else failure.call.index,
    }


def find_writes(watched: Watched) -> list[Write]:
    """The writes into the value of an in-place error since it was saved, oldest first."""
    result = _ask(watched, {"mode": "write"}, "which line wrote into the saved value")
    return [Write(found["op"], _stack(found["stack"])) for found in result.get("writes", [])]


def find_unseen_writes(watched: Watched) -> list[Unseen]:
    """The writes into saved values that the version check does not see."""
    if watched.second_pass is None or watched.engine.torch.__package__ != "torch":
        return []
    result = watched.second_pass({"mode": "unseen"}) or {}
    return [
        Unseen(
            found["op"],
            _stack(found["stack"]),
            _stack(found["saved"]),
            found["calls"],
            found["parameter"],
        )
        for found in result.get("unseen", [])
    ]


def find_spoiled(watched: Watched, kind: Literal["nan", "zero"]) -> list[Spoiled]:
    """The operations that made gradients nan, or made all of them zero, in the order of calls."""
    wanted = f"which operation made gradients {kind}"
    result = _ask(watched, {"mode": "spoiled", "kind": kind}, wanted)
    return [
        Spoiled(**{**found, "stack": _stack(found["stack"])}) for found in result.get("spoiled", [])
    ]


def find_ignoring(watched: Watched, names: Sequence[str]) -> dict[str, int]:
    """Custom functions of these names whose backward gives the same whatever it is given."""
    if watched.second_pass is None:
        return {}
    result = watched.second_pass({"mode": "ignoring", "names": list(names)}) or {}
    return {str(name): int(calls) for name, calls in result.get("ignoring", {}).items()}


def find_same_memory(watched: Watched) -> list[Same]:
    """The operations on a parameter and what shares its memory, after steps have changed it."""
    if watched.second_pass is None or watched.engine.torch.__package__ != "torch":
        return []
    result = watched.second_pass({"mode": "same"}) or {}
    return [
        Same(found["op"], _stack(found["stack"]), found["steps"])
        for found in result.get("same", [])
    ]


def _ask(watched: Watched, question: dict[str, object], wanted: str) -> dict[str, Any]:
    if watched.second_pass is None:
        _unseen(watched, f"{wanted}: the program was not run a second time")
        return {}
    result = watched.second_pass(question) or {}
    if "refused" in result:
        _unseen(watched, f"{wanted}: {result['refused']}")
    return result


def _unseen(watched: Watched, sentence: str) -> None:
    if sentence not in watched.unseen:
        watched.unseen.append(sentence)


def _stack(places: list[list[Any]]) -> list[Place]:
    return [Place(file, line, function) for file, line, function in places]


def _cut(found: dict[str, Any]) -> Cut:
    scope = found["scope"]
    return Cut(
        op=found["op"],
        stack=_stack(found["stack"]),
        grad_mode=found["grad_mode"],
        scope=None if scope is None else Place(scope[1], scope[2]),
        scope_name="" if scope is None else scope[0],
        escaped=found["escaped"],
        lost=[(pair[0], pair[1]) for pair in found["lost"]],
    )
