"""Two libraries that run one random program in lockstep, and the comparison of all they show.

A program is a list of `Step`s: plain data, so that a failing one can be printed, replayed and
shrunk. A step whose tensors are missing (because an earlier step failed or was taken out) is
skipped on both sides.
"""

from __future__ import annotations

import contextlib
import re
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import retrograd

# How far results may lie apart, relative to the largest element: PyTorch adds in another order.
TOLERANCE = {
    "float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4,
    "float16": 4e-3, "bfloat16": 3e-2,
}  # fmt: skip
ROUNDED = ("function", "checkpoint", "transform")  # steps of many operations
PACKING = ("pack", "unpack")
INNER = "inner"  # marks the last node of a recorded backward
DEEPEST = 12  # nodes of a graph that are compared by name


class Divergence(AssertionError):
    """PyTorch and retrograd disagree."""


class Missing(Exception):
    """A step names a tensor that is not there."""


class Abandoned(Exception):
    """PyTorch failed in a way of its own: there is nothing to compare with."""


# How PyTorch says so. A written result of its nested forward transforms has no storage, and zeros
# that it makes there cannot be written; the backward of `where` forgets to take the real part for a
# real operand beside a complex one.
ITS_OWN_FAILURES = (
    "INTERNAL ASSERT FAILED",
    "Attempted to access the data pointer on an invalid python storage",
    "Expected isFloatingType(grad.scalar_type())",
    "ZeroTensors are immutable",
)


def is_its_own(error: BaseException) -> bool:
    """Whether an error of PyTorch says nothing about the program."""
    return any(text in str(error) for text in ITS_OWN_FAILURES)


class Failure(NamedTuple):
    """How a step failed."""

    kind: str
    text: str


class Step(NamedTuple):
    """One step of a program: what to do, with what, and the steps inside it if it is a block."""

    number: int
    kind: str
    args: tuple[Any, ...]
    inner: list[Step]


class Side:
    """One library, its tensors by number of the step that made them, and what hooks logged."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.tensors: dict[int, Any] = {}
        self.handles: dict[int, Any] = {}
        self.log: list[Any] = []
        self.duals = 0  # open dual levels
        self.quiet = False  # what is packed inside of a transform is not logged
        self.watched = False  # by a multi-grad hook
        self.mutating = False  # inside of `allow_mutation_on_saved_tensors`
        self.hooked = 0  # open contexts of saved-tensor hooks
        self.uncounted: set[int] = set()  # tensors whose version is PyTorch's own affair

    def __getitem__(self, number: int) -> Any:
        if number not in self.tensors:
            raise Missing(number)
        return self.tensors[number]

    def inference(self) -> set[int]:
        return {number for number, tensor in self.tensors.items() if tensor.is_inference()}

    def note(self, *values: Any) -> None:
        """Log values in comparable form."""
        self.log.append(tuple(self.plain(value) for value in values))

    def plain(self, value: Any) -> Any:
        """A value without the library that made it."""
        if isinstance(value, self.library.Tensor):
            return {
                "dtype": name_of(value.dtype),
                "requires_grad": value.requires_grad,
                "values": numbers(value),
            }
        if isinstance(value, (list, tuple)):
            return [self.plain(entry) for entry in value]
        if value is None or isinstance(value, (bool, int, float, complex, str)):
            return value
        return type(value).__name__

    def inner(self, result: Any) -> Any:
        """A gradient as a tensor of its own.

        Whether it is a view or was written, and the nodes of a recorded backward, are not compared.
        """
        if result is None:
            return None
        result = result.contiguous() * 1
        if result.grad_fn is not None:
            result.grad_fn.metadata[INNER] = True
        return result * 1

    def tangent(self, value: Any) -> Any:
        """A tangent in comparable form.

        Some of PyTorch's require grad because zeros do which are added to them.
        """
        return None if value is None else self.plain(value.detach())

    def facts(self, number: int) -> dict[str, Any]:
        """Everything that a program can see of a tensor."""
        tensor = self.tensors[number]
        found: dict[str, Any] = {
            "dtype": name_of(tensor.dtype),
            "inference": tensor.is_inference(),
            "requires_grad": tensor.requires_grad,
            "is_view": tensor._is_view(),
            "retains_grad": tensor.retains_grad,
            "strides": strides(tensor),
            "values": numbers(tensor),
        }
        if not found["inference"] and number not in self.uncounted:
            found["version"] = tensor._version
        try:
            node = tensor.grad_fn
        except RuntimeError as error:
            if is_its_own(error):
                raise Abandoned from None
            return {**found, "grad_fn": first_line(error)}
        found["is_leaf"] = tensor.is_leaf
        found["graph"] = None if node is None else [tensor.output_nr, *graph_of(node)]
        # asking other tensors gives a warning each time
        gradient = tensor.grad if found["is_leaf"] or found["retains_grad"] else None
        if gradient is not None:
            found["grad"] = self.plain(gradient)
        inference = found["inference"] or self.library.is_inference_mode_enabled()
        if self.duals and not inference:
            with self.library.no_grad():
                forward = self.library.autograd.forward_ad
                found["tangent"] = self.tangent(forward.unpack_dual(tensor).tangent)
        return found


def name_of(dtype: Any) -> str:
    """`float32` for both libraries' dtype."""
    return str(dtype).rpartition(".")[2]


