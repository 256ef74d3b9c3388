"""`torch.testing` in both libraries: the same verdicts, the same words, the same numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

NAN = float("nan")
CASES = [
    lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.0])),
    lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.0 + 1e-7])),
    lambda t: (t.tensor([1.0, 2.0, 3.0]), t.tensor([1.0, 2.5, 2.0])),
    lambda t: (t.tensor([[1, 2], [3, 4]]), t.tensor([[1, 2], [0, 4]])),
    lambda t: (t.tensor([True, False]), t.tensor([True, True])),
    lambda t: (t.tensor(1.0), t.tensor(2.0)),
    lambda t: (t.tensor(1), t.tensor(2)),
    lambda t: (t.tensor([0.0, 1.0]), t.tensor([0.0, 0.0])),
    lambda t: (t.tensor([1 + 1j]), t.tensor([1 + 2j])),
    lambda t: (t.tensor([NAN]), t.tensor([NAN])),
    lambda t: (t.tensor([1.0, NAN]), t.tensor([2.0, NAN])),
    lambda t: (t.zeros(2), t.zeros(3)),
    lambda t: (t.zeros(2), t.zeros(2, dtype=t.float64)),
    lambda t: (t.zeros(2, 3), t.zeros(3, 2).t()),
    lambda t: (t.zeros(2, dtype=t.float16), t.full((2,), 1e-3, dtype=t.float16)),
    lambda t: (t.zeros(2, dtype=t.bfloat16), t.ones(2, dtype=t.bfloat16)),
    lambda t: ([t.zeros(2), t.ones(2)], [t.zeros(2), t.zeros(2)]),
    lambda t: ([1.0, [2.0, 3.0]], [1.0, [2.0, 4.0]]),
    lambda t: ([1.0], [1.0, 2.0]),
    lambda t: ({"a": 1.0, "b": t.ones(1)}, {"a": 1.0, "b": t.zeros(1)}),
    lambda t: ({"a": 1.0}, {"b": 1.0}),
    lambda t: (1, 1.0),
    lambda t: (1, 2),
    lambda t: (1.0, 1.0 + 1e-9),
    lambda t: (1j, 2j),
    lambda t: (True, False),
    lambda t: (None, 1),
    lambda t: (None, None),
    lambda t: ("a", "a"),
    lambda t: (1.0, t.tensor(1.0)),
    lambda t: (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
    lambda t: (np.float32(1), np.float64(2)),
    lambda t: (t.tensor([3], dtype=t.uint16), t.tensor([4], dtype=t.uint16)),
]
OPTIONS = [
    {},
    {"rtol": 0.0, "atol": 0.0},
    {"rtol": 0.1, "atol": 0.5},
    {"rtol": 0.1},
    {"atol": 0.1},
    {"equal_nan": True},
    {"check_dtype": False},
    {"check_stride": True},
    {"msg": "my words"},
    {"msg": lambda text: f"before: {text}"},
]


def verdict(library, case, options):
    try:
        library.testing.assert_close(*case(library), **options)
    except Exception as error:
        return type(error).__name__, str(error)
    return "close"


@pytest.mark.parametrize("options", range(len(OPTIONS)))
@pytest.mark.parametrize("case", range(len(CASES)))
def test_assert_close(case, options):
    chosen = CASES[case], OPTIONS[options]
    ours, theirs = (verdict(library, *chosen) for library in (retrograd, torch))
    ours = repr(ours).replace("retrograd.tensor.Tensor", "torch.Tensor")
    assert ours == repr(theirs)


@pytest.mark.parametrize(
    "case",
    [
        lambda t: ([1.0, 2.0], [1.0, 2.00001]),
        lambda t: (t.ones(2), 1.0),
        lambda t: (t.ones(2), t.ones(2, dtype=t.float64) + 1e-3),
        lambda t: (t.tensor([1, 2]), [1, 3]),
    ],
)
def test_assert_allclose(case):
    seen = []
    for library in (retrograd, torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                library.testing.assert_allclose(*case(library))
                seen.append("close")
            except AssertionError as error:
                seen.append(str(error))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("kind", ["float32", "float64", "int64", "uint8", "bool", "complex64"])
@pytest.mark.parametrize(
    "options",
    [{}, {"low": 1, "high": 2.5}, {"noncontiguous": True}, {"exclude_zero": True}],
    ids=str,
)
def test_make_tensor(kind, options):
    if kind == "uint8" and "low" not in options:
        options = {**options, "low": 0}
    made = []
    for library in (retrograd, torch):
        library.manual_seed(3)
        dtype = getattr(library, kind)
        made.append(library.testing.make_tensor(4, 5, dtype=dtype, device="cpu", **options))
    ours, theirs = made
    assert ours.stride() == theirs.stride()
    assert str(ours.dtype) == str(theirs.dtype)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize(
    "options",
    [
        {"low": 3, "high": 2},
        {"low": NAN},
        {"requires_grad": True, "dtype": "int64"},
        {"low": 300, "high": 400, "dtype": "uint8"},
    ],
    ids=str,
)
def test_make_tensor_refuses(options):
    texts = []
    for library in (retrograd, torch):
        named = {"dtype": "float32", **options}
        named["dtype"] = getattr(library, named["dtype"])
        with pytest.raises(ValueError) as caught:
            library.testing.make_tensor(2, device="cpu", **named)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
