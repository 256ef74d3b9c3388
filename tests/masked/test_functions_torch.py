"""Masked functions beside PyTorch: values, dtypes, gradients and errors over many inputs."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

REDUCTIONS = "sum prod amax amin mean median logsumexp norm var std argmax argmin".split()
NORMALIZATIONS = "softmax log_softmax softmin normalize cumsum cumprod".split()
SHAPES = [(), (4,), (3, 4), (2, 3, 4), (0,), (2, 0), (3, 1)]
MASKS = ["none", "some", "all", "nothing", "row", "column", "number", "integers"]
DTYPES = "float32 float64 float16 bfloat16 int64 int32 uint8 bool complex64".split()


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    source = np.random.default_rng(len(shape) + 7)
    values = source.integers(-3, 6, shape)
    if dtype.startswith(("float", "bfloat")):
        return values / 2
    if dtype.startswith("complex"):
        return values + 1j * source.integers(-2, 3, shape)
    return values % 2 if dtype == "bool" else abs(values) if dtype == "uint8" else values


def mask_of(kind: str, shape: tuple[int, ...], library: Any) -> Any:
    source = np.random.default_rng(3)
    if kind == "none":
        return None
    if kind == "number":
        return library.tensor(True)
    if kind == "row":
        shape = shape[-1:]
    if kind == "column":
        shape = (*shape[:-1], 1) if shape else shape
    values = source.random(shape) < {"all": 2.0, "nothing": -1.0}.get(kind, 0.6)
    made = library.tensor(values.tolist(), dtype=library.bool)
    made = made.reshape(shape)
    return made.to(library.int64) if kind == "integers" else made


HALF = np.dtype(np.float16)


def described(value: Any) -> Any:
    if value is None:
        return None
    shown = value.detach()
    if str(shown.dtype).endswith("bfloat16"):  # which PyTorch gives to no NumPy
        shown = shown.half()
    return str(value.dtype), tuple(value.shape), np.asarray(shown)


def outcome(
    library: Any, name: str, shape: tuple[int, ...], dtype: str, mask: str, args: Any, options: Any
) -> Any:
    """The result and the gradient of the input, or the error."""
    kind = getattr(library, dtype)
    options = {
        key: getattr(library, value) if key == "dtype" else value for key, value in options.items()
    }
    x = library.tensor(numbers(shape, dtype).tolist()).reshape(shape).to(kind)
    if x.is_floating_point():
        x.requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is new in PyTorch
        try:
            result = getattr(library.masked, name)(
                x, *args, mask=mask_of(mask, shape, library), **options
            )
            if result.requires_grad and result.is_floating_point():
                (result * result.detach().nan_to_num(1, 1, 1)).nansum().backward()
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0]
    return described(result), described(x.grad), result.requires_grad


def same(ours: Any, theirs: Any) -> None:
    if isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray):
        loose = 3e-2 if HALF in (ours.dtype, theirs.dtype) else 1e-5
        np.testing.assert_allclose(ours, theirs, rtol=loose, atol=loose)
    elif isinstance(ours, tuple):
        assert isinstance(theirs, tuple) and len(ours) == len(theirs), (ours, theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
    else:
        assert ours == theirs


def compare(*call: Any) -> bool:
    """Whether the call gave a result, which is the same in both."""
    ours, theirs = outcome(retrograd, *call), outcome(torch, *call)
    try:
        same(ours, theirs)
    except AssertionError as error:
        raise AssertionError(f"{call}: {ours} instead of {theirs}") from error
    return len(theirs) == 3


def arguments(name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    if name in ("norm", "normalize"):
        first = [(2.0,), (1,), (3,), (float("inf"),), (float("-inf"),), (0,)]
        dims = [(*given, dim) for given in first for dim in (0, -1)]
        more = [] if name == "normalize" else [((2.0, (0, 1)), {"keepdim": True}), ((), {})]
        return [((*given,), {}) for given in dims] + more + [((2.0, 0), {"dtype": "float64"})]
    if name in NORMALIZATIONS:
        return [((dim,), {}) for dim in (0, -1, 1, -9)] + [((0,), {"dtype": "float64"})]
    given: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {}),
        ((0,), {}),
        ((-1,), {"keepdim": True}),
        ((1,), {}),
        ((5,), {}),
        ((-1,), {"dtype": "float64"}),
        ((0,), {"dtype": "int64"}),
    ]
    if name not in ("median", "argmax", "argmin"):
        given += [(((0, 1),), {}), (((-1, 0),), {"keepdim": True}), (((0, 0),), {}), (((),), {})]
    if name in ("var", "std"):
        given += [((0, False), {}), ((0, True), {}), ((0,), {"correction": 2})]
        given += [((0, True), {"correction": 1}), ((-1,), {"correction": 0.5, "keepdim": True})]
    return given


@pytest.mark.parametrize("name", [*REDUCTIONS, *NORMALIZATIONS])
def test_values_gradients_and_errors(name):
    taken = 0
    for (args, options), shape, mask in itertools.product(arguments(name), SHAPES, MASKS):
        taken += compare(name, shape, "float32", mask, args, options)
    assert taken > 100


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*REDUCTIONS, *NORMALIZATIONS])
def test_dtypes(name, dtype):
    for (args, options), mask in itertools.product(arguments(name)[:2], ("none", "some", "all")):
        compare(name, (3, 4), dtype, mask, args, options)


WRONG = """
t.masked.sum(x, 0, mask=[True, False])
t.masked.sum(x, 'x')
t.masked.sum(x, mask=t.ones(3, 3, 2, dtype=t.bool))
t.masked.sum(x, mask=t.ones(2, dtype=t.bool))
t.masked.sum(x, 0, True)
t.masked.sum()
t.masked.softmax(x)
t.masked.softmax(x, 0, dtype=3)
t.masked.mean(x.long())
t.masked.mean(x, dtype=t.int64)
t.masked.median(x.long(), 1, mask=t.zeros(2, 3, dtype=t.bool))
t.masked.median(x, (0, 1))
t.masked.normalize(x, 2)
t.masked.argmax(x, (0, 1))
t.masked.cumsum(x.to_sparse(), 0)
t.masked.softmax(x.to_sparse(), 0)
t.masked.norm(x.to_sparse_csr(), 2)
t.masked.std(x.to_sparse())
t.masked.logaddexp(x, x.to_sparse())
t.masked.mean(x.to_sparse())
t.masked.amax(x > 0, mask=x > 0)
t.masked.norm(x.long(), float('-inf'), mask=x > 0)
""".strip().splitlines()

RIGHT = """
t.masked.logaddexp(x, x + 1)
t.masked.logaddexp(x, x + 1, input_mask=x > 2)
t.masked.logaddexp(x, x + 1, input_mask=x > 2, other_mask=x < 1)
t.masked.logaddexp(x, x + 1, dtype=t.float64, other_mask=t.zeros(3, dtype=t.bool))
t.masked.sum(x, mask=(x > 2).to_sparse())
t.masked.sum(x, dim=[0, 1], mask=t.tensor([1, 0, 2]))
t.masked.mean(x, mask=t.tensor([0.5, 0.0, 1.0]))
t.masked.sum(x, keepdim=None)
t.masked.softmax(x, (1, 0))
t.masked.softmax(x, None)
t.masked.median(x, (0, 1))
t.masked.normalize(x, 2, 1, eps=10.0, mask=x > 2)
""".strip().splitlines()


@pytest.mark.parametrize("text", [*WRONG, *RIGHT])
def test_calls(text):
    found = []
    for library in (retrograd, torch):
        names = {"t": library, "x": library.arange(6.0).reshape(2, 3)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found.append(described(eval(text, names)))
            except Exception as error:
                found.append((type(error).__name__, str(error).split("\n")[0]))
    same(*found)
    assert (len(found[1]) == 3) == (text in RIGHT)


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_sparse_reductions_are_refused_by_name(name, layout):
    x = getattr(retrograd.ones(2, 2), layout)()
    with pytest.raises(NotImplementedError, match=rf"masked\.{name} of a tensor of layout"):
        getattr(retrograd.masked, name)(x)
