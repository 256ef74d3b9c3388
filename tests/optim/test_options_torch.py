"""Options of optimizers in all combinations, beside PyTorch: what is refused, when, and how."""

from __future__ import annotations

import inspect
import itertools
import warnings

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

NAMES = ["SGD", "Adam", "AdamW", "Adadelta", "Adagrad", "Adamax", "ASGD", "NAdam", "RAdam",
    "RMSprop", "Rprop", "Adafactor", "Muon"]  # fmt: skip
FLAGS = ("foreach", "fused", "capturable", "differentiable")
RATES = {
    "number": lambda t: 0.1,
    "tensor": lambda t: t.tensor(0.1),
    "one element": lambda t: t.tensor([0.1]),
    "two elements": lambda t: t.tensor([0.1, 0.2]),
    "negative": lambda t: t.tensor(-0.1),
    "whole": lambda t: 1,
}


def outcome(t, name, make):
    """Where the parameter is after two steps, or how it failed."""
    weight = t.tensor([[0.5, -1.0], [2.0, 3.0]])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            optimizer = getattr(t.optim, name)([weight], **make(t))
            for _ in range(2):
                weight.grad = t.tensor([[1.0, -2.0], [0.5, 0.25]])
                optimizer.step()
    except Exception as raised:
        return type(raised).__name__, str(raised).split("\n")[0]
    return weight.numpy()


def same(name, make):
    ours, theirs = outcome(retrograd, name, make), outcome(torch, name, make)
    if isinstance(theirs, tuple) or isinstance(ours, tuple):
        assert isinstance(theirs, tuple) and isinstance(ours, tuple), (ours, theirs)
        assert ours == theirs
    else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def flags_of(name):
    known = inspect.signature(getattr(torch.optim, name).__init__).parameters
    return [flag for flag in FLAGS if flag in known]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", NAMES)
def test_implementations_and_rates(name, rate):
    flags = flags_of(name)
    for chosen in itertools.product([False, True], repeat=len(flags)):
        given = {flag: value for flag, value in zip(flags, chosen, strict=True) if value}
        same(name, lambda t, given=given: {"lr": RATES[rate](t), **given})


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("name", NAMES)
def test_flags_that_are_not_options(name, flag):
    theirs = outcome(torch, name, lambda t: {flag: True})
    if isinstance(theirs, tuple) and theirs[0] == "TypeError":
        assert outcome(retrograd, name, lambda t: {flag: True}) == theirs
    else:
        assert flag in inspect.signature(getattr(retrograd.optim, name).__init__).parameters


BETAS = {
    "tensors": lambda t: (t.tensor(0.8), t.tensor(0.9)),
    "one element": lambda t: (t.tensor([0.8]), t.tensor([0.9])),
    "mixed": lambda t: (0.8, t.tensor(0.9)),
    "two elements": lambda t: (t.tensor([0.8, 0.7]), t.tensor([0.9, 0.9])),
    "whole": lambda t: (0, 0),
    "too large": lambda t: (0.9, 1.0),
    "negative": lambda t: (-0.1, 0.9),
}


@pytest.mark.parametrize("betas", BETAS)
@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_betas(name, betas):
    for options in ({}, {"foreach": True}, {"fused": True}, {"capturable": True}):
        same(name, lambda t, options=options: {"betas": BETAS[betas](t), **options})


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad", "AdamW"])
def test_options_of_a_group(name):
    """Options that a group brings are checked when it steps."""

    def found(t, option):
        weight = t.ones(2)
        weight.grad = t.ones(2)
        try:
            optimizer = getattr(t.optim, name)([{"params": [weight], option: True}])
            optimizer.step()
        except Exception as raised:
            return type(raised).__name__, str(raised).split("\n")[0]
        return weight.tolist()

    for option in flags_of(name):
        ours, theirs = found(retrograd, option), found(torch, option)
        assert ours == theirs if isinstance(theirs, tuple) else np.allclose(ours, theirs)
