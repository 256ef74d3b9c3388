"""Twins of what autograd offers beyond one backward pass, and of `torch.func`."""

from typing import Any

from benchmarks.twins.registry import Twin, floats, function_of, twin, value_of
from benchmarks.twins.tensors import FOUR
from benchmarks.workloads.registry import plain


@twin
def double_backward(jax: Any) -> Twin:
    def energy(point: Any, weight: Any) -> Any:
        return (point * point * point * weight).sum()

    def penalty(point: Any, weight: Any) -> Any:
        slope = jax.grad(energy)(point, weight)
        return (slope * slope).sum()

    point = floats([0.1 * index + 0.2 for index in range(8)])
    weight = floats([1.0 - 0.1 * index for index in range(8)])
    return function_of(jax.value_and_grad(penalty, argnums=(0, 1)), point, weight)


@twin
def function(jax: Any) -> Twin:
    squared = jax.custom_vjp(lambda values: values * values)
    squared.defvjp(
        lambda values: (values * values, values),
        lambda values, gradient: (2 * values * gradient,),
    )

    def step(point: Any, seed: Any) -> Any:
        result, backward = jax.vjp(squared, point)
        return result, backward(seed)

    point, seed = floats([1.0, -2.0, 0.5, 4.0]), floats([1.0, 0.5, 0.25, 2.0])
    return function_of(step, point, seed, leaves=[point])


def _twenty(jax: Any, seen: Any) -> Twin:
    def total(factor: Any, offset: Any) -> Any:
        value = factor
        for _ in range(10):
            value = seen(seen(value * factor) + offset)
        return value.sum()

    return function_of(jax.value_and_grad(total, argnums=(0, 1)), *FOUR)


@twin
def hooks(jax: Any) -> Twin:
    """A hook that changes a gradient is a function with a rule of its own."""

    halved = jax.custom_vjp(lambda values: values)
    halved.defvjp(lambda values: (values, None), lambda _, gradient: (gradient * 0.5,))
    return _twenty(jax, halved)


@twin
def saved_hooks(jax: Any) -> Twin:
    """Hooks that give back what they get leave nothing to compile."""
    return _twenty(jax, lambda values: values)


def _regression(jax: Any) -> tuple[Any, list[Any], list[Any], tuple[Any, Any]]:
    """Loss of a small MLP, its weights, directions for them, and its data."""

    def loss(weights: Any, inputs: Any, targets: Any) -> Any:
        first, bias, second = weights
        difference = jax.numpy.tanh(inputs @ first + bias) @ second - targets
        return (difference * difference).mean()

    shapes = [(10, 5), (5,), (5, 1)]
    weights = [plain(*shape) for shape in shapes]
    directions = [plain(*shape, scale=0.2) for shape in shapes]
    return loss, weights, directions, (plain(8, 10), plain(8, 1))


@twin
def hvp(jax: Any) -> Twin:
    """The gradient of the slope along a direction: reverse over reverse, as in the workload."""
    loss, weights, directions, data = _regression(jax)

    def along(weights: Any, directions: Any, *data: Any) -> Any:
        slopes = jax.grad(loss)(weights, *data)
        return sum((s * d).sum() for s, d in zip(slopes, directions, strict=True))

    def step(weights: Any, directions: Any, *data: Any) -> Any:
        products = jax.grad(along)(weights, directions, *data)
        return jax.numpy.concatenate([product.reshape(-1) for product in products])

    return value_of(step, weights, directions, *data, leaves=weights)


@twin
def hvp_forward(jax: Any) -> Twin:
    loss, weights, directions, data = _regression(jax)

    def step(weights: Any, directions: Any, *data: Any) -> Any:
        slope = jax.grad(loss)
        _, products = jax.jvp(lambda values: slope(values, *data), (weights,), (directions,))
        return jax.numpy.concatenate([product.reshape(-1) for product in products])

    return value_of(step, weights, directions, *data)


@twin
def checkpoint(jax: Any) -> Twin:
    def layers(parameters: Any, inputs: Any) -> Any:
        values = inputs
        for weight, bias in zip(parameters[::2], parameters[1::2], strict=True):
            values = jax.nn.relu(values @ weight.T + bias)
        return values

    def total(parameters: Any, inputs: Any) -> Any:
        return jax.checkpoint(layers)(parameters, inputs).sum()

    parameters = [plain(*shape) for _ in range(4) for shape in ((16, 16), (16,))]
    step = jax.value_and_grad(total)
    return function_of(step, parameters, plain(8, 16), leaves=parameters)


@twin
def jvp(jax: Any) -> Twin:
    jnp = jax.numpy

    def chained(values: Any) -> Any:
        result = values
        for _ in range(5):
            result = jnp.sin(result) * values + jnp.exp(-result)
        return result

    def step(point: Any, tangent: Any) -> Any:
        return jax.jvp(chained, (point,), (tangent,))[1]

    return value_of(step, plain(10), plain(10, scale=0.3))


@twin
def per_sample(jax: Any) -> Twin:
    def loss(weights: Any, example: Any, target: Any) -> Any:
        first, bias, second, last = weights
        difference = second @ jax.nn.relu(first @ example + bias) + last - target
        return (difference * difference).sum()

    def step(weights: Any, inputs: Any, targets: Any) -> Any:
        found = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(weights, inputs, targets)
        return jax.numpy.concatenate([slope.reshape(64, -1) for slope in found], axis=1)

    weights = [plain(*shape) for shape in ((32, 10), (32,), (1, 32), (1,))]
    return value_of(step, weights, plain(64, 10), plain(64, 1))


@twin
def jacobian(jax: Any) -> Twin:
    def layers(values: Any, first: Any, second: Any) -> Any:
        return jax.numpy.tanh(values @ first) @ second

    return value_of(jax.jacrev(layers), plain(20), plain(20, 20), plain(20, 20))
