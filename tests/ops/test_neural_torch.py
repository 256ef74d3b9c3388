"""What samples do not show: running statistics, node names, in-place twins, warnings, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd
import retrograd.nn.functional as ours

torch = pytest.importorskip("torch")
theirs = torch.nn.functional
pytestmark = pytest.mark.torch

LIBRARIES = ((torch, theirs), (retrograd, ours))


def numbers(*shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


# ------------------------------------------------------------------------- running statistics


@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 5), (2, 4, 3, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("momentum", [0.1, 0.7])
@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_running_statistics(shape, dtype, momentum, name):
    if name == "instance_norm" and len(shape) == 2:
        pytest.skip("needs places")
    found = []
    for library, module in LIBRARIES:
        mean = library.from_numpy(numbers(4, dtype=dtype, seed=1))
        var = library.from_numpy(np.abs(numbers(4, dtype=dtype, seed=2)) + 0.5)
        options = {"training": True} if name == "batch_norm" else {}
        function = getattr(module, name)
        for seed in (3, 4):
            x = library.from_numpy(numbers(*shape, dtype=dtype, seed=seed))
            function(x, mean, var, momentum=momentum, **options)
        # PyTorch counts the writes of instance_norm, but not those of batch_norm
        assert mean._version == var._version == (0 if name == "batch_norm" else 2)
        found.append((mean.numpy(), var.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5 if dtype == "float32" else 1e-12)


def test_evaluation_does_not_move_statistics():
    mean, var = retrograd.zeros(4), retrograd.ones(4)
    ours.batch_norm(retrograd.randn(3, 4), mean, var)
    assert not mean.numpy().any()
    assert (var.numpy() == 1).all()


def test_two_forward_passes_before_backward():
    """The statistics change in between, which is no in-place modification."""
    mean, var = retrograd.zeros(4), retrograd.ones(4)
    x = retrograd.randn(3, 4, requires_grad=True)
    first = ours.batch_norm(x, mean, var, training=True)
    second = ours.batch_norm(x, mean, var, training=True)
    (first + second).sum().backward()


def test_third_order_of_layer_norm():
    array, weights = numbers(2, 3), numbers(2, 3, seed=1)

    def plain(x):
        centred = x - x.mean(1, keepdim=True)
        return centred * ((centred * centred).mean(1, keepdim=True) + 1e-5).rsqrt()

    def third(library, function):
        x = library.from_numpy(array.copy()).requires_grad_()
        w = library.from_numpy(weights)
        total = (function(x) * w).sum()
        for _ in range(3):
            (g,) = library.autograd.grad(total, x, create_graph=True)
            total = (g * g * w).sum()
        return g.detach().numpy()

    expected = third(torch, plain)
    np.testing.assert_allclose(third(retrograd, plain), expected, rtol=1e-8)
    fused = third(retrograd, lambda x: ours.layer_norm(x, (3,)))
    np.testing.assert_allclose(fused, expected, rtol=1e-8)


# ------------------------------------------------------------------------------------ the graph

NAMES = [
    lambda F, x, t: F.relu(x),
    lambda F, x, t: F.relu(x * 1, inplace=True),
    lambda F, x, t: F.relu6(x),
    lambda F, x, t: F.leaky_relu(x),
    lambda F, x, t: F.leaky_relu(x * 1, inplace=True),
    lambda F, x, t: F.elu(x),
    lambda F, x, t: F.elu(x * 1, inplace=True),
    lambda F, x, t: F.selu(x),
    lambda F, x, t: F.celu(x),
    lambda F, x, t: F.celu(x * 1, inplace=True),
    lambda F, x, t: F.gelu(x),
    lambda F, x, t: F.silu(x),
    lambda F, x, t: F.mish(x),
    lambda F, x, t: F.softplus(x),
    lambda F, x, t: F.logsigmoid(x),
    lambda F, x, t: F.hardtanh(x),
    lambda F, x, t: F.hardswish(x),
    lambda F, x, t: F.hardsigmoid(x),
    lambda F, x, t: F.hardshrink(x),
    lambda F, x, t: F.softshrink(x),
    lambda F, x, t: F.tanhshrink(x),
    lambda F, x, t: F.threshold(x, 0.1, 2.0),
    lambda F, x, t: F.threshold(x * 1, 0.1, 2.0, inplace=True),
    lambda F, x, t: F.prelu(x, x[0]),
    lambda F, x, t: F.rrelu(x),
    lambda F, x, t: F.rrelu(x * 1, inplace=True),
    lambda F, x, t: F.glu(x),
    lambda F, x, t: F.softmin(x, 1),
    lambda F, x, t: F.softmax(x, 1),
    lambda F, x, t: F.log_softmax(x, 1),
    lambda F, x, t: F.normalize(x),
    lambda F, x, t: F.cosine_similarity(x, x),
    lambda F, x, t: F.pairwise_distance(x, x),
    lambda F, x, t: F.pdist(x),
    lambda F, x, t: F.mse_loss(x, x),
    lambda F, x, t: F.l1_loss(x, x),
    lambda F, x, t: F.smooth_l1_loss(x, x),
    lambda F, x, t: F.huber_loss(x, x),
    lambda F, x, t: F.nll_loss(x, t),
    lambda F, x, t: F.cross_entropy(x, t),
    lambda F, x, t: F.cross_entropy(x.unsqueeze(2), t.unsqueeze(1)),
    lambda F, x, t: F.cross_entropy(x, x),
    lambda F, x, t: F.binary_cross_entropy(x.sigmoid(), x.sigmoid()),
    lambda F, x, t: F.binary_cross_entropy_with_logits(x, x),
    lambda F, x, t: F.kl_div(x, x.sigmoid(), reduction="sum"),
    lambda F, x, t: F.soft_margin_loss(x, x.detach()),
    lambda F, x, t: F.multi_margin_loss(x, t),
    lambda F, x, t: F.layer_norm(x, (4,)),
    lambda F, x, t: F.batch_norm(x, None, None, training=True),
    lambda F, x, t: F.group_norm(x, 2),
    lambda F, x, t: F.instance_norm(x.unsqueeze(0)),
    lambda F, x, t: F.embedding(t, x),
    lambda F, x, t: F.embedding_bag(t.unsqueeze(0), x),
    lambda F, x, t: F.scaled_dot_product_attention(*[x[None, None]] * 3),
    lambda F, x, t: F.dropout(x),
    lambda F, x, t: F.alpha_dropout(x, training=True),
]


def names(node):
    """A node and all behind it, as far as PyTorch's numbering of number operands lets us see."""
    if node is None:
        return ()
    name = type(node).__name__
    if name[:3] in ("Add", "Mul", "Div", "Sub"):
        name = name.rstrip("01")
    behind = (names(target) for target, _ in node.next_functions)
    return (name, *(part for part in behind if part and part != ("AccumulateGrad",)))


