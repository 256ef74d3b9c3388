"""`assert_close`: two values, tensors or nested in lists and dicts, are the same up to rounding."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.lifecycle.site import user_level
from retrograd.notices import warn_once
from retrograd.ops.registry import PUBLIC
from retrograd.tensor import Tensor
from retrograd.tensor.size import strided

# relative and absolute, by dtype; whole numbers have to be equal
_TOLERANCES = {
    dtypes.float16: (0.001, 1e-5),
    dtypes.bfloat16: (0.016, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex32: (0.001, 1e-5),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}
_NUMBERS: dict[type, dtypes.dtype] = {
    int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128
}  # fmt: skip

Place = tuple[object, ...]
Message = str | Callable[[str], str] | None


class _Failure(Exception):
    """What is wrong, and where in the nest; becomes an error of `kind` for the user."""

    def __init__(self, kind: type[Exception], text: str, place: Place = ()) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.place = place

    def error(self, message: Message) -> Exception:
        if isinstance(message, str):
            return self.kind(message)
        text = self.text
        if self.place:
            where = "".join(str([step]) for step in self.place)
            text += f"\n\nThe failure occurred for item {where}"
        return self.kind(message(text) if callable(message) else text)


class _Options:
    """The options of one call of `assert_close`."""

    def __init__(self, rtol: float | None, atol: float | None, **others: bool) -> None:
        self.rtol = rtol
        self.atol = atol
        self.allow_subclasses = others["allow_subclasses"]
        self.equal_nan = others["equal_nan"]
        self.check_device = others["check_device"]
        self.check_dtype = others["check_dtype"]
        self.check_layout = others["check_layout"]
        self.check_stride = others["check_stride"]

    def tolerances(self, kinds: Sequence[dtypes.dtype], place: Place) -> tuple[float, float]:
        """The relative and the absolute tolerance: those given, or the looser of the defaults."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        if self.rtol is not None or self.atol is not None:
            absent = "rtol" if self.rtol is None else "atol"
            raise _Failure(
                ValueError,
                f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {absent}.",
                place,
            )
        found = [_TOLERANCES.get(kind, (0.0, 0.0)) for kind in kinds]
        return max(pair[0] for pair in found), max(pair[1] for pair in found)


