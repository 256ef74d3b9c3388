"""Compiled convolution beside its neutral twin: what docs/design.md promises of it.

Every build that the processor has is tried: they share no bits, but each keeps the promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend import CPU
from retrograd.backend.cpu_rows import windows
from retrograd.backend.neutral import convolution as neutral

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(windows is None, reason="the kernels for windows are not in use here"),
]
Array = Any
FLOATS = (np.float32, np.float64)
Sizes = tuple[int, ...]

# input, weight, stride, padding, dilation, groups
Case = tuple[Sizes, Sizes, Sizes, Sizes, Sizes, int]
CASES: dict[str, Case] = {
    "line": ((2, 3, 17), (4, 3, 3), (1,), (1,), (1,), 1),
    "line of one window": ((3, 2, 5), (1, 2, 5), (1,), (0,), (1,), 1),
    "line with a gap between windows": ((1, 2, 31), (3, 2, 2), (3,), (2,), (1,), 1),
    "line, long": ((1, 40, 9001), (5, 40, 3), (1,), (1,), (2,), 1),
    "image": ((2, 3, 9, 11), (5, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "image, many outputs": ((3, 7, 8, 8), (67, 7, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "image, many channels": ((2, 130, 5, 4), (33, 130, 3, 2), (1, 1), (1, 0), (1, 1), 1),
    "image of lenet": ((4, 6, 14, 14), (16, 6, 5, 5), (1, 1), (0, 0), (1, 1), 1),
    "image, pointwise": ((2, 19, 6, 7), (18, 19, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "image, every second point": ((2, 5, 6, 7), (3, 5, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    "image, strided": ((2, 4, 15, 14), (9, 4, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "image, strides apart": ((2, 4, 15, 20), (3, 4, 4, 2), (3, 1), (0, 2), (1, 3), 1),
    "image, dilated and strided": ((1, 4, 15, 16), (20, 4, 3, 3), (2, 3), (2, 1), (2, 2), 1),
    "image, stride over dilation": ((1, 2, 15, 16), (3, 2, 3, 3), (4, 4), (2, 1), (2, 6), 1),
    "image, more padding than kernel": ((1, 2, 3, 4), (3, 2, 2, 2), (1, 1), (3, 4), (1, 1), 1),
    "image, grouped": ((2, 6, 7, 9), (8, 3, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    "image, depthwise": ((2, 5, 9, 20), (5, 1, 3, 3), (1, 1), (1, 1), (1, 1), 5),
    "image, depthwise and strided": ((2, 5, 9, 20), (10, 1, 3, 3), (2, 2), (1, 1), (1, 1), 5),
    "image, depthwise of 5 rows": ((2, 3, 13, 37), (3, 1, 5, 3), (1, 1), (2, 1), (1, 1), 3),
    "image, depthwise of 7 rows": ((2, 3, 7, 9), (6, 1, 7, 7), (1, 1), (3, 3), (1, 1), 3),
    "image, depthwise and dilated": ((2, 3, 13, 21), (3, 1, 3, 3), (1, 1), (2, 2), (2, 2), 3),
    "image, depthwise and low": ((2, 3, 3, 40), (3, 1, 3, 4), (1, 1), (1, 1), (1, 1), 3),
    "image, depthwise and lower": ((2, 3, 2, 5), (3, 1, 5, 2), (1, 1), (2, 1), (1, 1), 3),
    "image, depthwise, not padded": ((3, 4, 12, 20), (4, 1, 3, 3), (1, 1), (0, 0), (1, 1), 4),
    "images, depthwise, that are cut": ((1, 2, 401, 701), (2, 1, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    "image, windows two apart": ((2, 5, 9, 20), (5, 1, 3, 3), (2, 2), (1, 1), (1, 1), 5),
    "image, windows two apart, 5": ((2, 3, 13, 71), (3, 1, 5, 5), (2, 2), (2, 2), (1, 1), 3),
    "image, windows two apart, 7": ((1, 2, 8, 9), (2, 1, 7, 7), (2, 2), (3, 3), (1, 1), 2),
    "image, windows two apart, wide": ((2, 3, 13, 37), (3, 1, 3, 4), (1, 2), (3, 4), (2, 3), 3),
    "image, windows two apart, gaps": ((1, 4, 12, 36), (4, 1, 2, 1), (3, 2), (0, 0), (1, 1), 4),
    "image, windows two apart, narrow": ((3, 3, 5, 1), (3, 1, 3, 3), (2, 2), (1, 1), (1, 1), 3),
    "image, windows two apart, large": ((1, 2, 401, 301), (2, 1, 3, 3), (2, 2), (1, 1), (1, 1), 2),
    "line, depthwise": ((2, 4, 50), (4, 1, 5), (1,), (2,), (1,), 4),
    "image, most is padding": ((7, 20, 3, 2), (37, 20, 5, 5), (1, 1), (2, 2), (1, 1), 1),
    "image, padded and strided": ((3, 40, 9, 8), (17, 40, 5, 5), (2, 2), (2, 2), (1, 1), 1),
    "image, padded and dilated": ((2, 16, 7, 8), (18, 16, 3, 3), (1, 1), (4, 4), (4, 4), 1),
    "image, many taps": ((1, 16, 20, 20), (16, 16, 11, 11), (1, 1), (5, 5), (1, 1), 1),
    "image, pointwise and wide": ((3, 8, 40, 41), (13, 8, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "volume, many channels": (
        (2, 17, 4, 5, 6),
        (18, 17, 3, 3, 3),
        (1, 1, 1),
        (1, 1, 1),
        (1,) * 3,
        1,
    ),
    "images that are cut": ((1, 40, 130, 70), (3, 40, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "volume": ((2, 3, 4, 5, 6), (7, 3, 2, 3, 2), (1, 1, 1), (1, 0, 1), (1, 1, 1), 1),
    "volume, strided": ((1, 4, 7, 6, 9), (18, 2, 3, 2, 3), (2, 1, 2), (1, 1, 0), (1, 2, 1), 2),
    "volumes that are cut": (
        (1, 6, 40, 30, 30),
        (2, 6, 3, 3, 3),
        (1, 1, 1),
        (1, 1, 1),
        (1,) * 3,
        1,
    ),
}


@pytest.fixture(params=() if windows is None else windows.builds())
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    before = windows.use_build(request.param)
    yield request.param
    windows.use_build(before)


def numbers(shape: Sizes, dtype: Any, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(found: Array, run: Callable[..., Array], *arrays: Array) -> None:
    """Within 8 roundings of the sum of the absolute products, of what `run` gives in float64."""
    exact = run(*(array.astype(np.float64) for array in arrays))
    most = run(*(abs(array).astype(np.float64) for array in arrays))
    assert found is not None and found.shape == exact.shape and found.flags.c_contiguous
    assert np.all(np.abs(found - exact) <= 8 * np.finfo(found.dtype).eps * most)


def three(case: Case, dtype: Any, change: Callable[[Array], Array] = lambda x: x) -> list[Array]:
    """The convolution and both gradients, compiled, of numbers that `change` may lay elsewhere."""
    shape, kernel, *options, groups = case
    x, w = numbers(shape, dtype), numbers(kernel, dtype, 1)
    counts = neutral.convolution_output_shape(shape, kernel, *options)
    g = numbers(counts, dtype, 2)
    x, w, g = change(x), change(w), change(g)
    return [
        windows.convolution(x, w, None, *options, False, (0,) * len(options[0]), groups),
        windows.convolution_input_gradient(g, w, shape, *options, groups),
        windows.convolution_weight_gradient(g, x, kernel, *options, groups),
    ]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", CASES)
def test_convolution_and_its_gradients(build: str, name: str, dtype: Any) -> None:
    shape, kernel, *options, groups = CASES[name]
    forward, of_input, of_weight = three(CASES[name], dtype)
    assert forward.dtype == of_input.dtype == of_weight.dtype == dtype
    x, w, g = numbers(shape, dtype), numbers(kernel, dtype, 1), numbers(forward.shape, dtype, 2)
    rest = (*options, groups)
    close(forward, lambda x, w: neutral.convolution(CPU.xp, x, w, *rest), x, w)
    back = neutral.convolution_input_gradient
    close(of_input, lambda g, w: back(CPU.xp, g, w, shape, *rest), g, w)
    slope = neutral.convolution_weight_gradient
    close(of_weight, lambda g, x: slope(CPU.xp, g, x, kernel, *rest), g, x)


def test_elements_that_no_window_takes_do_not_matter(build: str) -> None:
    """Beside the last window of a row, and nan where the gradient of the weight has no product."""
    x = numbers((1, 2, 5, 36), np.float32)
    x[..., 35] = np.inf
    w, options = numbers((2, 1, 3, 3), np.float32, 1), ((2, 2), (0, 0), (1, 1))
    forward = windows.convolution(x, w, None, *options, False, (0, 0), 2)
    slope = windows.convolution_weight_gradient(forward, x, w.shape, *options, 2)
    assert forward.shape[-1] == 17 and np.isfinite(forward).all() and np.isfinite(slope).all()


def test_the_bias_of_windows_two_apart(build: str) -> None:
    x, w = numbers((2, 3, 6, 5), np.float32), numbers((3, 1, 3, 3), np.float32, 1)
    bias = numbers((3,), np.float32, 2)
    for transposed in (False, True):
        options = (2, 2), (1, 1), (1, 1), transposed, (0, 0), 3
        plain = windows.convolution(x, w, None, *options)
        with_bias = windows.convolution(x, w, bias, *options)
        np.testing.assert_allclose(with_bias, plain + bias[:, None, None], rtol=1e-5, atol=1e-5)


def test_the_bias_is_added(build: str) -> None:
    for outputs in (1, 3, 64):
        x, w = numbers((2, 3, 6, 5), np.float32), numbers((outputs, 3, 3, 3), np.float32, 1)
        bias = numbers((outputs,), np.float32, 2)
        options = (1, 1), (1, 1), (1, 1), False, (0, 0), 1
        plain = windows.convolution(x, w, None, *options)
        with_bias = windows.convolution(x, w, bias, *options)
        np.testing.assert_allclose(with_bias, plain + bias[:, None, None], rtol=1e-5, atol=1e-5)


TRANSPOSED = {
    "line": ((2, 3, 6), (3, 4, 3), (2,), (1,), (1,), (1,), 1),
    "image": ((2, 3, 6, 5), (3, 4, 3, 3), (2, 2), (1, 1), (1, 1), (1, 1), 1),
    "image, doubled": ((2, 20, 6, 5), (20, 18, 2, 2), (2, 2), (0, 0), (0, 0), (1, 1), 1),
    "image, holes": ((2, 4, 6, 5), (4, 2, 2, 2), (3, 4), (0, 1), (1, 0), (1, 1), 2),
    "image, dilated": ((1, 2, 3, 3), (2, 2, 2, 2), (1, 1), (0, 0), (1, 2), (2, 3), 1),
    "volume": ((1, 2, 2, 3, 4), (2, 3, 3, 2, 3), (2, 1, 2), (1, 0, 1), (1, 0, 1), (1, 1, 1), 1),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_convolution(build: str, name: str, dtype: Any) -> None:
    shape, kernel, stride, padding, extra, dilation, groups = TRANSPOSED[name]
    x, w = numbers(shape, dtype), numbers(kernel, dtype, 1)
    found = windows.convolution(x, w, None, stride, padding, dilation, True, extra, groups)
    whole = neutral.transposed_output_shape(shape, kernel, stride, padding, extra, dilation, groups)
    options = stride, padding, dilation, groups
    run = neutral.convolution_input_gradient
    close(found, lambda x, w: run(CPU.xp, x, w, whole, *options), x, w)
    grad = numbers(whole, dtype, 2)
    back = windows.convolution_at(grad, w, shape[2:], *options)
    inside = (..., *map(slice, shape[2:]))
    close(back, lambda g, w: neutral.convolution(CPU.xp, g, w, *options)[inside], grad, w)


def layouts() -> dict[str, Callable[[Array], Array]]:
    def every_second(array: Array) -> Array:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]

    def shifted(array: Array) -> Array:
        found = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
        found[...] = array
        return found

    def read_only(array: Array) -> Array:
        found = array.copy()
        found.flags.writeable = False
        return found

    return {
        "every second": every_second,
        "in columns": lambda array: np.asfortranarray(array.T.copy()).T,
        "backwards": lambda array: array[..., ::-1].copy()[..., ::-1],
        "misaligned": shifted,
        "read only": read_only,
    }


@pytest.mark.parametrize("layout", layouts())
def test_any_layout(build: str, layout: str) -> None:
    for name in ("line", "image", "image, strided", "volume"):
        plain = three(CASES[name], np.float32)
        for found, expected in zip(
            three(CASES[name], np.float32, layouts()[layout]), plain, strict=True
        ):
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["line", "image", "image, many outputs", "image, depthwise"])
def test_what_is_not_finite_stays_in_its_windows(build: str, name: str, odd: float) -> None:
    shape, kernel, *options, groups = CASES[name]
    x, w = numbers(shape, np.float32), numbers(kernel, np.float32, 1)
    counts = neutral.convolution_output_shape(shape, kernel, *options)
    g = numbers(counts, np.float32, 2)
    for place in ((0, 0, *(0 for _ in options[0])), (-1,) * x.ndim, (0, 0, *shape[2:-1], 0)):
        x[tuple(min(p, s - 1) for p, s in zip(place, shape, strict=True))] = odd
    nothing = (0,) * len(options[0])
    found = windows.convolution(x, w, None, *options, False, nothing, groups)
    with np.errstate(all="ignore"):
        exact = neutral.convolution(CPU.xp, x, w, *options, groups)
        slopes = neutral.convolution_weight_gradient(CPU.xp, g, x, kernel, *options, groups)
    np.testing.assert_allclose(found, exact, rtol=1e-3, atol=1e-4)
    of_weight = windows.convolution_weight_gradient(g, x, kernel, *options, groups)
    np.testing.assert_allclose(of_weight, slopes, rtol=1e-3, atol=1e-3)


PADDED = ["image", "image, many channels", "image, most is padding", "image, depthwise of 5 rows"]


@pytest.mark.parametrize("odd", [np.nan, np.inf])
@pytest.mark.parametrize("name", PADDED)
def test_weights_that_are_not_finite_meet_the_padding(build: str, name: str, odd: float) -> None:
    shape, kernel, *options, groups = CASES[name]
    x, w = numbers(shape, np.float32), numbers(kernel, np.float32, 1)
    w[0, 0, 0, 0] = w[-1, -1, -1, -1] = odd
    g = numbers(neutral.convolution_output_shape(shape, kernel, *options), np.float32, 2)
    found = windows.convolution(x, w, None, *options, False, (0, 0), groups)
    of_input = windows.convolution_input_gradient(g, w, shape, *options, groups)
    with np.errstate(all="ignore"):
        exact = neutral.convolution(CPU.xp, x, w, *options, groups)
        back = neutral.convolution_input_gradient(CPU.xp, g, w, shape, *options, groups)
    np.testing.assert_allclose(found, exact, rtol=1e-3, atol=1e-4)
    assert np.array_equal(np.isfinite(of_input), np.isfinite(back))


# large enough for several threads
SHARED: dict[str, Case] = {
    "channels": ((5, 20, 30, 30), (24, 20, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "few channels": ((37, 3, 32, 32), (16, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "one image": ((1, 32, 90, 90), (33, 32, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "groups": ((5, 24, 30, 30), (36, 6, 3, 3), (1, 1), (1, 1), (1, 1), 4),
    "depthwise": ((9, 32, 40, 40), (32, 1, 3, 3), (1, 1), (1, 1), (1, 1), 32),
    "pointwise": ((9, 64, 14, 14), (64, 64, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "line": ((9, 33, 200), (40, 33, 5), (1,), (2,), (1,), 1),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", SHARED)
def test_threads_change_no_bit(build: str, name: str, dtype: Any) -> None:
    before, found = torch.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            found.append([array.tobytes() for array in three(SHARED[name], dtype)])
    finally:
        torch.set_num_threads(before)
    assert found[1:] == found[:1] * 2


def test_many_places_add_up_without_growing_error(build: str) -> None:
    for outputs in (1, 16):
        g = np.full((4, outputs, 200, 250), 0.1, np.float32)
        x = np.ones((4, 1, 202, 252), np.float32)
        found = windows.convolution_weight_gradient(
            g, x, (outputs, 1, 3, 3), (1, 1), (0, 0), (1, 1), 1
        )
        assert np.abs(found / (200_000 * np.float64(np.float32(0.1))) - 1).max() < 1e-5


def test_results_repeat(build: str) -> None:
    case = CASES["image, many outputs"]
    assert all(
        np.array_equal(a, b)
        for a, b in zip(three(case, np.float32), three(case, np.float32), strict=True)
    )


# ----------------------------------------------------------------------------- what is not taken

PLAIN = ((1, 1), (1, 1), (1, 1))


def test_what_is_not_taken() -> None:
    x, w = numbers((2, 4, 5, 5), np.float32), numbers((4, 4, 3, 3), np.float32)

    def run(x: Array, w: Array, bias: Array = None, *options: Any) -> Array:
        stride, padding, dilation, transposed, extra, groups = (
            *options,
            *(*PLAIN, False, (0, 0), 1)[len(options) :],
        )
        return windows.convolution(x, w, bias, stride, padding, dilation, transposed, extra, groups)

    assert run(x, w) is not None
    others: list[Array] = [x.astype(np.float16), x.astype(np.int64), x.astype(">f4")]
    others += [x.view(np.ma.MaskedArray), x.astype(np.complex64), x.tolist(), x.astype(np.float64)]
    others += [x[:0], x[:, :3], x[0], x[..., None, None], x[:, :, :0]]
    for other in others:
        assert run(other, w) is None
        assert windows.convolution_input_gradient(other, w, x.shape, *PLAIN, 1) is None
        assert windows.convolution_weight_gradient(other, x, w.shape, *PLAIN, 1) is None
        if other is not others[-4]:
            assert windows.convolution_weight_gradient(x, other, w.shape, *PLAIN, 1) is None
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    assert run(last, w) is None  # the result lies as the input does
    for bias in (x[0, 0, 0], x[0, :, 0, 0], np.zeros(4), np.zeros((4, 1), np.float32)):
        assert run(x, w, bias) is None
    wrong: list[tuple[Any, ...]] = [((0, 1),), ((1,),), ((1, 1), (-1, 0)), ([1, 1],), ((2**40, 1),)]
    wrong += [(*PLAIN[:2], (0, 1)), (*PLAIN[:2], (3, 9)), ((1.0, 1.0),), (*PLAIN, False, (0, 0), 3)]
    wrong += [(*PLAIN, False, (0, 0), 0), (*PLAIN, True, (0,), 1), (*PLAIN, True, (-1, 0), 1)]
    for options in wrong:
        assert run(x, w, None, *options) is None, options
    for shape in ((2, 4, 5), (2, 4, 6, 5), (2, 4, 4, 5), (1, 4, 5, 5), (2, 5, 5, 5), (0, 4, 5, 5)):
        found = windows.convolution_input_gradient(x, w, shape, *PLAIN, 1)
        assert found is None or shape == (2, 4, 6, 5)  # more room than windows: zeros there
    for shape in ((4, 4, 3), (4, 5, 3, 3), (3, 4, 3, 3), (4, 4, 4, 3), (4, 4, 0, 3)):
        assert windows.convolution_weight_gradient(x, x, shape, *PLAIN, 1) is None
    assert windows.convolution_at(x, w, (6, 5), *PLAIN, 1) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: windows.convolution(x, x), "convolution.. takes 9 arguments, 2 were given"),
        (lambda x: windows.convolution_at(x), "convolution_at.. takes 7 arguments, 1 were given"),
        (lambda x: windows.use_build(1), "name of a build"),
    ],
)
def test_wrong_calls_say_so(call: Callable[[Array], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(numbers((1, 1, 3), np.float32))


def test_a_build_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="no build 'mmx'"):
        windows.use_build("mmx")


def test_ops_run_the_compiled_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("the neutral kernel ran")

    for name in ("convolution", "convolution_input_gradient", "convolution_weight_gradient"):
        monkeypatch.setattr(neutral, name, refuse)
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    layer = torch.nn.Conv2d(3, 5, 3, padding=1)
    layer(x).sum().backward()
    assert x.grad is not None and layer.weight.grad is not None
