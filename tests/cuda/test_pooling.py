"""Maximum pooling on a device: the kernels run on the host, beside the CPU's."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import retrograd as torch
from benchmarks.device_models import Model, make_inputs, make_model
from retrograd.backend.cuda.overrides import classes, pooling, reductions, softmax
from tests.cuda.fake.launches import launching

pytestmark = [
    pytest.mark.slow,  # a C++ compiler runs for each kernel
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler"),
]
functional = torch.nn.functional


@pytest.fixture
def seen():
    with launching(pooling, reductions, softmax, classes, run=True) as found:
        yield found


def agree(found, expected, loose=0.0):
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype, one.stride()) == (other.shape, other.dtype, other.stride())
        one, other = (x.detach().cpu().double().numpy() for x in (one, other))
        np.testing.assert_allclose(one, other, loose, loose)


def pooled(device, x, *options, **more):
    x = x.to(device).detach().requires_grad_()
    values, places = functional.max_pool2d(x, *options, return_indices=True, **more)
    weights = torch.arange(1.0, values.numel() + 1).reshape(values.shape).to(values)
    (values * weights).sum().backward()
    return [values, places, x.grad]


OPTIONS = {
    "plain": ((2, 3, 6, 8), (2,), {}),
    "odd": ((1, 2, 7, 5), (3,), {"stride": 2}),
    "overlapping": ((2, 1, 5, 5), (3, 1), {}),
    "padded": ((2, 1, 5, 7), (3, 2, 1), {}),
    "ceil": ((1, 1, 6, 7), (3, 2), {"ceil_mode": True}),
    "padded and ceil": ((1, 2, 6, 7), ((3, 2), 3, 1), {"ceil_mode": True}),
    "dilated": ((1, 1, 9, 8), (2, 1), {"dilation": (3, 2)}),
    "one of each": ((1, 1, 1, 1), (1,), {}),
    "no batch": ((3, 6, 6), (2,), {}),
    "more than a block": ((5, 3, 20, 20), (2,), {}),
}


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", OPTIONS)
def test_values_places_and_gradients_are_those_of_the_cpu(seen, name, kind):
    shape, options, more = OPTIONS[name]
    x = torch.randn(shape).to(getattr(torch, kind))
    found = pooled("cuda", x, *options, **more)
    assert seen.own()[0] == "max_pool" and "add_places" in seen.own()
    assert seen.waits == []
    agree(found, pooled("cpu", x, *options, **more), 1e-6 if "64" not in kind else 1e-12)


def test_nan_infinity_and_equals(seen):
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[[
        [nan, 1, 2, 2, -inf, -inf],
        [nan, 3, 2, 2, -inf, -inf],
        [0, inf, 5, nan, -0.0, 0.0],
        [inf, 1, 7, 8, 0.0, -0.0],
    ]]])  # fmt: skip
    agree(pooled("cuda", x, 2), pooled("cpu", x, 2))
    agree(pooled("cuda", x, 3, 1, 1), pooled("cpu", x, 3, 1, 1))
    assert "max_pool" in seen.own()
    lowest = torch.full((1, 1, 4, 4), -inf)
    agree(pooled("cuda", lowest, 3, 2, 1), pooled("cpu", lowest, 3, 2, 1))


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
def test_windows_that_may_lie_in_the_padding(seen, kind):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 7, 9).round(decimals=1).to(getattr(torch, kind))  # some are equal
    x[0, 0, 2, 3] = x[0, 0, 3, 4] = float("nan")
    for options in ((2, 3, 1, 3), ((3, 2), (2, 1), (1, 0), (1, 2))):
        agree(pooled("cuda", x, *options), pooled("cpu", x, *options), 1e-6)


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_half_precision_is_one_launch_forward(seen, kind):
    x = torch.randn(2, 3, 8, 8).to(getattr(torch, kind)).cuda().requires_grad_()
    start = torch.ones(2, 3, 4, 4, dtype=x.dtype, device="cuda")
    seen.clear()
    y = functional.max_pool2d(x, 2)
    assert [launch.name for launch in seen.launches] == ["max_pool"]
    y.backward(start)
    assert seen.own() == ["max_pool", "add_places"] and seen.widened() == []
    assert x.grad.dtype is x.dtype and seen.waits == []


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
def test_gradients_that_lie_otherwise(seen, kind):
    def run(device):
        x = torch.arange(72.0).sin().reshape(1, 2, 6, 6).to(getattr(torch, kind)).to(device)
        x.requires_grad_()
        start = torch.arange(18.0, device=device).reshape(1, 2, 3, 3).to(x.dtype).transpose(2, 3)
        y = functional.max_pool2d(x, 2)
        y.backward(start)
        z = functional.adaptive_max_pool2d(x, (2, 3))
        z.backward(torch.ones_like(z))
        return [y, z, x.grad]

    agree(run("cuda"), run("cpu"), 1e-6)
    assert "add_places" in seen.own()


OTHERS = {
    "whole numbers": lambda x: x.mul(9).long(),
    "channels last": lambda x: x.contiguous(memory_format=torch.channels_last),
    "empty": lambda x: x[:0],
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_rest_is_the_neutral_kernels(seen, name):
    def run(device):
        x = OTHERS[name](torch.arange(48.0).sin().reshape(1, 2, 4, 6).to(device))
        return functional.max_pool2d(x, 2, return_indices=True)

    agree(run("cuda"), run("cpu"))
    assert "max_pool" not in seen.own()


def test_one_dimension_and_a_second_derivative(seen):
    def run(device):
        x = torch.arange(12.0).sin().reshape(1, 2, 6).to(device).requires_grad_()
        (slope,) = torch.autograd.grad(
            functional.max_pool1d(x, 3, 2).pow(3).sum(), x, create_graph=True
        )
        slope.square().sum().backward()
        return [slope, x.grad]

    agree(run("cuda"), run("cpu"), 1e-5)
    assert "max_pool" in seen.own()


@pytest.mark.parametrize("options", [(2,), (3, 2, 1), (3, 2, 1, True, False), (3, 2, 0, True)])
def test_averages_wait_for_nothing(seen, options):
    def run(device):
        x = torch.arange(60.0).sin().reshape(1, 2, 5, 6).to(device).requires_grad_()
        y = functional.avg_pool2d(x, *options)
        y.square().sum().backward()
        return [y, x.grad]

    found = run("cuda")
    assert seen.waits == []
    agree(found, run("cpu"), 1e-6)


def test_a_training_step_of_a_network_waits_for_nothing(seen):
    model = Model("CNN", "cnn", False, (1, 4, 4, 8, 10), 2)
    torch.manual_seed(0)
    module = make_model(torch, model).cuda()
    inputs, target = (torch.from_numpy(x).cuda() for x in make_inputs(model))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(2):
        seen.waits.clear()
        optimizer.zero_grad()
        loss = functional.cross_entropy(module(inputs), target)
        loss.backward()
        optimizer.step()
    assert seen.waits == []
