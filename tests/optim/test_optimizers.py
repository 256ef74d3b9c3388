"""Optimizers by themselves: refusals that are retrograd's own, reports, memory, hooks once."""

from __future__ import annotations

import pytest

import retrograd as torch

NAMES = [
    "SGD",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "Adagrad",
    "Adadelta",
    "ASGD",
]


@pytest.mark.parametrize("name", [*NAMES, "Adafactor"])
def test_a_step_updates_in_place_and_names_itself(name):
    weight = torch.ones(2, requires_grad=True)
    optimizer = getattr(torch.optim, name)([weight])
    memory = weight.data_ptr()
    loss = (weight * weight).sum()
    loss.backward(retain_graph=True)
    gradient = weight.grad.tolist()
    optimizer.step()
    assert weight.data_ptr() == memory
    assert weight.grad.tolist() == gradient
    assert weight.tolist() != [1.0, 1.0]
    assert weight.requires_grad
    assert weight.is_leaf
    with pytest.raises(RuntimeError) as caught:
        loss.backward()
    assert f"{name}.step" in "\n".join(getattr(caught.value, "__notes__", [str(caught.value)]))


def test_parameters_without_gradient_stay():
    moved, kept = (torch.ones(2, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.Adam([moved, kept])
    moved.grad = torch.ones(2)
    optimizer.step()
    assert kept.tolist() == [1.0, 1.0]
    assert list(optimizer.state) == [moved]


def test_a_step_that_calls_its_parent_runs_hooks_once():
    class Louder(torch.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    seen = []
    optimizer = Louder([torch.ones(2, requires_grad=True)])
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    assert optimizer.step(lambda: 4) == 4
    assert seen == ["before", "after"]


def test_an_optimizer_without_a_rule_says_so():
    weight = torch.ones(2, requires_grad=True)
    weight.grad = torch.ones(2)
    with pytest.raises(NotImplementedError, match="Optimizer has no update rule"):
        torch.optim.Optimizer([weight], {}).step()


def test_lbfgs_can_be_pickled():
    import pickle

    weight = torch.tensor([3.0], requires_grad=True)
    optimizer = pickle.loads(pickle.dumps(torch.optim.LBFGS([weight])))
    (twin,) = optimizer.param_groups[0]["params"]

    def closure():
        optimizer.zero_grad()
        loss = (twin**2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert twin.abs().item() < 1e-4
    assert weight.item() == 3.0


@pytest.mark.parametrize(
    ("name", "options"),
    [("SGD", {"weight_decay": 0.1}), ("Adam", {"amsgrad": True}), ("AdamW", {})],
)
def test_the_gradient_through_several_steps(name, options):
    gradients = torch.tensor([0.3, -0.7], dtype=torch.float64)

    def trained(start, rate):
        weight = start.clone()
        kind = getattr(torch.optim, name)
        optimizer = kind([weight], lr=rate, differentiable=True, **options)
        for _ in range(3):
            weight.grad = gradients * weight.clone() ** 2
            optimizer.step()
        return weight

    start = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    rate = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(trained, (start, rate))
