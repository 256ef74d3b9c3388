"""Whole training steps on the fake device, whose kernels run on the CPU, beside the CPU's own."""

from __future__ import annotations

import shutil
from contextlib import nullcontext

import pytest

import retrograd as torch
from benchmarks.device_models import Model, make_inputs, make_model
from tests.cuda.device import test_half, test_kernels
from tests.cuda.fake.launches import launching

pytestmark = [
    pytest.mark.slow,  # a C++ compiler runs for each kernel
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler"),
]
F = torch.nn.functional
MODELS = {
    "mlp": Model("MLP", "mlp", False, (6, 12, 12, 4), 8),
    "cnn": Model("CNN", "cnn", False, (1, 4, 4, 8, 5), 2),
    "gpt": Model("GPT", "gpt", False, (16, 4, 8, 2, 1), 2),
    "lstm": Model("LSTM", "lstm", False, (3, 4, 4, 5), 2),
}


def trained(model, device, kind, pure=False):
    """Losses of a few steps, and the gradients of the first one, as float64."""
    torch.manual_seed(0)
    half = kind != "float32"
    dtype = getattr(torch, kind)
    module = make_model(torch, model).to(device)
    x, target = (torch.from_numpy(value).to(device) for value in make_inputs(model))
    if pure:
        module = module.to(dtype)
        x = x.to(dtype) if x.is_floating_point() else x
    cast = half and not pure
    # Adam's smallest number is none in float16
    kind_of = torch.optim.SGD if pure else torch.optim.Adam
    optimizer = kind_of(module.parameters(), lr=1e-2)
    losses, first = [], {}
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast(device, dtype) if cast else nullcontext():
            found = module(x)
            loss = F.cross_entropy(found.reshape(-1, found.shape[-1]), target)
        loss.backward()
        if not losses:
            first = {name: p.grad.cpu().double() for name, p in module.named_parameters()}
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses, first


# a few roundings of the type, of what is added up
LOOSE = {"float32": 2e-6, "float16": 4e-3, "bfloat16": 3e-2}


def agree(ours, wanted, kind):
    loose = LOOSE[kind]
    assert ours[0] == pytest.approx(wanted[0], rel=loose)
    for name, gradient in wanted[1].items():
        apart = (ours[1][name] - gradient).abs().max()
        assert float(apart) <= loose * float(gradient.abs().max()) + 1e-7, name


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", MODELS)
def test_training(name, kind):
    wanted = trained(MODELS[name], "cpu", kind)
    with launching(run=True):
        found = trained(MODELS[name], "cuda", kind)
    agree(found, wanted, kind)


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["mlp", "gpt"])
def test_training_in_half_precision(name, kind):
    wanted = trained(MODELS[name], "cpu", kind, pure=True)
    with launching(run=True):
        found = trained(MODELS[name], "cuda", kind, pure=True)
    agree(found, wanted, kind)


FUNCTIONS = {
    "products of functions": lambda x: torch.tanh(x) * F.gelu(x) / (x * x + 1),
    "choices": lambda x: torch.where(x > 0, x * x, x.exp()).clamp(0.1, 2) - F.silu(x),
    "rows": lambda x: F.log_softmax(x, -1) + F.softmax(x, 0) * x.sum(0),
    "norms": lambda x: F.layer_norm(x, (4,)) * x.mean(0, keepdim=True),
    "mixed": lambda x: x * x * torch.ones_like(x, dtype=torch.float32) + x.transpose(0, 1).t(),
}


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name, kind):
    """First and second order, and tangents, beside float64 on the CPU."""
    function, dtype = FUNCTIONS[name], getattr(torch, kind)
    torch.manual_seed(3)
    start = torch.randn(3, 4).to(dtype)

    def derivatives(device, dtype):
        x = start.to(device).to(dtype).requires_grad_()
        (g,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad((g * g).sum(), x)
        with torch.no_grad():
            tangents = torch.func.jvp(function, (x,), (torch.ones_like(x),))[1]
        assert g.dtype is h.dtype is x.dtype
        return [value.detach().cpu().double() for value in (g, h, tangents)]

    wanted = derivatives("cpu", torch.float64)
    with launching(run=True):
        found = derivatives("cuda", dtype)
    loose = {"float32": 1e-5, "float16": 2e-2, "bfloat16": 1e-1}[kind]  # steps of their own
    for ours, exact in zip(found, wanted, strict=True):
        assert float((ours - exact).abs().max()) <= loose * float(exact.abs().max() + 1)


OF_DEVICES = [getattr(test_half, name) for name in vars(test_half) if name.startswith("test_")]
OF_DEVICES += [test_kernels.test_cells, test_kernels.test_packed_sequences]
OF_DEVICES += [test_kernels.test_maximum_pooling]


@pytest.mark.parametrize("test", OF_DEVICES)
def test_what_runs_on_a_device(test):
    """Tests for a real device."""
    with launching(run=True):
        test()
