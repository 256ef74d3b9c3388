"""What a row of `python -m benchmarks.ops` is: one op at one size, forward and with backward."""

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.workloads.registry import Prepared, Workload, filled

Shape = tuple[int, ...]
Sizes = dict[str, Shape]


def sizes(*names: str) -> Sizes:
    """Sizes under their names.

    >>> sizes("4x8", "64x256:10")
    {'4x8': (4, 8), '64x256:10': (64, 256, 10)}
    """
    return {name: tuple(int(number) for number in re.findall(r"\d+", name)) for name in names}


SIZES = sizes("4x8", "64x512", "1024x1024")
"""Where the call itself counts, where it is in the cache, and where it is not."""

FORMS = ("forward", "both")
"""A call that is recorded, and the call with `backward` of its result."""

Made = tuple[Callable[..., Any], list[Any]]
Maker = Callable[[Any, Shape], Made]
"""The function to call and its leaves, for one of the op's sizes."""

SINGLE_OPS: dict[str, Sizes] = {}
"""The sizes of each op."""
OPS: dict[str, Workload] = {}


def named(op: str, size: str, form: str) -> str:
    return f"{op} {size} {form}"


def forms(op: str, size: str) -> tuple[str, ...]:
    """The forms in which an op is measured."""
    return tuple(form for form in FORMS if named(op, size, form) in OPS)


def _register(op: str, size: str, form: str, prepare: Callable[[Any], Prepared]) -> None:
    name = named(op, size, form)
    OPS[name] = Workload(name, f"{op} of {size}", prepare)


def _prepare(make: Maker, shape: Shape, form: str) -> Callable[[Any], Prepared]:
    def prepare(torch: Any) -> Prepared:
        torch.manual_seed(7)
        function, leaves = make(torch, shape)
        for leaf in leaves:
            leaf.requires_grad_()
        result = function(*leaves)
        gradient = filled(torch, *result.shape, scale=0.001 if result.ndim == 4 else 0.1)

        def forward() -> Any:
            return function(*leaves)

        def both() -> Any:
            for leaf in leaves:
                leaf.grad = None
            found = function(*leaves)
            found.backward(gradient)
            return found

        return Prepared(forward if form == "forward" else both, leaves)

    return prepare


def single(op: str, at: Sizes = SIZES) -> Callable[[Maker], Maker]:
    """Register an op at every size, in both forms."""

    def register(make: Maker) -> Maker:
        SINGLE_OPS[op] = at
        for size, shape in at.items():
            for form in FORMS:
                _register(op, size, form, _prepare(make, shape, form))
        return make

    return register


Preparer = Callable[[Any, Shape], Prepared]


def call(op: str, at: Sizes = SIZES) -> Callable[[Preparer], Preparer]:
    """Register a call without a gradient: a factory, a draw, a step of an optimizer."""

    def register(make: Preparer) -> Preparer:
        SINGLE_OPS[op] = at

        def prepare(torch: Any, shape: Shape) -> Prepared:
            torch.manual_seed(7)
            return make(torch, shape)

        for size, shape in at.items():
            _register(op, size, "forward", functools.partial(prepare, shape=shape))
        return make

    return register


def function_of(
    op: str, find: Callable[[Any], Callable[..., Any]], tensors: int = 1, more: Sequence[str] = ()
) -> None:
    """Register a function of one tensor or two; `more` names sizes beside the usual ones."""

    def make(torch: Any, shape: Shape) -> Made:
        return find(torch), [filled(torch, *shape, scale=s) for s in (0.5, 0.3)[:tensors]]

    single(op, {**SIZES, **sizes(*more)})(make)