def numbers(tensor: Any) -> Any:
    """A tensor's values as an array of their own."""
    kind = np.complex128 if tensor.dtype.is_complex else np.float64
    if hasattr(tensor, "_is_zerotensor") and tensor._is_zerotensor():
        return np.zeros(tuple(tensor.shape), kind)
    return np.array(tensor.tolist(), kind).reshape(tuple(tensor.shape))


def strides(tensor: Any) -> list[int | None] | None:
    """The steps between neighbours; None for those that no element has.

    Of a tensor without elements NumPy keeps no strides, and those of a dimension with one element
    are not promised: they say nothing about where an element lies.
    """
    if not tensor.numel():
        return None
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    return [step if size > 1 else None for size, step in pairs]


def graph_of(node: Any) -> Iterator[Any]:
    """The names of a graph's nodes with their edges, nearest first."""
    waiting, seen = [node], 0
    while waiting and seen < DEEPEST:
        current = waiting.pop(0)
        seen += 1
        if INNER in current.metadata:
            yield INNER
            continue
        edges = current.next_functions
        if current.name() == "AsStridedBackward0" and edges[0][0] is not None:
            # PyTorch takes a written view of a complex tensor's parts again in two steps
            if edges[0][0].name() == "ViewAsRealBackward0":
                edges = edges[0][0].next_functions
        # with a dispatch mode, such as that of `allow_mutation_on_saved_tensors`, PyTorch's reshape
        # is a plain view
        name = current.name().replace("ReshapeAlias", "View")
        yield name, [number for _, number in edges]
        waiting += [following for following, _ in edges if following is not None]


# PyTorch's `clamp_` spells the types of one message in the words of C++.
SPELLED = {
    "unsigned char": "Byte", "signed char": "Char", "short int": "Short", "long int": "Long",
    "int": "Int", "bool": "Bool",
}  # fmt: skip


def first_line(error: BaseException) -> str:
    """The first line of an error's text."""
    line = str(error).strip().split("\n")[0]
    before, found, target = line.partition("can't be cast to the desired output type ")
    return before + found + SPELLED.get(target, target)


def alike(a: Any, b: Any, tolerance: float) -> bool:
    """Whether two plain values agree."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and _close(a, b, tolerance)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k], tolerance) for k in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(alike(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and bool(a == b)


def _close(a: Any, b: Any, tolerance: float) -> bool:
    if np.array_equal(a, b, equal_nan=True):
        return True
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)):
        return False
    scale = max(np.abs(a[finite]).max(initial=0.0), 1e-3)
    return bool((np.abs(a[finite] - b[finite]) <= tolerance * scale).all()) and (
        np.array_equal(a[~finite], b[~finite], equal_nan=True)
    )


def difference(a: Any, b: Any) -> str:
    """Two facts that differ, shortened to where they do."""
    if isinstance(a, dict) and isinstance(b, dict):
        names = [n for n in {**a, **b} if not alike(a.get(n), b.get(n), 1e-9)]
        return "; ".join(f"{n}: torch {a.get(n)}, ours {b.get(n)}" for n in names)
    return f"torch {a}, ours {b}"


def _memory(tensor: Any) -> list[Any]:
    """Weak references to a tensor's array and to those that it is a part of."""
    found, array = [], tensor._array
    while isinstance(array, np.ndarray):
        found.append(weakref.ref(array))
        array = array.base
    return found


