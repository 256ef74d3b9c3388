"""Layers and losses under vmap: gradients per example, ensembles, running statistics.

The same functions run on PyTorch; none of the common layers may fall back to a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd
from retrograd.transforms.batching import rules
from tests.func.sides import assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def numbers(library: Any, *shape: int, seed: int = 0) -> Any:
    """Fixed numbers of a shape."""
    values = np.random.default_rng([seed, *shape]).uniform(-1.5, 1.5, shape)
    return library.from_numpy(values)


def classes(library: Any, *shape: int, count: int = 3) -> Any:
    """Fixed classes of a shape."""
    return library.from_numpy(np.random.default_rng(len(shape)).integers(0, count, shape))


# Layers: a function of (nn.functional, input, *parameters), an example's shape, parameters' shapes.
Layer = tuple[Callable[..., Any], tuple[int, ...], list[tuple[int, ...]]]
LAYERS: dict[str, Layer] = {
    "linear": (lambda f, x, w, b: f.linear(x, w, b), (2, 3), [(4, 3), (4,)]),
    "linear_of_a_vector": (lambda f, x, w, b: f.linear(x, w, b), (3,), [(4, 3), (4,)]),
    "linear_without_bias": (lambda f, x, w: f.linear(x, w), (5, 2, 3), [(4, 3)]),
    "bilinear": (lambda f, x, w, b: f.bilinear(x, x, w, b), (2, 3), [(4, 3, 3), (4,)]),
    "conv1d": (lambda f, x, w, b: f.conv1d(x, w, b), (2, 3, 7), [(4, 3, 2), (4,)]),
    "conv2d": (lambda f, x, w, b: f.conv2d(x, w, b), (2, 3, 5, 6), [(4, 3, 2, 2), (4,)]),
    "conv2d_single": (lambda f, x, w, b: f.conv2d(x, w, b), (3, 5, 6), [(4, 3, 2, 2), (4,)]),
    "conv2d_without_bias": (lambda f, x, w: f.conv2d(x, w), (1, 3, 5, 6), [(4, 3, 2, 2)]),
    "conv2d_groups": (
        lambda f, x, w, b: f.conv2d(x, w, b, groups=2, stride=2, padding=1, dilation=2),
        (2, 4, 6, 5),
        [(6, 2, 2, 2), (6,)],
    ),
    "conv2d_same": (lambda f, x, w: f.conv2d(x, w, padding="same"), (2, 3, 4, 5), [(2, 3, 3, 1)]),
    "conv3d": (lambda f, x, w, b: f.conv3d(x, w, b), (1, 2, 3, 4, 3), [(3, 2, 2, 2, 2), (3,)]),
    "conv_transpose1d": (
        lambda f, x, w, b: f.conv_transpose1d(x, w, b, stride=2),
        (2, 3, 4),
        [(3, 2, 3), (2,)],
    ),
    "conv_transpose2d": (
        lambda f, x, w, b: f.conv_transpose2d(x, w, b, 2, 1, 1, 2),
        (2, 4, 3, 4),
        [(4, 3, 3, 2), (6,)],
    ),
    "layer_norm": (lambda f, x, w, b: f.layer_norm(x, (4,), w, b), (3, 4), [(4,), (4,)]),
    "layer_norm_of_two": (
        lambda f, x, w, b: f.layer_norm(x, (3, 4), w, b),
        (2, 3, 4),
        [(3, 4), (3, 4)],
    ),
    "layer_norm_without_bias": (lambda f, x, w: f.layer_norm(x, (4,), w), (3, 4), [(4,)]),
    "group_norm": (lambda f, x, w, b: f.group_norm(x, 2, w, b), (3, 4, 5), [(4,), (4,)]),
    "instance_norm": (
        lambda f, x, w, b: f.instance_norm(x, weight=w, bias=b),
        (3, 4, 5),
        [(4,), (4,)],
    ),
    "rms_norm": (lambda f, x, w: f.rms_norm(x, (4,), w), (3, 4), [(4,)]),
    "batch_norm": (
        lambda f, x, w, b: f.batch_norm(x, None, None, w, b, training=True),
        (3, 4, 5),
        [(4,), (4,)],
    ),
    "batch_norm_of_rows": (
        lambda f, x, w, b: f.batch_norm(x, None, None, w, b, training=True),
        (3, 4),
        [(4,), (4,)],
    ),
    "batch_norm_not_training": (
        lambda f, x, w, b: f.batch_norm(x, w.detach(), b.detach().exp(), w, b),
        (3, 4, 5),
        [(4,), (4,)],
    ),
    "prelu": (lambda f, x, w: f.prelu(x, w), (3, 4), [(4,)]),
    "attention": (
        lambda f, x, k, v: f.scaled_dot_product_attention(x, k, v),
        (2, 3, 4),
        [(2, 5, 4), (2, 5, 6)],
    ),
    "attention_causal": (
        lambda f, x, k: f.scaled_dot_product_attention(x, k, k, is_causal=True),
        (1, 2, 3, 4),
        [(1, 2, 3, 4)],
    ),
    "grid_sample": (
        lambda f, x, g: f.grid_sample(x, g, align_corners=False),
        (2, 3, 4, 5),
        [(2, 3, 2, 2)],
    ),
    "affine_grid": (
        lambda f, x, t: f.grid_sample(
            x, f.affine_grid(t, x.shape, align_corners=True), align_corners=True
        ),
        (2, 3, 4, 5),
        [(2, 2, 3)],
    ),
    "max_pool2d": (lambda f, x: f.max_pool2d(x, 2, 1, 1), (2, 3, 5, 4), []),
    "max_pool1d": (lambda f, x: f.max_pool1d(x, 2), (3, 8), []),
    "max_pool3d": (lambda f, x: f.max_pool3d(x, 2), (1, 2, 4, 4, 4), []),
    "avg_pool2d": (lambda f, x: f.avg_pool2d(x, 2, 1), (2, 3, 5, 4), []),
    "adaptive_avg_pool2d": (lambda f, x: f.adaptive_avg_pool2d(x, (2, 3)), (2, 3, 5, 4), []),
    "adaptive_max_pool1d": (lambda f, x: f.adaptive_max_pool1d(x, 3), (2, 3, 5), []),
    "interpolate": (
        lambda f, x: f.interpolate(x, scale_factor=2, mode="bilinear"),
        (2, 3, 4, 5),
        [],
    ),
    "interpolate_nearest": (lambda f, x: f.interpolate(x, size=7), (2, 3, 4), []),
    "pad": (lambda f, x: f.pad(x, (1, 2), value=3.0), (2, 3), []),
    "pad_reflect": (lambda f, x: f.pad(x, (1, 2, 1, 0), "reflect"), (2, 3, 4), []),
    "pad_circular": (lambda f, x: f.pad(x, (1, 2), "circular"), (2, 3, 4), []),
    "unfold": (lambda f, x: f.unfold(x, 2), (2, 3, 4, 5), []),
    "fold": (lambda f, x: f.fold(x, (3, 4), 2), (2, 12, 6), []),
    "pixel_shuffle": (lambda f, x: f.pixel_shuffle(x, 2), (1, 4, 2, 3), []),
    "channel_shuffle": (lambda f, x: f.channel_shuffle(x, 2), (1, 4, 2, 3), []),
    "softmax": (lambda f, x: f.softmax(x, -1), (2, 3), []),
    "log_softmax": (lambda f, x: f.log_softmax(x, 0), (3,), []),
    "logsumexp": (lambda f, x: x.logsumexp(1), (2, 3), []),
    "gelu": (lambda f, x: f.gelu(x, approximate="tanh"), (2, 3), []),
    "elu": (lambda f, x: f.elu(x, 0.7), (2, 3), []),
    "glu": (lambda f, x: f.glu(x, 0), (4, 3), []),
    "softplus": (lambda f, x: f.softplus(x, 2.0), (2, 3), []),
    "normalize": (lambda f, x: f.normalize(x, dim=0), (2, 3), []),
    "cosine_similarity": (lambda f, x, y: f.cosine_similarity(x, y, 1), (2, 3), [(2, 3)]),
    "mse_loss": (lambda f, x, y: f.mse_loss(x, y), (2, 3), [(2, 3)]),
    "smooth_l1_loss": (lambda f, x, y: f.smooth_l1_loss(x, y, beta=0.5), (2, 3), [(2, 3)]),
    "huber_loss": (lambda f, x, y: f.huber_loss(x, y, reduction="sum"), (2, 3), [(2, 3)]),
    "kl_div": (
        lambda f, x, y: f.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"),
        (2, 3),
        [(2, 3)],
    ),
    "binary_cross_entropy": (
        lambda f, x, y: f.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
        (2, 3),
        [(2, 3)],
    ),
    "binary_cross_entropy_with_logits": (
        lambda f, x, y: f.binary_cross_entropy_with_logits(x, y.sigmoid(), reduction="sum"),
        (2, 3),
        [(2, 3)],
    ),
}


def _of(name: str, library: Any, shared: bool) -> tuple[Any, list[Any], tuple[Any, ...]]:
    """A layer, its inputs for a batch of 3 (or parameters shared by all), and their batch dims."""
    layer, shape, parameters = LAYERS[name]
    inputs = [numbers(library, 3, *shape)]
    for seed, own in enumerate(parameters):
        inputs.append(numbers(library, *(own if shared else (3, *own)), seed=seed))
    dims = (0, *[None if shared else 0 for _ in parameters])

    def function(*tensors: Any) -> Any:
        return layer(library.nn.functional, *tensors)

    return function, inputs, dims


SHARED = pytest.mark.parametrize("shared", [True, False], ids=["one_weight", "ensemble"])


@SHARED
@pytest.mark.parametrize("name", LAYERS)
def test_values(name: str, shared: bool) -> None:
    """The values, with the batch in front and behind."""

    def scenario(library: Any) -> Any:
        function, inputs, dims = _of(name, library, shared)
        front = library.vmap(function, dims)(*inputs)
        if "grid" in name:  # the batch rule of PyTorch asks for the batch in front
            return front
        last = library.vmap(function, (-1, *dims[1:]))(inputs[0].movedim(0, -1), *inputs[1:])
        return front, last

    assert_same(torch, scenario)


@SHARED
@pytest.mark.parametrize("name", LAYERS)
def test_gradient_per_example(name: str, shared: bool) -> None:
    """`vmap(grad(f))` with respect to everything, shared weights included."""

    def scenario(library: Any) -> Any:
        function, inputs, dims = _of(name, library, shared)
        wanted = tuple(range(len(inputs)))
        found = library.func.grad(lambda *t: (function(*t) ** 2).sum(), wanted)
        return library.vmap(found, dims)(*inputs)

    assert_same(torch, scenario)


@SHARED
@pytest.mark.parametrize("name", LAYERS)
def test_gradient_of_a_batch(name: str, shared: bool) -> None:
    """A backward pass through `vmap(f)`."""

    def scenario(library: Any) -> Any:
        function, inputs, dims = _of(name, library, shared)
        for x in inputs:
            x.requires_grad_()
        (library.vmap(function, dims)(*inputs) ** 2).sum().backward()
        return [x.grad for x in inputs]

    assert_same(torch, scenario)


@SHARED
@pytest.mark.parametrize("name", LAYERS)
def test_no_loop(name: str, shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forward and backward pass take as many calls for three examples as for one."""
    function, inputs, dims = _of(name, retrograd, shared)
    wanted = tuple(range(len(inputs)))
    gradients = retrograd.func.grad(lambda *t: (function(*t) ** 2).sum(), wanted)

    def refuse(call: rules.BatchedCall, *more: Any) -> Any:
        raise AssertionError(f"{call.op.name} runs in a loop")

    def by_rule(op: Any) -> Any:
        rule = rules.rule_for(op)
        if rule is rules.loop:
            return refuse
        if rule.__module__.startswith("retrograd"):
            monkeypatch.setitem(rule.__globals__, "loop", refuse)
        return rule

    monkeypatch.setattr("retrograd.transforms.batching.rule_for", by_rule)
    found = retrograd.vmap(gradients, dims)(*inputs)
    assert len(found) == len(inputs)


