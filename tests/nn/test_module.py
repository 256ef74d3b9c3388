"""Modules: what holds without PyTorch to compare with."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as torch
from retrograd import nn
from retrograd.nn.module import register_module_forward_hook
from retrograd.utils.hooks import BackwardHook


def test_assigning_does_not_mark_the_given_state():
    source, target = nn.Linear(2, 1), nn.Linear(2, 1)
    state = source.state_dict()
    target.load_state_dict(state, assign=True)
    other = nn.Linear(2, 1)
    before = other.weight
    other.load_state_dict(state)
    assert other.weight is before
    assert other.weight.tolist() == source.weight.tolist()


def test_assigned_parameters_share_the_memory_of_the_given_tensors():
    target, weight = nn.Linear(2, 1, bias=False), torch.zeros(1, 2)
    target.load_state_dict({"weight": weight}, assign=True)
    weight.fill_(4.0)
    assert target.weight.tolist() == [[4.0, 4.0]]
    assert target.weight.requires_grad


def test_compile_changes_nothing():
    layer = nn.Linear(2, 1)
    before = layer(torch.ones(2)).tolist()
    assert layer.compile(mode="default") is None
    assert layer(torch.ones(2)).tolist() == before


def test_global_hook_with_kwargs_is_called_after_an_error():
    class Failing(nn.Module):
        def forward(self, x, *, factor):
            raise ValueError("no")

    seen = []
    hook = register_module_forward_hook(
        lambda module, args, kwargs, output: seen.append((args, kwargs, output)),
        with_kwargs=True,
        always_call=True,
    )
    with hook, pytest.raises(ValueError, match="no"):
        Failing()(1, factor=2)
    assert seen == [((1,), {"factor": 2}, None)]


def test_second_order_through_backward_hooks():
    layer = nn.Tanh()
    layer.register_full_backward_hook(lambda module, into, out: (into[0] * 3,))
    x = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(layer(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    y = torch.tanh(x.detach())
    np.testing.assert_allclose(first.detach().numpy(), (3 * (1 - y * y)).numpy(), rtol=1e-12)
    np.testing.assert_allclose(second.numpy(), (-6 * y * (1 - y * y)).numpy(), rtol=1e-12)


def test_backward_hook_by_hand():
    log = []
    around = BackwardHook("module", [lambda *seen: log.append(seen)], [])
    x = torch.ones(1, requires_grad=True)
    (inner,) = around.setup_input_hook((x,))
    around.setup_output_hook(inner * 4).backward()
    assert [part[0].tolist() for part in log[0][1:]] == [[4.0], [1.0]]
    assert x.grad.tolist() == [4.0]


def test_buffers_of_subclasses_that_define_register_buffer():
    class Old(nn.Module):
        def register_buffer(self, name, tensor):
            super().register_buffer(name, tensor)

    module = Old()
    module.mean = nn.Buffer(torch.zeros(1))
    assert list(module.state_dict()) == ["mean"]
    with pytest.raises(RuntimeError, match="without the persistent argument"):
        module.plain = nn.Buffer(torch.zeros(1), persistent=False)
