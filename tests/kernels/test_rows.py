"""The kernels for whole rows beside their neutral twins: what docs/design.md promises of them.

Every build that the processor has is tried: they share no bits, but each keeps the promise.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd import core
from retrograd.backend import CPU
from retrograd.backend.cpu_rows import rows
from retrograd.backend.device import KERNELS
from retrograd.ops.neural.normalization import Layout
from tests.limits import LIMIT

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(rows is None, reason="the kernels for rows are not in use here"),
]
Array = Any
FLOATS = (np.float32, np.float64)
# rows below, at and above every width of vector, a block of sums and the next one
SHAPES = [(1100, 1), (400, 3), (150, 8), (80, 17), (9, 129), (1, 5000), (2, 3, 300), (700, 2, 1)]
SIZES = [(), (0,), (1,), (7,), (16,), (31,), (3, 50), (2, 5, 129)]


@pytest.fixture(params=() if rows is None else rows.builds())
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    before = rows.use_build(request.param)
    yield request.param
    rows.use_build(before)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0, scale: float = 3.0) -> Array:
    return np.asarray(np.random.default_rng(seed).standard_normal(shape) * scale, dtype)


def neutral(name: str, *arguments: Any, **options: Any) -> Any:
    """The op's neutral kernel in float64, where its own rounding does not matter."""
    wide = [x.astype(np.float64) if isinstance(x, np.ndarray) else x for x in arguments]
    with np.errstate(all="ignore"):
        return KERNELS[name][0](CPU.xp, *wide, **options)


def close(found: Array, exact: Array, units: float = 8) -> None:
    """Within so many roundings of the largest finite result of the row that it is in."""
    assert found.shape == exact.shape
    largest = np.where(np.isfinite(exact), np.abs(exact), 0).max(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        near = np.abs(found - exact) <= largest * units * np.finfo(found.dtype).eps
    same = (found == exact) | (np.isnan(found) & np.isnan(exact))
    assert np.all(near | same), (found, exact)


ROWS = ["softmax", "log_softmax"]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ROWS)
def test_softmax_of_odd_rows(build: str, name: str, shape: tuple[int, ...], dtype: Any) -> None:
    x, grad = numbers(shape, dtype), numbers(shape, dtype, 1)
    output = getattr(rows, name)(x, -1)
    assert output.dtype == dtype and output.flags.c_contiguous and output.flags.writeable
    close(output, neutral(name, x, -1), units=32)
    gradient = getattr(rows, f"{name}_gradient")(grad, output, x.ndim - 1)
    scale = np.abs(grad).max() * shape[-1]  # of the sum that is subtracted
    exact = neutral(f"_{name}_gradient", grad, output, -1)
    assert np.all(np.abs(gradient - exact) <= 4 * np.finfo(dtype).eps * scale)


@pytest.mark.parametrize("name", ROWS)
def test_softmax_of_what_is_not_finite(build: str, name: str) -> None:
    nan, inf = np.nan, np.inf
    kinds = [[nan, 1, 2], [inf, 1, 2], [-inf, 1, 2], [-inf] * 3, [1e30, -1e30, 0], [inf, nan, -inf]]
    for length in (3, 16, 37):
        x = np.zeros((len(kinds) * 100, length), np.float32)
        for row, kind in enumerate(kinds * 100):
            x[row, :3] = kind
            x[row, 3:] = -inf if kind == [-inf] * 3 else 0.5
        close(getattr(rows, name)(x, -1), neutral(name, x, -1))


def strided(array: Array) -> dict[str, Array]:
    """The same elements in other layouts; each is taken, by a copy."""
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    bytes_ = np.zeros(array.nbytes + 1, np.uint8)
    shifted = bytes_[1:].view(array.dtype).reshape(array.shape)
    shifted[...] = array
    return {
        "every second": wide[..., ::2],
        "in columns": np.asfortranarray(array),
        "backwards": array[::-1].copy()[::-1],
        "misaligned": shifted,
        "read only": np.broadcast_to(array, array.shape),
    }


@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_in_any_layout(build: str, dtype: Any) -> None:
    x, grad = numbers((60, 33), dtype), numbers((60, 33), dtype, 1)
    weight = numbers((33,), dtype, 2)
    output = rows.softmax(x, 1)
    statistics = rows.layer_norm(x, weight, None, 33, 1e-5)
    needs = (True, True, True)
    for layout, other in strided(x).items():
        assert np.array_equal(rows.softmax(other, 1), output), layout
        for found, expected in zip(
            rows.layer_norm(other, weight, None, 33, 1e-5), statistics, strict=True
        ):
            assert np.array_equal(found, expected), layout
    slopes = rows.softmax_gradient(grad, output, 1)
    gradients = rows.layer_norm_gradients(grad, x, weight, *statistics[1:], 33, needs)
    for layout, other in strided(grad).items():
        assert np.array_equal(rows.softmax_gradient(other, output, 1), slopes), layout
        again = rows.layer_norm_gradients(other, x, weight, *statistics[1:], 33, needs)
        for found, expected in zip(again, gradients, strict=True):
            assert np.array_equal(found, expected), layout