# ------------------------------------------------------------------------------- classification

CLASSIFIED: dict[str, Callable[..., Any]] = {
    "nll_loss": lambda f, x, y: f.nll_loss(x.log_softmax(1), y),
    "nll_loss_sum": lambda f, x, y: f.nll_loss(x, y, reduction="sum"),
    "nll_loss_none": lambda f, x, y: f.nll_loss(x, y, reduction="none").cos(),
    "nll_loss_ignoring": lambda f, x, y: f.nll_loss(x, y, ignore_index=1),
    "cross_entropy": lambda f, x, y: f.cross_entropy(x, y),
    "cross_entropy_ignoring": lambda f, x, y: f.cross_entropy(x, y, ignore_index=0),
    "cross_entropy_smooth": lambda f, x, y: f.cross_entropy(x, y, label_smoothing=0.1),
    "multi_margin_loss": lambda f, x, y: f.multi_margin_loss(x, y, margin=0.5),
}


@pytest.mark.parametrize("spatial", [(), (2,), (2, 3)])
@pytest.mark.parametrize("name", CLASSIFIED)
def test_classification(name: str, spatial: tuple[int, ...]) -> None:
    """Losses of classes: rows, sequences and images of scores."""
    if name == "multi_margin_loss" and spatial:
        pytest.skip("for rows only")

    def scenario(library: Any) -> Any:
        x, y = numbers(library, 2, 4, 3, *spatial), classes(library, 2, 4, *spatial)
        found = library.func.grad_and_value(
            lambda x, y: CLASSIFIED[name](library.nn.functional, x, y).sum()
        )
        inside = library.vmap(found)(x, y)
        one = library.vmap(found, (0, None))(x, y[0])
        x.requires_grad_()
        losses = library.vmap(lambda *t: CLASSIFIED[name](library.nn.functional, *t))(x, y)
        losses.sum().backward()
        return inside, one, losses, x.grad

    assert_same(torch, scenario)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_weighted_classes(reduction: str) -> None:
    """Weights that belong to the batch, or to each example."""

    def scenario(library: Any) -> Any:
        x, y = numbers(library, 2, 4, 3), classes(library, 2, 4)
        weight = numbers(library, 2, 3).exp()

        def loss(x: Any, y: Any, w: Any) -> Any:
            return library.nn.functional.cross_entropy(x, y, w, reduction=reduction).sum()

        one = library.vmap(library.func.grad(loss), (0, 0, None))(x, y, weight[0])
        return one, library.vmap(library.func.grad(loss))(x, y, weight)

    assert_same(torch, scenario)