@pytest.mark.parametrize("make", NAMES)
def test_nodes_have_torch_names(make):
    found = []
    for library, module in LIBRARIES:
        x = library.from_numpy(numbers(4, 4)).requires_grad_()
        target = library.from_numpy(np.array([1, 0, 3, 2]))
        found.append(names(make(module, x, target).grad_fn))
    assert found[0] == found[1]


def test_only_what_torch_keeps_is_checked():
    """relu keeps its result, gelu its input: writing into the other one is allowed."""
    for library, module in LIBRARIES:
        x = library.ones(3, requires_grad=True)
        hidden = x * 2
        result = module.relu(hidden)
        hidden.add_(1)
        result.sum().backward()
        hidden = x * 2
        result = module.gelu(hidden)
        hidden.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            result.sum().backward()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("relu_", ()),
        ("leaky_relu_", (0.2,)),
        ("elu_", (0.5,)),
        ("selu_", ()),
        ("celu_", (0.5,)),
        ("hardtanh_", (-0.5, 0.5)),
        ("threshold_", (0.1, 2.0)),
        ("rrelu_", (0.1, 0.3)),
    ],
)
def test_in_place_functions(name, options):
    found = []
    for library, module in LIBRARIES:
        x = library.from_numpy(numbers(3, 4)).requires_grad_()
        hidden = x * 1
        result = getattr(module, name)(hidden, *options)
        assert result is hidden
        (g,) = library.autograd.grad((result * result).sum(), x)
        found.append((result.detach().numpy(), g.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("name", ["leaky_relu", "elu", "celu"])
def test_negative_slopes_in_place_have_no_gradient(name):
    messages = []
    for library, module in LIBRARIES:
        x = library.ones(3, requires_grad=True)
        result = getattr(module, name)(x * 1, -1.0, inplace=True)
        with pytest.raises(RuntimeError) as caught:
            result.sum().backward()
        messages.append(str(caught.value).splitlines()[0])
    assert messages[0] == messages[1]


def test_infinite_gradients_meet_a_mask():
    for library, module in LIBRARIES:
        x = library.full((2000,), -1.0).requires_grad_()
        module.relu(x).backward(library.full((2000,), float("inf")))
        assert not x.grad.numpy().any()


# --------------------------------------------------------------------------------------- warnings

WARNINGS = [
    lambda F, x: F.mse_loss(x, x[0]),
    lambda F, x: F.l1_loss(x, x[0]),
    lambda F, x: F.smooth_l1_loss(x, x[0]),
    lambda F, x: F.huber_loss(x, x[0]),
    lambda F, x: F.mse_loss(x, x, size_average=False),
    lambda F, x: F.mse_loss(x, x, reduce=False),
    lambda F, x: F.mse_loss(x, x, reduction="elementwise_mean"),
    lambda F, x: F.softmax(x),
    lambda F, x: F.log_softmax(x),
    lambda F, x: F.softmin(x),
    lambda F, x: F.kl_div(x, x),
    lambda F, x: F.dropout2d(x, 0.0),
    lambda F, x: F.dropout2d(x[None], 0.0),
    lambda F, x: F.dropout3d(x, 0.0),
]


@pytest.mark.parametrize("run", WARNINGS)
def test_warnings(run):
    found = []
    for library, module in LIBRARIES:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run(module, library.ones(3, 4))
        found.append([(str(w.message), w.category.__name__) for w in caught])
    assert found[0] == found[1]
    assert found[0]


MESSAGES = [
    lambda F, x, t: F.nll_loss(x, t + 5),
    lambda F, x, t: F.nll_loss(x, t[:2]),
    lambda F, x, t: F.cross_entropy(x, t + 5),
    lambda F, x, t: F.cross_entropy(x, x[:, :3]),
    lambda F, x, t: F.mse_loss(x, x, reduction="median"),
    lambda F, x, t: F.binary_cross_entropy(x, x[0]),
    lambda F, x, t: F.binary_cross_entropy(x + 3, x),
    lambda F, x, t: F.binary_cross_entropy_with_logits(x, x[0]),
    lambda F, x, t: F.layer_norm(x, (3,)),
    lambda F, x, t: F.layer_norm(x, (4,), x[0, :3]),
    lambda F, x, t: F.batch_norm(x[:1], None, None, training=True),
    lambda F, x, t: F.batch_norm(x, None, None),
    lambda F, x, t: F.batch_norm(x, x[0, :3], x[0, :3]),
    lambda F, x, t: F.group_norm(x, 3),
    lambda F, x, t: F.instance_norm(x),
    lambda F, x, t: F.embedding(t + 9, x),
    lambda F, x, t: F.embedding(x, x),
    lambda F, x, t: F.embedding(t, x, padding_idx=9),
    lambda F, x, t: F.embedding_bag(t, x),
    lambda F, x, t: F.one_hot(-t),
    lambda F, x, t: F.dropout(x, 1.5),
    lambda F, x, t: F.dropout1d(x[0]),
    lambda F, x, t: F.prelu(x, x[0, :3]),
    lambda F, x, t: F.glu(x[:, :3]),
    lambda F, x, t: F.gelu(x, approximate="fast"),
    lambda F, x, t: F.gelu(t),
    lambda F, x, t: F.hardtanh(x, 2.0, 1.0),
    lambda F, x, t: F.softmax(x, 2),
    lambda F, x, t: F.multi_margin_loss(x, t + 9),
    lambda F, x, t: F.triplet_margin_loss(x, x, x, margin=0.0),
    lambda F, x, t: F.margin_ranking_loss(x, x, x[0]),
    lambda F, x, t: F.gaussian_nll_loss(x, x, -x.exp()),
    lambda F, x, t: F.scaled_dot_product_attention(x[0], x[0], x[0]),
    lambda F, x, t: F.relu(3.0),
]


@pytest.mark.parametrize("run", MESSAGES)
def test_errors(run):
    found = []
    for library, module in LIBRARIES:
        x = library.from_numpy(numbers(3, 4))
        target = library.from_numpy(np.array([1, 2, 3]))
        with pytest.raises(Exception) as caught:
            run(module, x, target)
        found.append(caught.value)
    assert isinstance(found[1], type(found[0]))
    assert str(found[1]).splitlines()[0] == str(found[0]).splitlines()[0]