def test_short_rows_are_left_to_numpy() -> None:
    x = numbers((32, 32), np.float32)
    assert rows.softmax(x, -1) is None and rows.log_softmax(x, -1) is None
    assert rows.softmax_gradient(x, x, -1) is None and rows.log_softmax_gradient(x, x, 1) is None


@pytest.mark.skipif(not core.AVAILABLE, reason="the core is not compiled here")
@pytest.mark.parametrize("rows_", [32, 33, 128, 129])
def test_the_core_gives_the_bits_of_python_at_every_size(rows_: int) -> None:
    x = torch.from_numpy(numbers((rows_, 32), np.float32)).requires_grad_()

    def run() -> list[Array]:
        x.grad = None
        y = torch.softmax(x, 1)
        (y * torch.log_softmax(x, 1)).sum().backward()
        assert x.grad is not None
        return [y.detach().numpy().copy(), x.grad.numpy().copy()]

    compiled = run()
    back = core.put_aside()
    try:
        plain = run()
    finally:
        back()
    assert all(np.array_equal(a, b) for a, b in zip(compiled, plain, strict=True))


# ----------------------------------------------------------------------------------- elementwise

MAPS: dict[str, tuple[str, dict[str, Any]]] = {
    "sigmoid": ("sigmoid", {}),
    "silu": ("silu", {}),
    "gelu": ("gelu", {}),
    "gelu_tanh": ("gelu", {"approximate": "tanh"}),
}
PAIRS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "silu_gradient": ("_silu_gradient", ()),
    "softplus_gradient": ("_softplus_gradient", (1.0, 20.0)),
    "gelu_gradient": ("_gelu_gradient", ("none",)),
    "gelu_tanh_gradient": ("_gelu_gradient", ("tanh",)),
}
ONLY_FLOAT32 = {"gelu", "gelu_gradient"}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("name", [*MAPS, *PAIRS])
def test_activations_of_odd_sizes(
    build: str, name: str, shape: tuple[int, ...], dtype: Any
) -> None:
    x, grad = numbers(shape, dtype), numbers(shape, dtype, 1)
    arrays = (x,) if name in MAPS else (grad, x)
    found = getattr(rows, name)(*arrays)
    if name in ONLY_FLOAT32 and dtype is np.float64:
        assert found is None
        return
    if name in MAPS:
        op, options = MAPS[name]
        exact = neutral(op, x, **options)
    else:
        op, rest = PAIRS[name]
        exact = neutral(op, grad, x, *rest)
    assert found.dtype == dtype and found.shape == shape
    units = 8 if name in MAPS else 32
    bound = units * np.finfo(dtype).eps * np.maximum(1, np.abs(x))
    assert np.all(np.abs(found - exact) <= bound)


def test_the_sigmoid_is_accurate_to_a_few_units_far_out(build: str) -> None:
    for dtype, far in ((np.float32, 87.0), (np.float64, 708.0)):
        x = np.linspace(-far, far, 40_001).astype(dtype)
        wide = x.astype(np.longdouble)
        exact = 1 / (1 + np.exp(-wide))
        error = np.abs(rows.sigmoid(x) - exact) / np.spacing(exact.astype(dtype))
        assert error.max() < 4


@pytest.mark.parametrize("name", [*MAPS, *PAIRS])
def test_activations_of_what_is_not_finite(build: str, name: str) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1e38, -1e38, 1e-45, -0.0] * 3, np.float32)
    one = np.ones_like(x)
    with np.errstate(all="ignore"):
        if name in MAPS:
            op, options = MAPS[name]
            found, exact = getattr(rows, name)(x), KERNELS[op][0](CPU.xp, x, **options)
        else:
            op, rest = PAIRS[name]
            found, exact = getattr(rows, name)(one, x), KERNELS[op][0](CPU.xp, one, x, *rest)
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-38)


def test_elementwise_layouts(build: str) -> None:
    x = numbers((6, 21), np.float32)
    plain = rows.gelu(x)
    columns = rows.gelu(np.asfortranarray(x))
    assert columns.flags.f_contiguous and np.array_equal(columns, plain)
    assert rows.silu_gradient(x, np.asfortranarray(x)) is None
    for layout in ("every second", "misaligned"):
        assert rows.gelu(strided(x)[layout]) is None
        assert rows.silu_gradient(x, strided(x)[layout]) is None


