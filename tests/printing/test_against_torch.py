"""Printed tensors compared, character for character, with real PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies
from ml_dtypes import bfloat16

from retrograd.tensors import printing

pytestmark = pytest.mark.torch

FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8")
DTYPES = (*FLOATS, *COMPLEX, *INTEGERS, "bool")

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"precision": 0},
    {"precision": 8},
    {"sci_mode": True},
    {"sci_mode": False},
    {"sci_mode": True, "precision": 1},
    {"linewidth": 1},
    {"linewidth": 40},
    {"linewidth": 131},
    {"threshold": 5},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 5, "edgeitems": 0},
    {"threshold": 0, "edgeitems": 4, "linewidth": 33},
    {"threshold": -1, "edgeitems": 2},
    {"profile": "short"},
    {"profile": "full"},
    {"profile": "full", "edgeitems": 0},
)


@pytest.fixture(autouse=True)
def restored_options() -> Iterator[None]:
    yield
    set_both(profile="default")


def set_both(**options: Any) -> None:
    torch.set_printoptions(**options)
    printing.set_printoptions(**options)


def as_torch(array: numpy.ndarray) -> Any:
    if array.dtype == bfloat16:
        return torch.from_numpy(array.astype(numpy.float32)).to(torch.bfloat16)
    return torch.from_numpy(numpy.array(array))


def cast(values: numpy.ndarray, name: str) -> numpy.ndarray:
    """Values of any range as the named dtype; what does not fit an integer is clipped."""
    with numpy.errstate(all="ignore"):
        if name == "bool":
            return numpy.asarray(values != 0)
        if name in INTEGERS:
            limits = numpy.iinfo(name)
            finite = numpy.nan_to_num(values.astype(numpy.float64), posinf=1e18, neginf=-1e18)
            whole = numpy.clip(finite, -1e18, 1e18).astype(numpy.int64)
            return numpy.asarray(numpy.clip(whole, limits.min, limits.max).astype(name))
        return numpy.asarray(values.astype(bfloat16 if name == "bfloat16" else name))


def as_complex(real: numpy.ndarray, imaginary: numpy.ndarray) -> numpy.ndarray:
    """The two parts joined; ``real + 1j * imaginary`` would spoil infinities and signed zeros."""
    joined = numpy.empty(numpy.shape(real), numpy.complex128)
    joined.real = real
    joined.imag = imaginary
    return joined


def check(array: numpy.ndarray) -> None:
    """The array prints the same as a constant, as a leaf and as a result."""
    name = array.dtype.name
    tensor = as_torch(array)
    assert printing.format_tensor(array, dtype_name=name) == repr(tensor)
    if tensor.is_floating_point() or tensor.is_complex():
        leaf = tensor.requires_grad_()
        assert printing.format_tensor(array, dtype_name=name, requires_grad=True) == repr(leaf)
        result = printing.format_tensor(
            array, dtype_name=name, requires_grad=True, grad_fn_name="CloneBackward0"
        )
        assert result == repr(leaf.clone())


def grid_values(shape: tuple[int, ...]) -> list[numpy.ndarray]:
    """One array for each range of numbers that is printed in its own way."""
    generator = numpy.random.default_rng(20)
    special = [numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0]
    borders = [1.0, -2.0, 0.5, 1000.0, 1001.0, 1e8, 1e-4, 9.99999, 99999.99999, 100.0]
    normal = generator.standard_normal(shape)
    count = int(numpy.prod(shape))
    return [
        normal,
        normal * 1e-6,
        normal * 1e9,
        normal * 10.0 ** generator.integers(-9, 9, shape),
        numpy.asarray(numpy.round(normal * 50)),
        numpy.asarray(numpy.round(normal * 1e6)),
        numpy.zeros(shape),
        generator.choice(special, shape),
        numpy.where(generator.random(shape) < 0.4, normal, generator.choice(special, shape)),
        generator.choice(borders, shape),
        numpy.arange(count, dtype=numpy.float64).reshape(shape),
    ]


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (30,), (3, 5), (2, 3, 4), (2, 1, 2, 3)], ids=str)
def test_grid(name: str, shape: tuple[int, ...]) -> None:
    arrays = grid_values(shape)
    for real, imaginary in zip(arrays, [*arrays[3:], *arrays[:3]], strict=True):
        check(cast(as_complex(real, imaginary) if name in COMPLEX else real, name))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", ["float32", "bfloat16", "complex128", "int64", "bool"])
def test_grid_of_options(name: str, options: dict[str, Any]) -> None:
    set_both(**options)
    assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
    for shape in [(), (0,), (4, 0), (6,), (25,), (2, 9), (9, 2), (3, 4, 5), (1, 8)]:
        arrays = grid_values(shape)
        for real, imaginary in zip(arrays, reversed(arrays), strict=True):
            check(cast(as_complex(real, imaginary) if name in COMPLEX else real, name))


@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "int64", "bool"])
@pytest.mark.parametrize(
    "shape",
    [(1000,), (1001,), (40, 40), (3, 20, 20), (2, 3, 200), (3, 20, 2, 10), (501, 2), (7, 7, 7, 7)],
    ids=str,
)
@pytest.mark.parametrize("profile", ["default", "short"])
def test_summarised(name: str, shape: tuple[int, ...], profile: str) -> None:
    set_both(profile=profile)
    arrays = grid_values(shape)
    for values in (arrays[0], arrays[4], arrays[-1]):
        check(cast(values, name))


def test_only_printed_entries_decide_the_notation() -> None:
    values = numpy.ones((30, 50), numpy.float32)
    values[10, 10] = 1e-12
    check(values)


def test_every_length_of_a_line_and_its_suffixes() -> None:
    """Where lines and suffixes wrap, at each column."""
    for count, name in itertools.product(range(1, 45), ["float32", "float64", "complex128"]):
        check(cast(numpy.ones(count), name))
        check(cast(numpy.ones((2, count)), name))
    for linewidth in range(1, 100):
        set_both(linewidth=linewidth)
        check(numpy.arange(12.0).reshape(2, 6))
        check(numpy.array(1.5))


@pytest.mark.parametrize("default_name", ["float16", "bfloat16", "float32", "float64"])
def test_default_dtypes_go_without_saying(default_name: str) -> None:
    default_complex = "complex128" if default_name == "float64" else "complex64"
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default_name))
    try:
        for name, shape in itertools.product(DTYPES, [(), (2,), (0,), (0, 2)]):
            array = cast(numpy.ones(shape), name)
            text = printing.format_tensor(
                array,
                dtype_name=name,
                default_float=default_name,
                default_complex=default_complex,
            )
            assert text == repr(as_torch(array))
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8"])
def test_integer_limits(name: str) -> None:
    limits = numpy.iinfo(name)
    check(numpy.array([limits.min, 0, 1, limits.max], dtype=name))


@pytest.mark.parametrize("name", FLOATS)
def test_float_limits(name: str) -> None:
    limits = torch.finfo(getattr(torch, name))
    for number in (limits.max, limits.min, limits.tiny, limits.eps, limits.smallest_normal / 4):
        check(cast(numpy.array(number), name))
        check(cast(numpy.array([number, 1.0]), name))


def test_subclass_prefix() -> None:
    class Wave(torch.Tensor):
        pass

    for shape in [(2, 3), (0, 2), (30,), ()]:
        array = numpy.linspace(0, 1, int(numpy.prod(shape))).reshape(shape)
        expected = repr(torch.from_numpy(array).as_subclass(Wave))
        assert printing.format_tensor(array, dtype_name="float64", prefix="Wave(") == expected


def test_parameter_and_size() -> None:
    values = numpy.ones((2, 3), numpy.float32)
    text = printing.format_tensor(values, dtype_name="float32", requires_grad=True)
    assert printing.format_parameter(text) == repr(torch.nn.Parameter(torch.ones(2, 3)))
    for shape in [(), (1,), (2, 3)]:
        assert printing.format_size(shape) == repr(torch.Size(shape))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, on first use
def test_forward_mode_tangent_comes_last() -> None:
    forward_ad = torch.autograd.forward_ad
    values = numpy.linspace(0, 1, 6).reshape(3, 2)
    tensor = torch.from_numpy(values)
    with forward_ad.dual_level():
        expected = repr(forward_ad.make_dual(tensor, tensor * 3))
    tangent = printing.format_tensor(values * 3, dtype_name="float64")
    text = printing.format_tensor(values, dtype_name="float64", extra=[f"tangent={tangent}"])
    assert text == expected


@pytest.mark.parametrize("spec", ["", ".3f", "d", "10.2e", ">12", "s", "+", "nonsense"])
@pytest.mark.parametrize(
    "array",
    [
        numpy.array(1.1, numpy.float32),
        numpy.array(1.1, bfloat16),
        numpy.array(1.1),
        numpy.array(3),
        numpy.array(True),
        numpy.array(1 + 2j, numpy.complex64),
    ],
    ids=lambda array: array.dtype.name,
)
def test_format_of_a_scalar(array: numpy.ndarray, spec: str) -> None:
    try:
        expected = format(as_torch(array), spec)
    except ValueError as error:
        with pytest.raises(ValueError) as caught:
            printing.format_scalar_spec(array, spec)
        assert str(caught.value) == str(error)
    else:
        assert printing.format_scalar_spec(array, spec) == expected


@pytest.mark.parametrize(
    ("array", "class_name", "tensor"),
    [
        (numpy.ones(1), "Tensor", torch.ones(1)),
        (numpy.ones((2, 2)), "Tensor", torch.ones(2, 2)),
        (numpy.array(1.0), "Parameter", torch.nn.Parameter(torch.tensor(1.0))),
    ],
)
def test_format_is_for_plain_scalars(array: numpy.ndarray, class_name: str, tensor: Any) -> None:
    with pytest.raises(TypeError) as expected:
        format(tensor, ".2f")
    with pytest.raises(TypeError) as caught:
        printing.format_scalar_spec(array, ".2f", class_name=class_name)
    assert str(caught.value) == str(expected.value)


def test_sequences_of_options_agree() -> None:
    steps: list[dict[str, Any]] = [
        {"precision": 2, "sci_mode": True},
        {"precision": 3},
        {"profile": "full"},
        {"profile": "short", "precision": 7},
        {"profile": "FULL"},
        {"profile": "unknown"},
        {"linewidth": 20, "edgeitems": 0, "threshold": 2},
        {"sci_mode": False},
        {"profile": "default"},
    ]
    for step in steps:
        set_both(**step)
        assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
        with printing.printoptions(edgeitems=1), torch._tensor_str.printoptions(edgeitems=1):
            assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
        assert printing.get_printoptions() == torch._tensor_str.get_printoptions()


# Numbers that often fall on the two sides of a rule about notation or width.
telling_floats = st.one_of(
    st.floats(width=32),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, 1e-4, 9.9e-5, 1e8, 1.00001e8, 999.5, 1000.0, 1001.0]),
    st.integers(-2000, 2000).map(float),
    st.floats(-100, 100),
)
shapes = numpy_strategies.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6)
print_options = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 10),
        "threshold": st.integers(-1, 40),
        "edgeitems": st.integers(0, 4),
        "linewidth": st.integers(1, 120),
        "sci_mode": st.sampled_from([None, True, False]),
        "profile": st.sampled_from(["default", "short", "full"]),
    },
)


@settings(max_examples=250, deadline=None, derandomize=True)
@given(
    values=numpy_strategies.arrays(numpy.float64, shapes, elements=telling_floats),
    name=st.sampled_from(DTYPES),
    options=print_options,
)
def test_any_array_with_any_options(
    values: numpy.ndarray, name: str, options: dict[str, Any]
) -> None:
    set_both(profile="default")
    set_both(**options)
    if name in COMPLEX:
        values = as_complex(values, numpy.flip(values))
    check(cast(values, name))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    values=numpy_strategies.arrays(
        numpy.int64, shapes, elements=st.integers(-(2**63), 2**63 - 1) | st.integers(-99, 999)
    ),
    options=print_options,
)
def test_any_integers_with_any_options(values: numpy.ndarray, options: dict[str, Any]) -> None:
    set_both(profile="default")
    set_both(**options)
    check(values)