# ------------------------------------------------------------------------------------ embeddings

TABLES: dict[str, Callable[..., Any]] = {
    "embedding": lambda f, i, w: f.embedding(i, w),
    "embedding_padded": lambda f, i, w: f.embedding(i, w, padding_idx=1),
    "bag": lambda f, i, w: f.embedding_bag(i, w),
    "bag_sum": lambda f, i, w: f.embedding_bag(i, w, mode="sum"),
    "bag_max": lambda f, i, w: f.embedding_bag(i, w, mode="max"),
    "bag_padded": lambda f, i, w: f.embedding_bag(i, w, padding_idx=1),
}


@pytest.mark.parametrize("dims", [(0, None), (None, 0), (0, 0)])
@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str, dims: Any) -> None:
    """Indices or tables in a batch, and gradients per example."""

    def scenario(library: Any) -> Any:
        index, table = classes(library, 3, 2, 5, count=4), numbers(library, 3, 4, 2)
        inputs = [x if dim == 0 else x[0] for x, dim in zip((index, table), dims, strict=True)]

        def loss(index: Any, table: Any) -> Any:
            return (TABLES[name](library.nn.functional, index, table) ** 2).sum()

        found = library.func.grad_and_value(loss, 1)
        return library.vmap(found, dims)(*inputs)

    assert_same(torch, scenario)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("last", [False, True])
