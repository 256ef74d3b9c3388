"""Twins of the steps of training."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy

from benchmarks.twins.optimizers import adam, momentum, rmsprop, sgd, training
from benchmarks.twins.registry import Twin, floats, twin
from benchmarks.workloads.registry import plain


def linear(parameters: Any, values: Any) -> Any:
    weight, bias = parameters
    return values @ weight.T + bias


def mlp(parameters: Any, values: Any, activation: Callable[[Any], Any]) -> Any:
    """Linear layers with an activation between them; the parameters as PyTorch lists them."""
    layers = list(zip(parameters[::2], parameters[1::2], strict=True))
    for layer in layers[:-1]:
        values = activation(linear(layer, values))
    return linear(layers[-1], values)


def mlp_parameters(*widths: int, scale: float = 0.1) -> list[Any]:
    pairs = itertools.pairwise(widths)
    shapes = [shape for before, after in pairs for shape in ((after, before), (after,))]
    return [plain(*shape, scale=scale) for shape in shapes]


def cross_entropy(jax: Any, scores: Any, labels: Any) -> Any:
    logarithms = jax.nn.log_softmax(scores)
    return -jax.numpy.take_along_axis(logarithms, labels[:, None], axis=1).mean()


def mean_squared(values: Any, targets: Any) -> Any:
    difference = values - targets
    return (difference * difference).mean()


@twin
def mlp_adam(jax: Any) -> Twin:
    inputs = floats([[((3 * i + 5 * j) % 7) / 7 for j in range(10)] for i in range(8)])
    targets = floats([[(i % 3) * 0.5] for i in range(8)])

    def loss(parameters: Any, inputs: Any, targets: Any) -> Any:
        return mean_squared(mlp(parameters, inputs, jax.nn.relu), targets)

    return training(jax, loss, mlp_parameters(10, 5, 1), adam(jax, 0.001), inputs, targets)


@twin
def mlp_mnist(jax: Any) -> Twin:
    def loss(parameters: Any, inputs: Any, labels: Any) -> Any:
        return cross_entropy(jax, mlp(parameters, inputs, jax.nn.relu), labels)

    parameters = mlp_parameters(784, 512, 512, 10, scale=0.01)
    labels = numpy.arange(64, dtype=numpy.int32) % 10
    return training(jax, loss, parameters, adam(jax, 0.001), plain(64, 784), labels)


def _two_losses(jax: Any) -> Twin:
    """The gradient of a sum is the sum of the gradients: one function serves both workloads."""

    def loss(parameters: Any, inputs: Any, wanted: Any, labels: Any) -> Any:
        hidden = jax.nn.relu(mlp(parameters[:4], inputs, jax.nn.relu))
        first = cross_entropy(jax, linear(parameters[4:6], hidden), labels)
        return first + mean_squared(linear(parameters[6:], hidden), wanted), first

    trunk = mlp_parameters(32, 128, 64, scale=0.05)
    heads = [plain(*shape, scale=0.05) for shape in ((10, 64), (10,), (1, 64), (1,))]
    labels = numpy.arange(32, dtype=numpy.int32) % 10
    data = (plain(32, 32), plain(32, 1), labels)
    return training(jax, loss, [*trunk, *heads], sgd(jax, 0.01), *data, aux=True)


@twin
def losses_retained(jax: Any) -> Twin:
    return _two_losses(jax)


@twin
def losses_summed(jax: Any) -> Twin:
    return _two_losses(jax)


@twin
def maml(jax: Any) -> Twin:
    jnp = jax.numpy

    def inner_loss(weights: Any, inputs: Any, targets: Any) -> Any:
        return mean_squared(mlp(weights, inputs, jnp.tanh), targets)

    def of_task(weights: Any, inputs: Any, targets: Any) -> Any:
        for _ in range(2):
            slopes = jax.grad(inner_loss)(weights, inputs, targets)
            weights = jax.tree.map(lambda w, slope: w - 0.01 * slope, weights, slopes)
        return inner_loss(weights, inputs, targets)

    def loss(weights: Any, inputs: Any, targets: Any) -> Any:
        return jax.vmap(of_task, in_axes=(None, None, 0))(weights, inputs, targets).sum()

    points = plain(10, 1, scale=0.4)
    targets = numpy.stack([numpy.sin(points + numpy.float32(0.5 * task)) for task in range(4)])
    return training(jax, loss, mlp_parameters(1, 40, 40, 1), adam(jax, 0.001), points, targets)


@twin
def gradient_penalty(jax: Any) -> Twin:
    jnp = jax.numpy

    def critic(parameters: Any, values: Any) -> Any:
        return mlp(parameters, values, lambda x: jax.nn.leaky_relu(x, 0.2))

    def loss(parameters: Any, real: Any, fake: Any) -> Any:
        between = 0.3 * real + 0.7 * fake
        slope = jax.grad(lambda values: critic(parameters, values).sum())(between)
        penalty = ((jnp.linalg.norm(slope, axis=1) - 1) ** 2).mean()
        return critic(parameters, fake).mean() - critic(parameters, real).mean() + 10 * penalty

    data = (plain(64, 2, scale=0.3), plain(64, 2, scale=-0.2))
    optimizer = rmsprop(jax, 0.0005)
    return training(jax, loss, mlp_parameters(2, 64, 64, 1), optimizer, *data, tolerance=0.0005)


@twin
def cnn(jax: Any) -> Twin:
    """Images as (sample, height, width, channel), which suits XLA on a CPU."""
    lax = jax.lax

    def convolved(values: Any, weight: Any, bias: Any) -> Any:
        layout = ("NHWC", "OIHW", "NHWC")
        found = lax.conv_general_dilated(values, weight, (1, 1), "SAME", dimension_numbers=layout)
        return found + bias

    def pooled(values: Any) -> Any:
        count, height, width, channels = values.shape
        pairs = values.reshape(count, height // 2, 2, width // 2, 2, channels)
        return pairs.max(axis=(2, 4))

    def loss(parameters: Any, images: Any, labels: Any) -> Any:
        values = convolved(images, *parameters[:2])
        mean, variance = values.mean((0, 1, 2)), values.var((0, 1, 2))
        values = (values - mean) * lax.rsqrt(variance + 1e-5) * parameters[2] + parameters[3]
        values = pooled(jax.nn.relu(values))
        values = pooled(jax.nn.relu(convolved(values, *parameters[4:6])))
        values = values.transpose(0, 3, 1, 2).reshape(len(images), -1)
        scores = linear(parameters[6:], values)
        return cross_entropy(jax, scores, labels), (mean, variance)

    start, update = momentum(jax, 0.01, 0.9)
    unbiased = 16 * 784 / (16 * 784 - 1)

    def step(state: Any, images: Any, labels: Any) -> Any:
        parameters, velocities, (running_mean, running_variance) = state
        differentiated = jax.value_and_grad(loss, has_aux=True)
        (value, (mean, variance)), gradients = differentiated(parameters, images, labels)
        parameters, velocities = update(parameters, gradients, velocities)
        running = (
            0.9 * running_mean + 0.1 * mean,
            0.9 * running_variance + 0.1 * unbiased * variance,
        )
        return (parameters, velocities, running), value

    shapes = [(8, 1, 3, 3), (8,), (8,), (8,), (16, 8, 3, 3), (16,), (10, 784), (10,)]
    parameters = [plain(*shape, scale=0.03) for shape in shapes]
    numbers = numpy.arange(16 * 784)
    images = numpy.float32(numbers * numbers % 7919) / numpy.float32(7919) - numpy.float32(0.5)
    running = (numpy.zeros(8, numpy.float32), numpy.ones(8, numpy.float32))
    state = (parameters, start(jax, parameters), running)
    labels = numpy.arange(16, dtype=numpy.int32) % 10
    return Twin(step, state, (images.reshape(16, 28, 28, 1), labels))


WIDTH, HEADS, WIDE, TOKENS = 64, 4, 128, 20


def _layer_norm(jax: Any, values: Any, weight: Any, bias: Any) -> Any:
    mean = values.mean(-1, keepdims=True)
    variance = values.var(-1, keepdims=True)
    return (values - mean) * jax.lax.rsqrt(variance + 1e-5) * weight + bias


def _attention(jax: Any, parameters: Any, values: Any, mask: Any) -> Any:
    jnp = jax.numpy
    weight, bias, out_weight, out_bias = parameters
    batch, length, _ = values.shape
    mixed = linear((weight, bias), values).reshape(batch, length, 3, HEADS, WIDTH // HEADS)
    queries, keys, contents = (mixed[:, :, part] for part in range(3))
    scores = jnp.einsum("bqhd,bkhd->bhqk", queries, keys) / math.sqrt(WIDTH // HEADS)
    found = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores + mask), contents)
    return linear((out_weight, out_bias), found.reshape(batch, length, WIDTH))


def _encoder_layer(jax: Any, parameters: Any, values: Any, mask: Any) -> Any:
    attended = values + _attention(jax, parameters[:4], values, mask)
    attended = _layer_norm(jax, attended, *parameters[8:10])
    wide = jax.nn.relu(linear(parameters[4:6], attended))
    return _layer_norm(jax, attended + linear(parameters[6:8], wide), *parameters[10:])


@twin
def transformer(jax: Any) -> Twin:
    layer = [
        *((3 * WIDTH, WIDTH), (3 * WIDTH,), (WIDTH, WIDTH), (WIDTH,)),
        *((WIDE, WIDTH), (WIDE,), (WIDTH, WIDE), (WIDTH,)),
        *((WIDTH,), (WIDTH,), (WIDTH,), (WIDTH,)),
    ]
    shapes = [(TOKENS, WIDTH), *layer, *layer, (TOKENS, WIDTH), (TOKENS,)]
    parameters = [plain(*shape, scale=0.03) for shape in shapes]
    tokens = ((numpy.arange(8 * 33, dtype=numpy.int32) * 7) % TOKENS).reshape(8, 33)
    mask = numpy.triu(numpy.full((32, 32), -numpy.inf, numpy.float32), 1)

    def loss(parameters: Any, tokens: Any, mask: Any) -> Any:
        values = parameters[0][tokens[:, :-1]]
        values = _encoder_layer(jax, parameters[1:13], values, mask)
        values = _encoder_layer(jax, parameters[13:25], values, mask)
        scores = linear(parameters[25:], values).reshape(-1, TOKENS)
        return cross_entropy(jax, scores, tokens[:, 1:].reshape(-1))

    optimizer = adam(jax, 0.001, weight_decay=0.01, eps=1e-4)
    return training(jax, loss, parameters, optimizer, tokens, mask, tolerance=0.00001)