def assert_close(
    actual: object,
    expected: object,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise an AssertionError that says how much, unless two values are close.

    Values are tensors, numbers, what `as_tensor` takes, None, and sequences and mappings of them.
    Close means ``abs(actual - expected) <= atol + rtol * abs(expected)``; without both, the
    tolerances follow from the dtypes.

    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]))
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.20000000298023224 at index (1,) (up to 1.3e-06 allowed)
    """
    options = _Options(
        rtol,
        atol,
        allow_subclasses=allow_subclasses,
        equal_nan=equal_nan,
        check_device=check_device,
        check_dtype=check_dtype,
        check_layout=check_layout,
        check_stride=check_stride,
    )
    words: Message = None  # those of the caller are for values that differ
    try:
        # the whole structure comes first: only values of equal structures are compared
        comparisons = _pairs(actual, expected, options, ())
        words = msg
        for compare in comparisons:
            compare()
        return
    except _Failure as failure:
        error = failure.error(words)
    raise error


def _pairs(actual: Any, expected: Any, options: _Options, place: Place) -> list[Callable[[], None]]:
    """The comparisons of leaves to be made, after checks of the structure."""
    both = (actual, expected)
    if all(isinstance(value, Sequence) and not isinstance(value, str) for value in both):
        if len(actual) != len(expected):
            raise _Failure(
                AssertionError,
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}",
                place,
            )
        steps: Sequence[object] = range(len(actual))
    elif all(isinstance(value, Mapping) for value in both):
        ours, theirs = set(actual), set(expected)
        if ours != theirs:
            raise _Failure(
                AssertionError,
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(theirs - ours)}\n"
                f"Additional keys in the actual mapping: {sorted(ours - theirs)}",
                place,
            )
        try:
            steps = sorted(ours)
        except TypeError:
            steps = list(ours)
    else:
        return [_leaf(actual, expected, options, place)]
    found: list[Callable[[], None]] = []
    for step in steps:
        found += _pairs(actual[step], expected[step], options, (*place, step))
    return found


def _leaf(actual: object, expected: object, options: _Options, place: Place) -> Callable[[], None]:
    both = (actual, expected)
    if actual is None or expected is None:
        return lambda: _compare_same("None", actual, expected, place)
    if all(isinstance(value, (bool, np.bool_)) for value in both):
        return lambda: _compare_same("Booleans", bool(actual), bool(expected), place)
    if all(isinstance(value, (int, float, complex, np.number)) for value in both):
        a, b = (v.item() if isinstance(v, np.number) else v for v in both)
        kinds = [_NUMBERS.get(type(v), dtypes.int64) for v in (a, b)]
        tolerances = options.tolerances(kinds, place)
        return lambda: _compare_numbers(a, b, tolerances, options, place)
    if isinstance(actual, type(expected)) or isinstance(expected, type(actual)):
        if options.allow_subclasses or type(actual) is type(expected):
            first, second = _as_tensor(actual), _as_tensor(expected)
            if first is not None and second is not None:
                pair = options.tolerances([first.dtype, second.dtype], place)
                return lambda: _compare_tensors(first, second, pair, options, place)
    raise _Failure(
        TypeError,
        f"No comparison pair was able to handle inputs of type {type(actual)} and "
        f"{type(expected)}.",
        place,
    )


def _as_tensor(value: object) -> Any:
    if isinstance(value, Tensor):
        return value
    try:
        return PUBLIC["torch"]["as_tensor"](value)
    except Exception:
        return None  # something that is no tensor


def _compare_same(what: str, actual: object, expected: object, place: Place) -> None:
    if actual is not expected:
        raise _Failure(AssertionError, f"{what} mismatch: {actual} is not {expected}", place)


def _compare_numbers(
    actual: Any, expected: Any, tolerances: tuple[float, float], options: _Options, place: Place
) -> None:
    if options.check_dtype and type(actual) is not type(expected):
        raise _Failure(
            AssertionError,
            f"The (d)types do not match: {type(actual)} != {type(expected)}.",
            place,
        )
    if actual == expected:
        return
    if options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
        return
    relative, absolute = tolerances
    difference = abs(actual - expected)
    if cmath.isfinite(difference) and difference <= absolute + relative * abs(expected):
        return
    raise _Failure(AssertionError, _scalars_text(actual, expected, tolerances, "Scalars"), place)


def _compare_tensors(
    actual: Any, expected: Any, tolerances: tuple[float, float], options: _Options, place: Place
) -> None:
    def same(name: str, ours: object, theirs: object) -> None:
        if ours != theirs:
            raise _Failure(
                AssertionError,
                f"The values for attribute '{name}' do not match: {ours} != {theirs}.",
                place,
            )

    same("shape", actual.shape, expected.shape)
    if options.check_layout:
        same("layout", actual.layout, expected.layout)
    if options.check_stride and actual.layout is strided and expected.layout is strided:
        same("stride()", actual.stride(), expected.stride())
    if options.check_device:
        same("device", actual.device, expected.device)
    if options.check_dtype:
        same("dtype", actual.dtype, expected.dtype)
    if actual.dtype is not expected.dtype:
        kinds = [
            dtypes.int64 if value.dtype in dtypes.UNSIGNED else value.dtype
            for value in (actual, expected)
        ]
        common = dtypes.promote_types(*kinds)
        actual, expected = actual.to(common), expected.to(common)
    for first, second, limits, what in _parts(actual, expected, tolerances, place):
        _compare_values(first.detach(), second.detach(), limits, options, what, place)


def _parts(
    actual: Any, expected: Any, tolerances: tuple[float, float], place: Place
) -> list[tuple[Tensor, Tensor, tuple[float, float], str]]:
    """What there is to compare: the elements or, of sparse tensors, indices and values."""
    if actual.layout is not strided and expected.layout is not strided:
        if not hasattr(actual, "_indices") or str(actual.layout) != "torch.sparse_coo":
            return [(actual.to_dense(), expected.to_dense(), tolerances, "Tensor-likes")]
        for name, ours, theirs in (
            ("sparse dimensions", actual.sparse_dim(), expected.sparse_dim()),
            ("specified values", actual._nnz(), expected._nnz()),
        ):
            if ours != theirs:
                raise _Failure(
                    AssertionError,
                    f"The number of {name} in sparse COO tensors does not match: "
                    f"{ours} != {theirs}",
                    place,
                )
        return [
            (actual._indices(), expected._indices(), (0, 0), "Sparse COO indices"),
            (actual._values(), expected._values(), tolerances, "Sparse COO values"),
        ]
    actual, expected = (x if x.layout is strided else x.to_dense() for x in (actual, expected))
    return [(actual, expected, tolerances, "Tensor-likes")]


def _compare_values(
    actual: Any,
    expected: Any,
    tolerances: tuple[float, float],
    options: _Options,
    what: str,
    place: Place,
) -> None:
    if actual.is_meta and expected.is_meta:
        return  # there are none
    relative, absolute = tolerances
    if actual.dtype in dtypes.UNSIGNED:
        matches = actual == expected
    else:
        matches = PUBLIC["torch"]["isclose"](
            actual, expected, relative, absolute, options.equal_nan
        )
    if bool(matches.all()):
        return
    if not actual.shape:
        scalars = "Scalars" if what == "Tensor-likes" else what
        text = _scalars_text(actual.item(), expected.item(), tolerances, scalars)
    else:
        text = _elements_text(actual, expected, matches, tolerances, what)
    raise _Failure(AssertionError, text, place)


# ------------------------------------------------------------------------------------- messages


def _text(what: str, extra: str, differences: list[tuple[str, Any, Any, float]]) -> str:
    exact = all(limit == 0 for *_, limit in differences)
    lines = [f"{what} are not {'equal' if exact else 'close'}!\n", extra]
    for word, value, index, limit in differences:
        if index is None:
            line = f"{word.title()} difference: {value}"
        else:
            line = f"Greatest {word} difference: {value} at index {index}"
        lines.append(line if exact else f"{line} (up to {limit} allowed)")
    return "\n".join(lines)


def _scalars_text(actual: Any, expected: Any, tolerances: tuple[float, float], what: str) -> str:
    difference = abs(actual - expected)
    ratio = float("inf") if expected == 0 else difference / abs(expected)
    extra = f"Expected {expected} but got {actual}."
    relative, absolute = tolerances
    found = [("absolute", difference, None, absolute), ("relative", ratio, None, relative)]
    return _text(what, extra, found)


def _elements_text(
    actual: Any, expected: Any, matches: Any, tolerances: tuple[float, float], what: str
) -> str:
    count = matches.numel()
    wrong = count - int(matches.sum())
    extra = f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})"
    if actual.dtype.category < dtypes.FLOAT:
        actual, expected = actual.to(dtypes.int64), expected.to(dtypes.int64)
    difference = (actual - expected).abs().masked_fill(matches, 0)
    ratio = (difference / expected.abs()).masked_fill(matches, 0)
    relative, absolute = tolerances
    found: list[tuple[str, Any, Any, float]] = []
    for word, values, limit in (
        ("absolute", difference, absolute),
        ("relative", ratio, relative),
    ):
        largest, place = values.flatten().max(0)
        index = tuple(int(i) for i in np.unravel_index(int(place), tuple(matches.shape)))
        found.append((word, largest.item(), index, limit))
    return _text(what, extra, found)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated: `assert_close` with looser tolerances that takes numbers for tensors."""
    warn_once(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a "
        "future release. Please use `torch.testing.assert_close()` instead. You can find detailed "
        "upgrade instructions in https://github.com/pytorch/pytorch/issues/61844.",
        user_level(),
    )
    make = PUBLIC["torch"]["tensor"]
    if not isinstance(actual, Tensor):
        actual = make(actual)
    if not isinstance(expected, Tensor):
        expected = make(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        loose = {
            dtypes.float16: (1e-3, 1e-3),
            dtypes.float32: (1e-4, 1e-5),
            dtypes.float64: (1e-5, 1e-8),
        }
        found = [loose.get(value.dtype, (0.0, 0.0)) for value in (actual, expected)]
        rtol, atol = max(pair[0] for pair in found), max(pair[1] for pair in found)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        msg=msg or None,
    )