def test_bags_of_any_length(mode: str, last: bool) -> None:
    """Where bags begin may differ from example to example."""

    def scenario(library: Any) -> Any:
        index, table = classes(library, 3, 6, count=4), numbers(library, 4, 2)
        starts = library.tensor([[0, 2, 6], [0, 0, 6], [0, 5, 6]])

        def loss(index: Any, starts: Any, table: Any) -> Any:
            rows = library.nn.functional.embedding_bag(
                index, table, starts, mode=mode, include_last_offset=last
            )
            return (rows**2).sum()

        found = library.func.grad_and_value(loss, 2)
        return library.vmap(found, (0, 0, None))(index, starts, table)

    assert_same(torch, scenario)


def test_bags_under_forward_mode() -> None:
    """The tangent of a table is looked up as the table is."""
    index, table = classes(retrograd, 3, 2, 5, count=4), numbers(retrograd, 4, 2)
    bags = retrograd.nn.functional.embedding_bag

    def tangent(index: Any) -> Any:
        found = retrograd.func.jvp(lambda t: bags(index, t), (table,), (table.cos(),))
        return found[1]

    expected = retrograd.stack([bags(i, table.cos()) for i in index])
    found = retrograd.vmap(tangent)(index)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


# ---------------------------------------------------------------------------- running statistics


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("batched", [(0, 0), (None, 0), (0, None), (None, None)])
def test_running_statistics(batched: Any, training: bool) -> None:
    """Statistics are updated where every example has its own; else PyTorch refuses."""

    def scenario(library: Any) -> Any:
        x = numbers(library, 3, 4, 2, 5)
        mean, var = numbers(library, 3, 2), numbers(library, 3, 2).exp()
        inputs = [x if batched[0] == 0 else x[0]]
        inputs += [s if batched[1] == 0 else s[0].clone() for s in (mean, var)]

        def layer(x: Any, mean: Any, var: Any) -> Any:
            return library.nn.functional.batch_norm(x, mean, var, training=training) * 2

        dims = (batched[0], batched[1], batched[1])
        if batched == (None, None):
            return layer(*inputs), inputs[1:]
        return library.vmap(layer, dims)(*inputs), inputs[1:]

    assert_same(torch, scenario)