# ------------------------------------------------------------------------------------ layer_norm


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (5, 17), (130, 33), (2, 5000), (4, 2, 31)])
@pytest.mark.parametrize("parameters", ["", "w", "b", "wb"])
def test_layer_norm(build: str, shape: tuple[int, ...], parameters: str, dtype: Any) -> None:
    columns = shape[-1]
    count = int(np.prod(shape)) // columns
    layout = Layout((1, count, columns), (count, columns), (columns,))
    x, grad = numbers(shape, dtype) + 5, numbers(shape, dtype, 1)
    weight = numbers((columns,), dtype, 2) if "w" in parameters else None
    bias = numbers((columns,), dtype, 3) if "b" in parameters else None
    found = rows.layer_norm(x, weight, bias, columns, 1e-5)
    exact = neutral("_layer_norm", x, weight, bias, layout, 1e-5)
    # one over a deviation that comes from eps alone has few digits: compare where there is one
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    for ours, theirs in zip(found, exact, strict=True):
        assert ours.shape == theirs.shape and ours.dtype == dtype
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    needs = (True, weight is not None, bias is not None)
    mean, inverse = found[1:]
    ours = rows.layer_norm_gradients(grad, x, weight, mean, inverse, columns, needs)
    theirs = neutral(
        "_norm_gradients", grad, needs, x, weight, (columns,), mean, inverse, layout, ""
    )
    for one, other in zip(ours, theirs, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            scale = max(1.0, float(inverse.max())) * (1 + np.abs(other).max())
            assert np.abs(one - other).max() <= tolerance * scale


def test_a_mean_far_from_zero_costs_no_digits(build: str) -> None:
    x = (numbers((3, 4096), np.float32) + 1e4).astype(np.float32)
    result = rows.layer_norm(x, None, None, 4096, 0.0)[0]
    wide = x.astype(np.float64)
    exact = (wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True)
    assert np.abs(result - exact).max() < 3e-4  # half a unit of x, over the deviation


def test_many_rows_add_up_without_growing_error(build: str) -> None:
    grad = np.full((200_000, 3), 0.1, np.float32)
    x = numbers((200_000, 3), np.float32)
    mean, inverse = rows.layer_norm(x, None, None, 3, 1e-5)[1:]
    total = rows.layer_norm_gradients(grad, x, None, mean, inverse, 3, (False, False, True))[2]
    assert np.all(np.abs(total / (200_000 * np.float64(np.float32(0.1))) - 1) < 3e-5)


# ----------------------------------------------------------------------------- what is not taken


def test_what_is_not_taken() -> None:
    x = numbers((40, 40), np.float32)
    others: list[Array] = [x.astype(np.float16), x.astype(np.int64), x.astype(">f4")]
    others += [x.view(np.ma.MaskedArray), x.astype(np.complex64), x.tolist()]
    for other in others:
        assert rows.softmax(other, 1) is None
        assert rows.softmax_gradient(x, other, 1) is None
        assert rows.sigmoid(other) is None
        assert rows.silu_gradient(x, other) is None
        assert rows.layer_norm(other, None, None, 40, 0.1) is None
        assert rows.layer_norm(x, other, None, 40, 0.1) is None
    for dim in (0, 2, -2, 2**70, 1.0, True):
        assert rows.softmax(x, dim) is None
    assert rows.softmax_gradient(x, x[:, :39], 1) is None
    assert rows.silu_gradient(x, x[:39]) is None
    assert rows.layer_norm(x, x[0, :39].copy(), None, 40, 0.1) is None
    assert rows.layer_norm(x, None, None, 39, 0.1) is None
    assert rows.layer_norm(x, None, None, 0, 0.1) is None
    assert rows.layer_norm(x[:0], None, None, 40, 0.1) is None
    mean = np.zeros((1, 40, 1), np.float32)
    short = np.zeros((1, 39, 1), np.float32)
    for pair in ((short, mean), (mean, short), (None, mean), (mean, mean.astype(np.float64))):
        assert rows.layer_norm_gradients(x, x, None, *pair, 40, (True,) * 3) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: rows.softmax(x), "softmax.. takes 2 arguments, 1 were given"),
        (lambda x: rows.gelu(x, x), "gelu.. takes 1 arguments, 2 were given"),
        (lambda x: rows.layer_norm(x, None, None, 40, "no"), "must be real number"),
        (lambda x: rows.layer_norm(x, None, None, "40", 0.1), "integer"),
        (lambda x: rows.layer_norm_gradients(x, x, None, x, x, 40, True), "tuple of three"),
        (lambda x: rows.use_build(1), "name of a build"),
    ],
)
def test_wrong_calls_say_so(call: Callable[[Array], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(numbers((40, 40), np.float32))


def test_a_build_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="no build 'mmx'"):
        rows.use_build("mmx")


def test_the_switch() -> None:
    code = (
        "from retrograd.backend import CPU, cpu_rows; import retrograd.nn\n"
        "print(cpu_rows.rows, 'softmax' in CPU.overrides, cpu_rows.STATUS['rows'])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "RETROGRAD_KERNELS": "0"},
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    assert found.stdout.startswith("None False not in use (switched off by RETROGRAD_KERNELS=0)")
