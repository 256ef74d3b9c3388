"""How a worker runs a twin: compiled once, begun anew for each round."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.twins import TWINS
from benchmarks.twins.registry import Twin


@functools.cache
def compiled(jax: Any, name: str) -> tuple[Twin, Callable[..., Any], tuple[Any, ...]]:
    """A twin, its jitted step and its inputs as arrays of JAX."""
    if name not in TWINS:
        raise ValueError(f"no twin of {name} is written for jax")
    twin = TWINS[name](jax)
    inputs = jax.tree.map(jax.numpy.asarray, tuple(twin.inputs))
    return twin, jax.jit(twin.step, donate_argnums=0), inputs


class Started:
    """A twin at its first step."""

    def __init__(self, jax: Any, name: str) -> None:
        self.twin, jitted, inputs = compiled(jax, name)
        # copies: the buffers of a state are given to the step that takes it
        self.state = jax.tree.map(jax.numpy.array, self.twin.state)
        result_of = self.twin.result

        def step() -> Any:
            self.state, result = jitted(self.state, *inputs)
            result_of(result).block_until_ready()
            return result

        self.step = step

    def values(self, result: Any) -> tuple[Any, Sequence[Any], Sequence[Any] | None]:
        """The workload's result, its leaves, and their gradients if the step gives them."""
        twin = self.twin
        return twin.result(result), twin.leaves(self.state), twin.gradients(result)
