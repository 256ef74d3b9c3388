"""The compiled kernels give what their NumPy twins give: the same bits, dtypes and errors."""

import itertools
from typing import Any

import hypothesis.extra.numpy as numpy_strategies
import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

compiled = pytest.importorskip("retrograd.backend.kernels._tiny")
from retrograd.backend.kernels import twins

pytestmark = pytest.mark.kernels

BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum"]
UNARY = ["negative", "square", "sqrt", "exp", "log", "tanh", "sin", "cos"]
FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-42, -5e-324, 3e38, 1e308, 2.0**-149]
OTHER_DTYPES = [np.dtype(name) for name in ("float16", "int64", "int8", "bool", "complex64", ">f4")]


def outcome(function: Any, *arguments: Any) -> Any:
    """What the call gives, in a form that `==` compares exactly: the array's facts or the error."""
    with np.errstate(all="ignore"):
        try:
            result = function(*arguments)
        except Exception as error:
            return type(error), str(error)
    if not isinstance(result, np.ndarray):
        return result
    return result.dtype, result.shape, layout(result), bits(result)


def layout(array: Any) -> tuple[bool, bool]:
    return array.flags.c_contiguous, array.flags.f_contiguous


def bits(array: Any) -> bytes:
    """The bytes of the array, with every nan as the same nan: IEEE 754 leaves its sign open."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return bytes(array.tobytes())


def assert_same(name: str, *arguments: Any) -> None:
    expected = outcome(getattr(twins, name), *arguments)
    assert outcome(getattr(compiled, name), *arguments) == expected


def special_array(generator: np.random.Generator, shape: Any, dtype: np.dtype[Any]) -> Any:
    with np.errstate(over="ignore"):
        return generator.choice(SPECIAL, shape).astype(dtype)


def values(dtype: np.dtype[Any]) -> st.SearchStrategy[Any]:
    if dtype.kind != "f":
        return numpy_strategies.from_dtype(dtype)
    with np.errstate(over="ignore"):
        special = [dtype.type(value) for value in SPECIAL]
    return st.one_of(st.sampled_from(special), numpy_strategies.from_dtype(dtype))


@st.composite
def arrays(draw: st.DrawFn, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An array in one of the memory layouts a program meets."""
    array = draw(numpy_strategies.arrays(dtype, shape, elements=values(dtype)))
    way = draw(st.sampled_from(["plain", "plain", "fortran", "strided", "unaligned", "read-only"]))
    if way == "fortran":
        return np.asfortranarray(array)
    if way == "strided" and array.ndim:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if way == "unaligned":
        raw = np.zeros(array.nbytes + 1, np.uint8)[1:].view(dtype).reshape(array.shape)
        raw[...] = array
        return raw
    if way == "read-only":
        array.flags.writeable = False
    return array


@st.composite
def numbers(draw: st.DrawFn) -> Any:
    """What may stand beside an array: Python numbers and NumPy scalars."""
    wide = st.integers(-(2**70), 2**70)
    small = st.integers(-9, 9)
    python = st.one_of(st.floats(), st.sampled_from(SPECIAL), small, wide, st.booleans())
    number = draw(python)
    kinds: list[Any] = [np.float32, np.float64, np.float16, complex]
    kind = draw(st.sampled_from([None, None, None, *kinds]))
    if kind is None or (isinstance(number, int) and abs(number) > 2**60):
        return number
    with np.errstate(all="ignore"):
        return kind(number)


@st.composite
def operand_pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    shapes = draw(
        numpy_strategies.mutually_broadcastable_shapes(
            num_shapes=2, min_side=0, max_side=5, max_dims=4
        )
    )
    dtype = draw(st.sampled_from([*FLOATS, *FLOATS, *FLOATS, *OTHER_DTYPES]))
    same = draw(st.booleans())
    first_shape, second_shape = shapes.input_shapes
    first = draw(arrays(first_shape, dtype))
    form = draw(st.sampled_from(["same shape", "broadcast", "number"]))
    if form == "number":
        second = draw(numbers())
    else:
        other = dtype if same else draw(st.sampled_from([*FLOATS, *OTHER_DTYPES]))
        second = draw(arrays(first_shape if form == "same shape" else second_shape, other))
    return (first, second) if draw(st.booleans()) else (second, first)


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=120)
@given(pair=operand_pairs())
def test_binary(name: str, pair: tuple[Any, Any]) -> None:
    assert_same(name, *pair)


@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=60)
@given(data=st.data())
def test_unary(name: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([*FLOATS, *FLOATS, *OTHER_DTYPES]))
    shape = data.draw(numpy_strategies.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6))
    assert_same(name, data.draw(arrays(shape, dtype)))


