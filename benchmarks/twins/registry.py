"""What a twin is, and the list of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

Array = numpy.ndarray[Any, numpy.dtype[numpy.float32]]
State = Any
"""A tree of arrays: what one step hands to the next."""


def parameters_first(state: State) -> list[Any]:
    """The leaves of a state that begins with the list of parameters."""
    return list(state[0])


def no_gradients(_result: Any) -> None:
    """A step that updates its parameters keeps its gradients to itself."""


@dataclass(frozen=True)
class Twin:
    """A step of a workload: ``step(state, *inputs)`` gives the next state and the result.

    leaves     from the state the tensors that the workload changes, laid out as PyTorch does
    gradients  from the result the leaves' gradients; None where they do not leave the step
    result     from the result what the workload returns
    tolerance  by how much a value may differ, where rounding grows: an optimizer that divides a
               gradient by its own size makes a step of what rounding leaves of a sum that is zero
    """

    step: Callable[..., tuple[State, Any]]
    state: State = ()
    inputs: Sequence[Any] = ()
    leaves: Callable[[State], Sequence[Any]] = parameters_first
    gradients: Callable[[Any], Sequence[Any] | None] = no_gradients
    result: Callable[[Any], Any] = field(default=lambda result: result)
    tolerance: float = 0.0


def floats(values: Any) -> Array:
    """Nested lists of numbers as an array."""
    return numpy.array(values, numpy.float32)


TWINS: dict[str, Callable[[Any], Twin]] = {}


def twin(make: Callable[[Any], Twin]) -> Callable[[Any], Twin]:
    """Register a twin under the name of its workload."""
    TWINS[make.__name__] = make
    return make


def function_of(
    step: Callable[..., tuple[Any, Any]], *inputs: Any, leaves: Sequence[Any] | None = None
) -> Twin:
    """A twin that changes nothing: its step gives the result and the gradients of the leaves.

    Where `leaves` are not named, all inputs are.
    """
    named = inputs if leaves is None else leaves
    return Twin(
        lambda _state, *values: ((), step(*values)),
        inputs=inputs,
        leaves=lambda _state: named,
        gradients=lambda result: result[1],
        result=lambda result: result[0],
    )


def value_of(step: Callable[..., Any], *inputs: Any, leaves: Sequence[Any] = ()) -> Twin:
    """A twin that changes nothing and returns one array."""
    return Twin(
        lambda _state, *values: ((), step(*values)), inputs=inputs, leaves=lambda _state: leaves
    )
