"""Optimizers as they are written out in JAX: parameters, gradients and state give the next ones."""

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.twins.registry import Twin

Update = Callable[[Any, Any, Any], tuple[Any, Any]]
"""Parameters, gradients, state -> parameters, state."""
Optimizer = tuple[Callable[[Any, Any], Any], Update]
"""What makes the first state (of jax and the parameters), and the update."""


def sgd(jax: Any, lr: float) -> Optimizer:
    def update(parameters: Any, gradients: Any, _state: Any) -> tuple[Any, Any]:
        return jax.tree.map(lambda p, g: p - lr * g, parameters, gradients), ()

    return lambda _jax, _parameters: (), update


def momentum(jax: Any, lr: float, beta: float) -> Optimizer:
    """Its velocities begin at zero, so that the first one is the gradient, as in PyTorch."""

    def update(parameters: Any, gradients: Any, state: Any) -> tuple[Any, Any]:
        state = jax.tree.map(lambda v, g: beta * v + g, state, gradients)
        return jax.tree.map(lambda p, v: p - lr * v, parameters, state), state

    return _zeros, update


def rmsprop(jax: Any, lr: float) -> Optimizer:
    jnp, alpha, eps = jax.numpy, 0.99, 1e-8

    def update(parameters: Any, gradients: Any, state: Any) -> tuple[Any, Any]:
        state = jax.tree.map(lambda s, g: alpha * s + (1 - alpha) * g * g, state, gradients)

        def next_one(p: Any, g: Any, s: Any) -> Any:
            return p - lr * g / (jnp.sqrt(s) + eps)

        return jax.tree.map(next_one, parameters, gradients, state), state

    return _zeros, update


def adam(jax: Any, lr: float, weight_decay: float = 0.0, eps: float = 1e-8) -> Optimizer:
    """Adam; with decay of the weights, which is decoupled, AdamW."""
    jnp, first, second = jax.numpy, 0.9, 0.999

    def update(parameters: Any, gradients: Any, state: Any) -> tuple[Any, Any]:
        count, means, squares = state
        count = count + 1
        means = jax.tree.map(lambda m, g: first * m + (1 - first) * g, means, gradients)
        squares = jax.tree.map(lambda s, g: second * s + (1 - second) * g * g, squares, gradients)
        rate = lr / (1 - first**count)
        correction = jnp.sqrt(1 - second**count)

        def next_one(p: Any, m: Any, s: Any) -> Any:
            return p * (1 - lr * weight_decay) - rate * m / (jnp.sqrt(s) / correction + eps)

        parameters = jax.tree.map(next_one, parameters, means, squares)
        return parameters, (count, means, squares)

    def start(jax: Any, parameters: Any) -> Any:
        return jax.numpy.float32(0), _zeros(jax, parameters), _zeros(jax, parameters)

    return start, update


def _zeros(jax: Any, parameters: Any) -> Any:
    return jax.tree.map(jax.numpy.zeros_like, parameters)


def training(
    jax: Any,
    loss: Callable[..., Any],
    parameters: Sequence[Any],
    optimizer: Optimizer,
    *inputs: Any,
    aux: bool = False,
    tolerance: float = 0.0,
) -> Twin:
    """A step of training: loss, gradients and update in one function.

    With `aux` the loss comes with what the step returns in its place.
    """
    start, update = optimizer
    differentiated = jax.value_and_grad(loss, has_aux=aux)

    def step(state: Any, *batch: Any) -> tuple[Any, Any]:
        value, gradients = differentiated(state[0], *batch)
        return update(state[0], gradients, state[1]), value[1] if aux else value

    state = (list(parameters), start(jax, list(parameters)))
    return Twin(step, state, inputs, tolerance=tolerance)