# ------------------------------------------------------------------------------------ whole nets


def _net(library: Any, p: dict[str, Any], x: Any) -> Any:
    f = library.nn.functional
    x = f.relu(f.conv2d(x.unsqueeze(0), p["filters"], p["shifts"], padding=1))
    x = f.group_norm(x, 2, p["scale"])
    x = f.max_pool2d(x, 2).flatten(1)
    return f.linear(f.gelu(x), p["weight"], p["bias"]).squeeze(0)


def _parameters(library: Any, *first: int) -> dict[str, Any]:
    shapes = {"filters": (4, 1, 3, 3), "shifts": (4,), "scale": (4,), "weight": (3, 16)}
    shapes["bias"] = (3,)
    return {name: numbers(library, *first, *shape) for name, shape in shapes.items()}


def test_gradients_of_a_net_per_example() -> None:
    """What `vmap(grad(loss), (None, 0, 0))` is for."""

    def scenario(library: Any) -> Any:
        images, labels = numbers(library, 5, 1, 4, 5), classes(library, 5)

        def loss(p: Any, x: Any, y: Any) -> Any:
            return library.nn.functional.cross_entropy(_net(library, p, x), y)

        found = library.func.grad_and_value(loss)
        return library.vmap(found, (None, 0, 0))(_parameters(library), images, labels)

    assert_same(torch, scenario)


def test_ensemble_of_nets() -> None:
    """Three nets, each on its own images and all on the same, with their gradients."""

    def scenario(library: Any) -> Any:
        images, labels = numbers(library, 3, 5, 1, 4, 5), classes(library, 5)
        nets = _parameters(library, 3)

        def loss(p: Any, x: Any, y: Any) -> Any:
            scores = library.vmap(lambda image: _net(library, p, image))(x)
            return library.nn.functional.cross_entropy(scores, y)

        own = library.vmap(library.func.grad(loss), (0, 0, None))(nets, images, labels)
        return own, library.vmap(loss, (0, None, None))(nets, images[0], labels)

    assert_same(torch, scenario)


def test_jacobian_and_hessian_of_a_net() -> None:
    """`jacrev` and `hessian` map over the outputs."""

    def scenario(library: Any) -> Any:
        p = {name: value.to(library.float64) for name, value in _parameters(library).items()}
        image = numbers(library, 1, 4, 5)
        jacobian = library.func.jacrev(lambda p: _net(library, p, image))(p)
        hessian = library.func.hessian(
            lambda b: _net(library, {**p, "shifts": b}, image).square().sum()
        )(p["shifts"])
        return jacobian, hessian

    assert_same(torch, scenario)


@SHARED
@pytest.mark.parametrize("name", LAYERS)
def test_empty_batch(name: str, shared: bool) -> None:
    """No example at all: the results have the shapes of others."""
    function, inputs, dims = _of(name, retrograd, shared)
    full = retrograd.vmap(function, dims)(*inputs)
    none = [x[:0] if dim == 0 else x for x, dim in zip(inputs, dims, strict=True)]
    found = retrograd.vmap(function, dims)(*none)
    assert found.shape == (0, *full.shape[1:])
    assert found.dtype is full.dtype
