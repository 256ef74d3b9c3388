"""Elementwise kernels written from declarations, run on the CPU beside the neutral ones."""

from __future__ import annotations

import shutil

import ml_dtypes
import numpy as np
import pytest

from retrograd.backend import CPU
from retrograd.backend.cuda.overrides import elementwise
from retrograd.backend.device import KERNELS
from tests.cuda.on_the_host import HostArray, HostFunction

pytestmark = [
    pytest.mark.slow,  # a C++ compiler runs for each kernel
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler"),
]
random = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setattr(elementwise.launch, "function_of", HostFunction)
    monkeypatch.setattr(elementwise.launch, "THREADS", 32)


class Host:
    array = HostArray


def called(name, *operands, **options):
    """An op by its written kernel, and the ways that its kernels go over memory."""
    op = elementwise.Elementwise(name, Host)
    given = [HostArray.of(o) if isinstance(o, np.ndarray) else o for o in operands]
    return op(None, *given, **options).held, [plan.way.layout for plan in op.plans.values()]


def agree(name, *operands, **options):
    found, layouts = called(name, *operands, **options)
    halves = [o for o in operands if getattr(o, "dtype", None) in ("float16", ml_dtypes.bfloat16)]
    wide = [o.astype(np.float32) if any(o is h for h in halves) else o for o in operands]
    with np.errstate(all="ignore"):
        wanted = np.asarray(KERNELS[name][0](CPU.xp, *wide, **options))
    if halves and wanted.dtype == np.float32:
        wanted = wanted.astype(halves[0].dtype)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    tolerance = {2: 1e-2, 4: 2e-6, 8: 1e-12}.get(wanted.dtype.itemsize, 0)
    wide_found, wide_wanted = found.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_allclose(wide_found, wide_wanted, rtol=tolerance, atol=tolerance)
    return layouts[0]


def values(*shape, kind="float32"):
    found = random.standard_normal(shape)
    if found.size > 20:
        found.flat[:5] = [np.nan, np.inf, -np.inf, 0.0, -0.0]
    return found.astype(kind)


@pytest.mark.parametrize(
    "shapes, dims, width, moves",
    [
        [[(5, 7), (5, 7)], 1, 4, "vv"],
        [[(5, 8), (8,)], 2, 4, "vv"],
        [[(5, 7), (7,)], 2, 1, "vv"],
        [[(5, 8), (5, 1)], 2, 4, "vb"],
        [[(3, 4, 8), (4, 1)], 3, 4, "vb"],
        [[(4, 5), ()], 1, 4, "vb"],
        [[(2, 1, 3, 1), (5, 1, 4)], 4, 4, "bv"],
        [[(1, 1), (1,)], 1, 1, "bb"],
        [[(0, 3), (3,)], 2, 1, "bv"],
    ],
)
def test_operands_are_broadcast(shapes, dims, width, moves):
    layout = agree("add", *[values(*shape) for shape in shapes])
    assert layout == (dims, width, moves, True)


def test_dimensions_are_taken_as_they_lie():
    turned = values(6, 8).T
    assert agree("mul", turned, turned).dims == 1
    assert agree("mul", turned, values(8, 6)).moves == "vs"
    assert agree("add", values(4, 5, 6)[:, ::2], values(4, 1, 6)).dims == 3
    assert agree("add", values(30)[1:], values(29)).width == 1  # its address is that of no group
    assert agree("mul", values(2, 3, 4, 5).transpose(0, 2, 3, 1), values(3)).dims >= 2
    assert agree("add", values(40)[::-2], values(20)).moves == "sv"


@pytest.mark.parametrize("kind, width", [("float64", 2), ("float16", 8), (ml_dtypes.bfloat16, 8)])
def test_groups_are_as_wide_as_a_load(kind, width):
    x = values(37, kind=kind)
    assert agree("mul", x, x).width == width
    assert agree("exp", x).width == width


SINGLE = """
    abs ceil cos erf exp expm1 floor hardsigmoid hardswish isfinite isinf isnan log log1p log2
    logsigmoid mish neg reciprocal relu round rsqrt sigmoid sign silu sin sqrt tan tanh trunc
""".split()


@pytest.mark.parametrize("name", SINGLE)
def test_functions_of_one(name):
    agree(name, values(33))


def test_numbers_are_given_at_the_launch():
    x = values(33)
    op = elementwise.Elementwise("mul", Host)
    for number in (0.3, 0.7, -5.25):
        found = op(None, HostArray.of(x), number).held
        np.testing.assert_array_equal(found, x * np.float32(number))
    assert len(op.plans) == 1


def test_the_sign_of_zero_counts():
    x = values(4)
    op = elementwise.Elementwise("_copysign_number", Host)
    for number in (0.0, -0.0):
        found = op(None, HostArray.of(x), number).held
        np.testing.assert_array_equal(found, np.copysign(x, number))


@pytest.mark.parametrize(
    "name, numbers, options",
    [
        ["_pow_number", (2.5,), {}],
        ["_pow_number", (3,), {}],
        ["clamp", (-0.3, 0.4), {}],
        ["clamp", (None, 0.4), {}],
        ["elu", (1.5,), {}],
        ["gelu", (), {"approximate": "none"}],
        ["gelu", (), {"approximate": "tanh"}],
        ["hardtanh", (-0.3, 0.4), {}],
        ["leaky_relu", (0.1,), {}],
        ["_remainder_number", (0.3,), {}],
        ["softplus", (1.3, 20.0), {}],
    ],
)
def test_functions_with_numbers(name, numbers, options):
    agree(name, values(33), *numbers, **options)


@pytest.mark.parametrize("name", ["remainder", "floor_divide", "fmod", "atan2", "hypot", "maximum"])
def test_functions_of_two(name):
    one, other = values(40), values(40)
    one, other = np.nan_to_num(one), np.where(np.abs(other) < 0.1, 1, np.nan_to_num(other))
    agree(name, one, other.astype(np.float32))


@pytest.mark.parametrize("name", "add sub mul bitwise_and maximum lt eq".split())
def test_integers(name):
    one, other = random.integers(-9, 9, 20), random.integers(1, 4, 20) * random.choice([-1, 1], 20)
    agree(name, one, other)
    agree(name, one.astype(np.int8), other.astype(np.int8))


def test_gradients_and_choices():
    x, g = values(33), values(33)
    agree("_gelu_gradient", g, x, "none")
    agree("_relu_gradient", g, x)
    agree("_softplus_gradient", g, x, 1.3, 20.0)
    agree("masked_fill", x, g > 0, 0.25)
    agree("addcmul", x, g, x, value=0.3)
    agree("_lerp_number", x, g, 0.3)


def test_what_cannot_be_written_runs_as_the_neutral_kernel():
    x = HostArray.of(values(4))
    seen = []
    op = elementwise.Elementwise("lgamma", Host)
    op.neutral = lambda xp, *given: seen.append(given)
    op(None, x)
    assert len(seen) == 1 and seen[0][0] is x


def test_shapes_that_do_not_fit_raise():
    with pytest.raises(ValueError, match="broadcast"):
        called("add", values(3), values(4))