@settings(max_examples=200)
@given(data=st.data())
def test_iadd(data: st.DataObject) -> None:
    target, other = data.draw(operand_pairs())
    results = []
    for module in (twins, compiled):
        copy = target.copy(order="K") if isinstance(target, np.ndarray) else target
        if isinstance(copy, np.ndarray):
            copy.flags.writeable = target.flags.writeable
        error = outcome(module.iadd, copy, target if other is target else other)
        results.append((error, bits(np.asarray(copy))))
    assert results[0] == results[1]


@settings(max_examples=150)
@given(data=st.data())
def test_sum_all(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([*FLOATS, *FLOATS, *OTHER_DTYPES]))
    shape = data.draw(numpy_strategies.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6))
    assert_same("sum_all", data.draw(arrays(shape, dtype)))


@settings(max_examples=200)
@given(data=st.data())
def test_filled(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([*FLOATS, None, np.float32, np.float64, *OTHER_DTYPES]))
    zero_d = st.sampled_from(FLOATS).flatmap(lambda kind: arrays((), kind))
    value = data.draw(st.one_of(numbers(), zero_d))
    shape = data.draw(
        st.one_of(
            numpy_strategies.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
            st.sampled_from([3, (-1,), (2, -1), (np.int64(2),), (2.0,), [2], None, (True,)]),
        )
    )
    assert_same("filled", shape, value, dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sum_all_follows_the_order_of_numpy(dtype: np.dtype[Any]) -> None:
    generator = np.random.default_rng(7)
    sizes = [*range(300), 511, 1000, 1024, 1031, 4097, 65_536, 70_001, 1_000_003]
    for size in sizes:
        assert_same("sum_all", (generator.standard_normal(size) * 1e3).astype(dtype))
    for shape in [(3, 5, 7), (16, 16), (1, 200), (200, 1), (40, 50), (129, 131)]:
        array = generator.standard_normal(shape).astype(dtype)
        assert_same("sum_all", array)
        assert_same("sum_all", array.T)
    assert_same("sum_all", np.full(20, -0.0, dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_every_size(name: str, dtype: np.dtype[Any]) -> None:
    """Vector loops treat the last few elements differently: no size may show."""
    generator = np.random.default_rng(3)
    for size in [*range(70), 1023, 1024, 1025, 4095, 4096, 4097]:
        first, second = special_array(generator, (2, size), dtype)
        assert_same(name, first, second)
        assert_same(name, first, 0.1)
        assert_same(name, 0.1, second)
        rows = generator.standard_normal((3, size)).astype(dtype)
        assert_same(name, rows, first)
        assert_same(name, first, rows)
        assert_same(name, rows, rows[:, :1].copy())
        assert_same(name, rows[:, :1].copy(), rows)


@pytest.mark.parametrize(
    ("large", "small"),
    [
        ((2, 3, 4, 5), (3, 1, 1)),
        ((2, 3, 4, 5), (1, 3, 4, 1)),
        ((2, 3, 4, 5), (2, 1, 1, 5)),
        ((2, 3), (1, 1, 3)),
        ((4, 1), (1, 4)),
        ((1, 4), (4,)),
        ((0, 3), (3,)),
        ((5, 0), (0,)),
        ((0,), (1,)),
        ((3,), (4,)),
        ((2, 2), ()),
    ],
)
@pytest.mark.parametrize("name", BINARY)
def test_broadcasting(name: str, large: tuple[int, ...], small: tuple[int, ...]) -> None:
    generator = np.random.default_rng(5)
    first = generator.standard_normal(large).astype(np.float32)
    second = generator.standard_normal(small).astype(np.float32)
    for left, right in itertools.product([first, np.asfortranarray(first)], [second, second.T]):
        assert_same(name, left, right)
        assert_same(name, right, left)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("special", [False, True], ids=["finite", "special"])
def test_matmul2d(dtype: np.dtype[Any], special: bool) -> None:
    generator = np.random.default_rng(11)

    def matrix(rows: int, columns: int) -> Any:
        if special:
            return special_array(generator, (rows, columns), dtype)
        return generator.standard_normal((rows, columns)).astype(dtype)

    for n, k, m in itertools.product([0, 1, 2, 3, 8, 17, 33], repeat=3):
        lefts = [matrix(n, k), matrix(k, n).T, matrix(n, 2 * k)[:, ::2]]
        rights = [matrix(k, m), matrix(m, k).T, matrix(k + 1, m)[1:], matrix(k, 1)[:, 0]]
        for left, right in itertools.product(lefts, rights):
            assert_same("matmul2d", left, right)
        assert_same("matmul2d", lefts[0], lefts[0].T)
        assert_same("matmul2d", lefts[0].T, lefts[0])


class Described(np.ndarray[Any, Any]):
    """A subclass: NumPy keeps its type."""


def odd_operands() -> list[Any]:
    described = np.ones(3, np.dtype(np.float32, metadata={"unit": "metre"}))
    return [
        np.ones(3, np.float32),
        np.float32(2),
        np.float64(2),
        np.ones(3, ml_dtypes.bfloat16),
        np.array(1, ml_dtypes.bfloat16),
        np.ones(4, np.float32),
        np.ones(3, np.float32).view(Described),
        np.ones((1,) * 40, np.float32),
        np.array(["a", "b", "c"]),
        np.array([1, None, 2], object),
        [1.0, 2.0, 3.0],
        described,
        "text",
        None,
        object,
        10**400,
        True,
    ]


@pytest.mark.parametrize("name", [*BINARY, "matmul2d"])
def test_odd_operands(name: str) -> None:
    for left, right in itertools.product(odd_operands(), repeat=2):
        assert_same(name, left, right)
        results = []
        for module in (twins, compiled):
            try:
                result = getattr(module, name)(left, right)
            except Exception:
                continue
            results.append(
                (type(result), getattr(getattr(result, "dtype", None), "metadata", None))
            )
        assert not results or results[0] == results[1]


@pytest.mark.parametrize("name", [*UNARY, "sum_all"])
def test_odd_operand(name: str) -> None:
    for operand in odd_operands():
        assert_same(name, operand)


@pytest.mark.parametrize("name", ["add", "negative"])
def test_wrong_calls_raise_what_numpy_raises(name: str) -> None:
    array = np.ones(3, np.float32)
    for arguments in [(), (array,) * 4, (array, array, np.ones(2, np.float32))]:
        assert_same(name, *arguments)


def test_keywords_go_to_numpy() -> None:
    array = np.ones(3, np.float32)
    target = np.zeros(3, np.float32)
    assert compiled.add(array, 1.0, out=target) is target
    assert target.tolist() == [2, 2, 2]
    assert compiled.add(array, array, dtype=np.float64).dtype == np.float64
    with pytest.raises(TypeError, match="unexpected keyword"):
        compiled.add(array, array, colour="red")


def test_iadd_on_overlapping_memory() -> None:
    for module in (twins, compiled):
        line = np.arange(8, dtype=np.float32)
        module.iadd(line[1:], line[:-1])
        assert line.tolist() == [0, 1, 3, 5, 7, 9, 11, 13]
        module.iadd(line, line)
        assert line.tolist() == [0, 2, 6, 10, 14, 18, 22, 26]


def places(dtype: Any) -> dict[str, tuple[Any, Any, Any]]:
    """Two operands and where to write, in ways that share memory and ways that do not."""

    def line() -> Any:
        return np.linspace(-2, 3, 12).astype(dtype)

    a, b = line(), line()[::-1].copy()
    zero = np.asarray(dtype(0.3))
    matrix = line().reshape(3, 4)
    frozen = line()
    frozen.flags.writeable = False
    return {
        "apart": (a, b, line()),
        "left": (a, b, a),
        "right": (a, b, b),
        "both": (a, a, a),
        "number": (a, 0.3, line()),
        "number on the left": (2, a, a),
        "without dimensions": (a, zero, line()),
        "without dimensions on the left": (zero, a, a),
        "all without dimensions": (zero, np.asarray(dtype(2)), np.asarray(dtype(5))),
        "two numbers": (zero, 2.0, line()),
        "one element": (a[:1], a, line()),
        "one element of the result": (a, a[3:4], a),
        "without dimensions, of the result": (a, a[3:4].reshape(()), a),
        "later": (a[:-1], b[:-1], a[1:]),
        "earlier": (a[1:], b[1:], a[:-1]),
        "columns": (matrix.T, matrix.T, matrix.T),
        "columns into rows": (matrix.T, matrix.T, line().reshape(4, 3)),
        "a row": (matrix, a[:4], matrix),
        "read-only": (a, b, frozen),
        "strided": (a[::2], b[::2], line()[::2]),
        "other dtype": (a, b, np.zeros(12, np.float16)),
        "wider": (a, a.astype(np.float64), np.zeros(12, np.float64)),
        "other shape": (a, b, np.zeros(11, dtype)),
        "empty": (a[:0], b[:0], line()[:0]),
    }


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "minimum"])
def test_where_to_write(name: str, dtype: Any) -> None:
    kind = np.dtype(dtype).type
    for way in places(kind):
        ours, theirs = places(kind)[way], places(kind)[way]
        found = outcome(getattr(compiled, name), *ours)
        assert found == outcome(getattr(twins, name), *theirs), way
        if isinstance(ours[2], np.ndarray):
            assert ours[2].tobytes() == theirs[2].tobytes(), way
