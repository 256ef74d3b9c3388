"""What the parts of `gradcheck` share: its settings, and one function under check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

from retrograd.tensor import Tensor


@dataclass(frozen=True)
class Settings:
    """The options of `gradcheck`."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    grad_dtypes: bool
    undefined: bool
    batched: bool
    batched_forward: bool
    forward: bool
    backward: bool
    fast: bool
    masked: bool


@dataclass(frozen=True)
class Case:
    """A function to compare with its differences; outputs and inputs that count are real in one.

    A function with complex outputs (in forward mode: inputs) is checked as two cases, of their
    imaginary and of their real parts.
    """

    function: Callable[..., object]
    result: tuple[Any, ...]  # what it returned
    inputs: tuple[object, ...]
    forward: bool = False  # compare forward mode instead of backward
    complex_places: tuple[int, ...] = ()  # which outputs (inputs) are complex in the whole function
    imaginary: bool = False

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The outputs with a gradient."""
        return differentiable(self.result)

    @property
    def places(self) -> tuple[int, ...]:
        """Where in the result they are."""
        return tuple(i for i, output in enumerate(self.result) if output.requires_grad)


def as_tuple(value: object) -> tuple[Any, ...]:
    """A single value as a tuple of one; lists and tuples as tuples."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def differentiable(result: object) -> tuple[Tensor, ...]:
    """The tensors of a result that require grad."""
    return tuple(output for output in as_tuple(result) if output.requires_grad)


def is_checked(value: object) -> TypeGuard[Tensor]:
    """Whether an input is a tensor that requires grad."""
    return isinstance(value, Tensor) and value.requires_grad


def checked_inputs(inputs: object) -> list[Tensor]:
    """All tensors that require grad among the inputs, also those inside lists."""
    return list(_walk(inputs))


def _walk(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        if value.requires_grad:
            yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _walk(item)


def carries_gradient(value: object) -> bool:
    """Whether a value is a floating or complex tensor."""
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())