def _has_integers(side: Side, args: tuple[Any, ...]) -> bool:
    """Whether a step may compute in float32 on the way, which its result need not show."""
    named = [arg for arg in args if type(arg) is int]
    named += [number for arg in args if type(arg) is tuple for number in arg if type(number) is int]
    found = [side.tensors[number] for number in named if number in side.tensors]
    return any(name_of(tensor.dtype) not in TOLERANCE for tensor in found)


def _mentions(args: tuple[Any, ...], numbers: set[int]) -> bool:
    return any(
        arg in numbers if type(arg) is int else type(arg) is tuple and _mentions(arg, numbers)
        for arg in args
    )


Actions = dict[str, Callable[..., Any]]


class Lockstep:
    """Runs steps on both sides and compares after each.

    A brief one looks at the other tensors, those that a step did not make, only when `settle` asks.
    """

    def __init__(self, torch: Any, actions: Actions, blocks: Actions, brief: bool = False) -> None:
        self.sides = (Side(torch), Side(retrograd))
        self.brief = brief
        self.counts: Counter[tuple[str, str]] = Counter()  # kinds of steps and how they ended
        self.actions = actions
        self.blocks = blocks
        self.done: list[str] = []
        self.open: list[Step] = []  # blocks
        self.tolerance = 0.0  # that of the coarsest dtype so far

    def run(self, step: Step, inner: Callable[[], Iterator[Step]]) -> None:
        """Run a step; `inner` gives the steps of a block."""
        self.done.append(f"{step.number}: {step.kind}{step.args}")
        if step.kind in self.blocks:
            with contextlib.ExitStack() as stack:
                entered = [self.enter(stack, side, step) for side in self.sides]
                self.open.append(step)
                self.count(step, entered[0])
                self.compare(entered, [], ())
                for following in inner() if entered[0] is None else ():
                    self.run(following, lambda following=following: iter(following.inner))
            self.open.pop()
            self.done.append(f"   end of block {step.number}")
            self.compare([], [], ())
            return
        outcomes, said = [], []
        for side in self.sides:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                outcomes.append(self.attempt(side, step))
            texts = [_warning(w) for w in caught if not _OWN_AFFAIRS.search(str(w.message))]
            # formulas of tangents repeat warnings
            said.append(sorted(set(texts)) if step.kind == "transform" or side.duals else texts)
        self.count(step, outcomes[0])
        self.compare(outcomes, said, (step.number,))

    def count(self, step: Step, outcome: Any) -> None:
        """Note how a step ended in PyTorch."""
        ended = "refused" if type(outcome) is Failure else "ran"
        self.counts[step.kind, "skipped" if outcome == "missing" else ended] += 1

    def enter(self, stack: contextlib.ExitStack, side: Side, step: Step) -> Any:
        """Open a block on one side; the error if it cannot be."""
        try:
            stack.enter_context(self.blocks[step.kind](side, step.number, *step.args))
        except RuntimeError as error:
            return Failure(type(error).__name__, first_line(error))
        return None

    def alike(self, a: Any, b: Any) -> bool:
        return alike(a, b, self.tolerance)

    def attempt(self, side: Side, step: Step) -> Any:
        """Run a step on one side; how it ended."""
        try:
            result = self.actions[step.kind](side, step.number, *step.args)
        except Missing:
            return "missing"
        except Exception as error:
            # Tracebacks keep frames alive, and with them tensors.
            error.__traceback__ = error.__context__ = error.__cause__ = None
            if is_its_own(error):
                raise Abandoned from None
            if step.kind == "transform":
                return Failure("failed", "")  # PyTorch speaks of whole batches
            return Failure(type(error).__name__, first_line(error))
        if isinstance(result, side.library.Tensor):
            known = [n for n, tensor in side.tensors.items() if tensor is result]
            side.tensors[step.number] = result
            self.tolerance = max(self.tolerance, TOLERANCE.get(name_of(result.dtype), 0.0))
            if step.kind in ROUNDED and _has_integers(side, step.args):
                self.tolerance = max(self.tolerance, TOLERANCE["float32"])
            if _mentions(step.args, side.uncounted | side.inference()):
                # kernels count their own writes where all operands are inference tensors
                side.uncounted.add(step.number)
            return ["tensor", known]
        return side.plain(result)

    def compare(self, outcomes: list[Any], said: list[Any], made: tuple[int, ...]) -> None:
        """Raise `Divergence` if anything that can be seen differs; `made` are new tensors."""
        theirs, ours = self.sides
        if outcomes and type(outcomes[0]) is type(outcomes[1]) is Failure:
            if outcomes[0].text.startswith("Inference tensors cannot be saved"):
                outcomes[1] = outcomes[0]  # PyTorch saves before it computes
            if {bool(_SHAPES.search(o.text)) for o in outcomes} == {True, False}:
                outcomes[1] = outcomes[0]  # wrong in two ways: which is said first is left open
        if outcomes and not self.alike(*outcomes):
            self.fail(f"outcome: {difference(*outcomes)}")
        if said and said[0] != said[1]:
            self.fail(f"warnings: {difference(*said)}")
        if outcomes and type(outcomes[0]) is Failure:
            # PyTorch packs before it computes, so also for an operation that fails
            for side in self.sides:
                side.log = [entry for entry in side.log if entry[0] not in ("pack", "runs")]
        for side in self.sides:
            # in which order a node packs what it saves, and unpacks it, is its own affair
            side.log.sort(key=lambda entry: repr(entry) if entry[0] in PACKING else "")
        for a, b in zip(theirs.log, ours.log, strict=False):
            if not self.alike(a, b):
                self.fail(f"log: {difference(a, b)}")
        if len(theirs.log) != len(ours.log):
            short = min(len(theirs.log), len(ours.log))
            self.fail(f"log: torch also {theirs.log[short:]}, ours also {ours.log[short:]}")
        theirs.log.clear()
        ours.log.clear()
        if not self.brief:
            return self.settle()
        for side in self.sides:  # PyTorch takes a view for a leaf until it is asked
            for tensor in side.tensors.values():
                with contextlib.suppress(RuntimeError):
                    tensor.grad_fn  # noqa: B018
        self.settle([number for number in made if number in theirs.tensors])

    def settle(self, numbers: list[int] | None = None) -> None:
        """Compare all that can be seen of these tensors, or of all."""
        theirs, ours = self.sides
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about `.grad` of tensors that are not leaves
            for number in theirs.tensors if numbers is None else numbers:
                a, b = theirs.facts(number), ours.facts(number)
                if not self.alike(a, b):
                    self.fail(f"x{number}: {difference(a, b)}")

    def leaks(self) -> list[int]:
        """Let go of everything; numbers of tensors that live on here and not in PyTorch.

        Cycles that a program makes, such as `backward(create_graph=True)`, are there in both.
        """
        theirs, ours = [
            {number: weakref.ref(tensor) for number, tensor in side.tensors.items()}
            for side in self.sides
        ]
        arrays = {number: _memory(tensor) for number, tensor in self.sides[1].tensors.items()}
        for side in self.sides:
            side.tensors.clear()
            side.handles.clear()
            side.log.clear()
        gone = {number for number, reference in theirs.items() if reference() is None}
        if len(gone) < len(theirs):
            # what lives on may keep the memory of others
            return sorted(n for n in gone if ours[n]() is not None)
        return sorted(
            n for n in ours if ours[n]() is not None or any(a() is not None for a in arrays[n])
        )

    def fail(self, what: str) -> None:
        """The program so far, and the difference."""
        what = " ".join(what.split())  # one line: arrays are printed in several
        raise Divergence("\n  ".join(["after", *self.done]) + f"\n{what}")


_SHAPES = re.compile(r"must match the size|broadcast|single memory location")
# PyTorch about its compiler.
_OWN_AFFAIRS = re.compile(r"torch\.jit|owning GraphModule")


def _warning(caught: warnings.WarningMessage) -> tuple[str, str]:
    text = str(caught.message).split("\n")[0].split(" (Triggered internally")[0]
    text = re.sub(r"backward hook .* on tensor", "hook", text)
    # whether a leaf's accumulator remembers a forward pass depends on what keeps it alive
    text = re.sub(r"(Error detected in \S*AccumulateGrad)\..*", r"\1", text)
    return caught.category.__name__, text
