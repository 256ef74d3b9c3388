"""Convolution layers beside PyTorch's."""

from __future__ import annotations

import re

import numpy as np
import pytest

import retrograd
from tests.nn.beside import Case, compare, make, same, same_error

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

LAYERS = [
    ("Conv1d", (2, 4, 3), {}, (3, 2, 8)),
    ("Conv1d", (2, 4, 3), {}, (2, 8)),
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1, "groups": 2, "bias": False}, (2, 4, 9)),
    ("Conv1d", (2, 3, 4), {"padding": "same", "dilation": 2}, (2, 2, 9)),
    ("Conv1d", (2, 3, 4), {"padding": "same", "padding_mode": "reflect"}, (2, 2, 9)),
    ("Conv1d", (2, 3, (3,)), {"padding": [2], "padding_mode": "circular"}, (2, 2, 6)),
    ("Conv2d", (3, 4, 3), {}, (2, 3, 6, 7)),
    ("Conv2d", (3, 4, 1), {}, (2, 3, 5, 5)),
    ("Conv2d", (2, 3, (3, 2)), {"stride": (2, 1), "padding": (1, 0)}, (2, 2, 7, 6)),
    ("Conv2d", (2, 4, 3), {"padding": "valid", "dilation": (1, 2)}, (2, 2, 6, 7)),
    ("Conv2d", (2, 4, (2, 3)), {"padding": "same"}, (2, 2, 5, 6)),
    ("Conv2d", (4, 8, 3), {"groups": 4, "padding": 1}, (4, 5, 5)),
    ("Conv2d", (2, 2, 3), {"padding": (1, 2), "padding_mode": "reflect"}, (1, 2, 5, 6)),
    ("Conv2d", (2, 2, 3), {"padding": 1, "padding_mode": "replicate"}, (2, 2, 4, 5)),
    ("Conv2d", (2, 2, 3), {"padding": (2, 1), "padding_mode": "circular"}, (2, 2, 4, 5)),
    ("Conv2d", (2, 2, 3), {"padding": "valid", "padding_mode": "circular"}, (2, 2, 4, 5)),
    ("Conv2d", (2, 2, (2, 3)), {"padding": "same", "padding_mode": "circular"}, (2, 2, 4, 5)),
    ("Conv3d", (2, 3, 2), {}, (2, 2, 3, 4, 3)),
    ("Conv3d", (2, 2, (1, 2, 3)), {"stride": (1, 2, 1), "padding": (0, 1, 1)}, (1, 2, 3, 4, 4)),
    ("Conv3d", (2, 2, 2), {"padding": "same", "padding_mode": "replicate"}, (1, 2, 3, 3, 4)),
    ("Conv3d", (2, 4, 2), {"groups": 2, "dilation": 2, "bias": False}, (2, 3, 4, 4)),
    ("ConvTranspose1d", (2, 4, 3), {"stride": 2}, (3, 2, 5)),
    ("ConvTranspose1d", (4, 2, 3), {"stride": 3, "output_padding": 1, "groups": 2}, (4, 5)),
    ("ConvTranspose2d", (3, 2, 3), {}, (2, 3, 4, 3)),
    (
        "ConvTranspose2d",
        (2, 4, (3, 2)),
        {"stride": (2, 3), "padding": (1, 0), "output_padding": (1, 2), "dilation": (2, 1)},
        (2, 2, 3, 4),
    ),
    ("ConvTranspose2d", (4, 4, 2), {"groups": 4, "bias": False}, (4, 3, 3)),
    ("ConvTranspose3d", (2, 3, 2), {"stride": 2, "output_padding": (1, 0, 1)}, (1, 2, 2, 3, 2)),
]


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths:UserWarning")
@pytest.mark.parametrize(("name", "args", "options", "shape"), LAYERS)
def test_layers(name, args, options, shape):
    compare(torch, Case(name, args, options, (shape,)))


def test_attributes():
    for name in ("Conv2d", "ConvTranspose2d"):
        ours, theirs = (
            make(t, name, (2, 4, 3), {"stride": 2, "padding": (1, 2)}) for t in (retrograd, torch)
        )
        for attribute in (
            "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation",
            "transposed", "output_padding", "groups", "padding_mode",
            "_reversed_padding_repeated_twice",
        ):  # fmt: skip
            assert getattr(ours, attribute) == getattr(theirs, attribute), attribute


@pytest.mark.parametrize("size", [(7,), (8,), [2, 3, 8], (3, 8)])
def test_output_size(size):
    array = np.random.default_rng(0).normal(size=(2, 2, 4) if len(size) != 2 else (2, 4))
    results = []
    for t in (retrograd, torch):
        layer = make(t, "ConvTranspose1d", (2, 3, 3), {"stride": 2, "padding": 1}).double()
        results.append(layer(t.tensor(array), output_size=size))
    same(*results, rtol=1e-6, atol=1e-7)


ERRORS = {
    "no groups": lambda t: t.nn.Conv2d(4, 4, 3, groups=0),
    "groups of inputs": lambda t: t.nn.Conv2d(3, 4, 3, groups=2),
    "groups of outputs": lambda t: t.nn.ConvTranspose2d(4, 3, 3, groups=2),
    "strided same": lambda t: t.nn.Conv2d(3, 4, 3, stride=2, padding="same"),
    "transposed mode": lambda t: t.nn.ConvTranspose1d(2, 2, 3, padding_mode="reflect"),
    "channels": lambda t: t.nn.Conv2d(3, 4, 3)(t.zeros(2, 5, 6, 6)),
    "dimensions": lambda t: t.nn.Conv2d(3, 4, 3)(t.zeros(5, 6)),
    "too small": lambda t: t.nn.Conv2d(3, 4, 3)(t.zeros(1, 3, 2, 2)),
    "output size": lambda t: t.nn.ConvTranspose1d(2, 3, 3, stride=2)(
        t.zeros(1, 2, 4), output_size=(20,)
    ),
    "output sizes": lambda t: t.nn.ConvTranspose2d(2, 3, 3, stride=2)(
        t.zeros(1, 2, 4, 4), output_size=(20,)
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    same_error(torch, ERRORS[case])


def test_strings_that_mean_nothing():
    """PyTorch prints a set here, whose order changes from run to run."""
    for options in ({"padding": "wide"}, {"padding_mode": "mirror"}):
        texts = []
        for t in (retrograd, torch):
            with pytest.raises(ValueError) as caught:
                t.nn.Conv2d(1, 1, 1, **options)
            texts.append(sorted(re.findall(r"[\w=']+", str(caught.value))))
        assert texts[0] == texts[1]
