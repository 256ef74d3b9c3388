"""Initialisers beside PyTorch's: the same seed draws the same values."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd
from tests.nn.beside import same, same_error

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

MATRIX, KERNEL = (5, 7), (4, 3, 3, 2)
EXACT = [
    ("uniform_", MATRIX, (), {}),
    ("uniform_", MATRIX, (-2.0, 3.0), {}),
    ("normal_", MATRIX, (1.0, 0.5), {}),
    ("constant_", MATRIX, (0.3,), {}),
    ("ones_", MATRIX, (), {}),
    ("zeros_", MATRIX, (), {}),
    ("eye_", MATRIX, (), {}),
    ("eye_", (4, 2), (), {}),
    ("dirac_", (3, 3, 4), (), {}),
    ("dirac_", KERNEL, (2,), {}),
    ("dirac_", (6, 2, 3, 3, 2), (), {"groups": 3}),
    ("xavier_uniform_", MATRIX, (), {}),
    ("xavier_uniform_", KERNEL, (2.0,), {}),
    ("xavier_normal_", KERNEL, (), {"gain": 0.5}),
    ("kaiming_uniform_", KERNEL, (), {}),
    ("kaiming_uniform_", MATRIX, (0.2, "fan_out"), {}),
    ("kaiming_normal_", KERNEL, (), {"mode": "FAN_OUT", "nonlinearity": "relu"}),
    ("kaiming_normal_", MATRIX, (), {"nonlinearity": "selu"}),
    ("trunc_normal_", (40, 11), (), {}),
    ("trunc_normal_", (40, 11), (0.5, 2.0, -1.0, 4.0), {}),
    ("trunc_normal_", (40, 11), (), {"a": 1.0, "b": 3.0}),
    ("trunc_normal_", (40, 11), (), {"std": 0.02}),
    ("sparse_", (10, 4), (0.3,), {}),
    ("sparse_", (10, 4), (0.55, 2.0), {}),
]
ROUNDED = [
    ("orthogonal_", (5, 7), (), {}),
    ("orthogonal_", (7, 5), (), {"gain": 2.0}),
    ("orthogonal_", (4, 3, 2), (), {}),
    ("orthogonal_", (4, 4), (), {}),
]


def filled(t, name, shape, args, options, dtype="float32"):
    t.manual_seed(13)
    tensor = t.empty(shape, dtype=getattr(t, dtype), requires_grad=True)
    result = getattr(t.nn.init, name)(tensor, *args, **options)
    assert result is tensor
    assert tensor.is_leaf
    # What is drawn next shows that as many numbers were used.
    return tensor, t.rand(3)


@pytest.mark.parametrize(("name", "shape", "args", "options"), EXACT)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_same_values(name, shape, args, options, dtype):
    ours, theirs = (filled(t, name, shape, args, options, dtype) for t in (retrograd, torch))
    for mine, real in zip(ours, theirs, strict=True):
        same(mine, real, rtol=0, atol=0)


@pytest.mark.parametrize(("name", "shape", "args", "options"), ROUNDED)
@pytest.mark.parametrize(("dtype", "close"), [("float32", 2e-6), ("float64", 1e-14)])
def test_same_values_to_rounding(name, shape, args, options, dtype, close):
    ours, theirs = (filled(t, name, shape, args, options, dtype) for t in (retrograd, torch))
    same(ours[0], theirs[0], rtol=0, atol=close)
    same(ours[1], theirs[1], rtol=0, atol=0)


@pytest.mark.parametrize("name", ["uniform_", "xavier_normal_", "kaiming_uniform_",
                                  "trunc_normal_", "orthogonal_"])  # fmt: skip
def test_generator_is_used(name):
    drawn = []
    for t in (retrograd, torch):
        source = t.Generator().manual_seed(21)
        drawn.append(getattr(t.nn.init, name)(t.empty(6, 4), generator=source))
    same(*drawn, rtol=0, atol=2e-6 if name == "orthogonal_" else 0)


def test_strided_tensor():
    drawn = []
    for t in (retrograd, torch):
        t.manual_seed(3)
        whole = t.zeros(30, 8)
        t.nn.init.trunc_normal_(whole.t(), a=-0.8, b=0.8)
        drawn.append(whole)
    same(*drawn, rtol=0, atol=0)


GAINS = [("linear", None), ("conv2d", None), ("conv_transpose3d", None), ("sigmoid", None),
         ("tanh", None), ("relu", None), ("leaky_relu", None), ("leaky_relu", 0.2),
         ("leaky_relu", 1), ("selu", None)]  # fmt: skip


@pytest.mark.parametrize(("nonlinearity", "param"), GAINS)
def test_gains(nonlinearity, param):
    ours, theirs = (t.nn.init.calculate_gain(nonlinearity, param) for t in (retrograd, torch))
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize(
    ("name", "args"),
    [("uniform", ()), ("normal", ()), ("constant", (2.0,)), ("eye", ()), ("xavier_uniform", ()),
     ("xavier_normal", ()), ("kaiming_uniform", ()), ("kaiming_normal", ()), ("orthogonal", ()),
     ("sparse", (0.5,))],
)  # fmt: skip
def test_old_names(name, args):
    messages, drawn = [], []
    for t in (retrograd, torch):
        t.manual_seed(1)
        with pytest.warns(FutureWarning) as seen:
            drawn.append(getattr(t.nn.init, name)(t.empty(3, 3), *args))
        messages.append(str(seen[0].message))
        assert seen[0].filename == __file__
        assert getattr(t.nn.init, name).__name__ == name
    assert messages[0] == messages[1]
    same(*drawn, rtol=0, atol=1e-6 if name == "orthogonal" else 0)


WARNINGS = {
    "no elements, uniform": lambda t: t.nn.init.kaiming_uniform_(t.empty(0, 3)),
    "no elements, normal": lambda t: t.nn.init.kaiming_normal_(t.empty(3, 0)),
    "far bounds": lambda t: t.nn.init.trunc_normal_(t.empty(3), mean=4.5, a=-1.0, b=2.0),
}


@pytest.mark.parametrize("act", WARNINGS.values(), ids=WARNINGS)
def test_warnings(act):
    messages = []
    for t in (retrograd, torch):
        with pytest.warns(UserWarning) as seen:
            act(t)
        messages.append([str(w.message) for w in seen])
        if t is retrograd:
            assert [w.filename for w in seen] == [__file__]
    assert messages[0] == messages[1]


ERRORS = {
    "fans of a vector": lambda t: t.nn.init.xavier_uniform_(t.empty(3)),
    "kaiming mode": lambda t: t.nn.init.kaiming_uniform_(t.empty(3, 3), mode="Sideways"),
    "kaiming name": lambda t: t.nn.init.kaiming_normal_(t.empty(3, 3), nonlinearity="gelu"),
    "slope": lambda t: t.nn.init.calculate_gain("leaky_relu", True),
    "eye rank": lambda t: t.nn.init.eye_(t.empty(3)),
    "dirac rank": lambda t: t.nn.init.dirac_(t.empty(3, 3)),
    "dirac groups": lambda t: t.nn.init.dirac_(t.empty(3, 3, 3), 2),
    "orthogonal rank": lambda t: t.nn.init.orthogonal_(t.empty(3)),
    "sparse rank": lambda t: t.nn.init.sparse_(t.empty(3), 0.1),
}


@pytest.mark.parametrize("build", ERRORS.values(), ids=ERRORS)
def test_errors(build):
    same_error(torch, build)


def test_nothing_of_the_public_names_is_missing():
    wanted = [n for n in torch.nn.init.__dict__ if n[0].islower() and callable(
        torch.nn.init.__dict__[n])]  # fmt: skip
    assert len(wanted) > 25
    assert [n for n in wanted if not hasattr(retrograd.nn.init, n)] == []


def test_values_stay_inside_the_bounds_in_low_precision():
    drawn = retrograd.nn.init.trunc_normal_(retrograd.empty(500, dtype=retrograd.bfloat16), b=0.3)
    assert float(drawn.max()) <= float(retrograd.tensor(0.3, dtype=retrograd.bfloat16))
    assert np.isfinite(drawn.float().numpy()).all()
