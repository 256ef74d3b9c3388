"""Optimizers and whole training steps on the stand-in device, as on the CPU."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd as torch

DEVICE = "privateuseone"

OPTIMIZERS = {
    "SGD": [{}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, {"maximize": True}],
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1}],
    "AdamW": [{}, {"amsgrad": True}],
    "Adamax": [{}],
    "NAdam": [{}, {"weight_decay": 0.1}],
    "RAdam": [{}],
    "Adagrad": [{}, {"lr_decay": 0.1}],
    "Adadelta": [{}],
    "RMSprop": [{}, {"momentum": 0.5, "centered": True}],
    "Rprop": [{}],
    "ASGD": [{"t0": 2}],
    "Adafactor": [{}],
    "Muon": [{}],
    "LBFGS": [{}, {"line_search_fn": "strong_wolfe"}],
}
CASES = [(name, options) for name, many in OPTIMIZERS.items() for options in many]


def train(device, name, options):
    torch.manual_seed(0)
    # a line search turns the last bits of float32 into other steps
    kind = torch.float64 if name == "LBFGS" else torch.float32
    weight = torch.randn(4, 3, dtype=kind).to(device).requires_grad_()
    other = torch.randn(3, 2, dtype=kind).to(device).requires_grad_()
    inputs, targets = (torch.randn(6, n, dtype=kind).to(device) for n in (4, 2))
    optimizer = getattr(torch.optim, name)([weight, other], **{"lr": 0.05, **options})

    def closure():
        optimizer.zero_grad()
        loss = ((inputs @ weight).tanh() @ other - targets).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(4):
        optimizer.step(closure)
    assert weight.device.type == torch.device(device).type
    return weight.detach().cpu().numpy(), other.detach().cpu().numpy()


@pytest.mark.parametrize(("name", "options"), CASES)
def test_optimizer(name, options):
    for ours, theirs in zip(train(DEVICE, name, options), train("cpu", name, options), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_every_optimizer_is_tried():
    found = {name: getattr(torch.optim, name) for name in dir(torch.optim)}
    public = {
        name
        for name, value in found.items()
        if isinstance(value, type) and issubclass(value, torch.optim.Optimizer)
    }
    # these take no dense gradients
    assert public - {"Optimizer", "SparseAdam"} <= set(OPTIMIZERS)


def step(device, make, inputs, targets, criterion):
    torch.manual_seed(0)
    model = make().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        loss = criterion(model(inputs.to(device)), targets.to(device))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    state = {name: value.cpu().numpy() for name, value in model.state_dict().items()}
    return losses, state


def _mlp():
    nn = torch.nn
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 3))


def _cnn():
    nn = torch.nn
    # no bias before batch_norm: its gradient is nothing but rounding errors, which Adam makes large
    return nn.Sequential(
        nn.Conv2d(1, 3, 3, bias=False), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(27, 3),
    )  # fmt: skip


class _Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = torch.nn.LSTMCell(4, 5), torch.nn.Linear(5, 3)

    def forward(self, x):
        state = None
        for _ in range(3):
            state = self.cell(x, state)
        return self.head(state[0])


MODELS = {"mlp": (_mlp, (5, 4)), "cnn": (_cnn, (5, 1, 8, 8)), "recurrent": (_Recurrent, (5, 4))}


@pytest.mark.parametrize("name", MODELS)
def test_training_step(name):
    make, shape = MODELS[name]
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(*shape, generator=generator)
    targets = torch.tensor([0, 1, 2, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours, state = step(DEVICE, make, inputs, targets, torch.nn.CrossEntropyLoss())
        theirs, expected = step("cpu", make, inputs, targets, torch.nn.CrossEntropyLoss())
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    for key, value in expected.items():
        np.testing.assert_allclose(state[key], value, rtol=1e-4, atol=1e-6, err_msg=key)


def test_mixed_devices_are_refused():
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(2).to(DEVICE) + torch.ones(2)


def test_a_number_of_the_cpu_goes_along():
    there = torch.ones(2).to(DEVICE) + torch.tensor(2.0)
    assert there.device.type == DEVICE and there.tolist() == [3.0, 3.0]


def test_numpy_refuses():
    with pytest.raises(TypeError, match=r"Use Tensor.cpu\(\) to copy"):
        torch.ones(2).to(DEVICE).numpy()
