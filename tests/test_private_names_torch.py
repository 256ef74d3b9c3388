"""`torch._assert`, `torch._check`, `torch._utils` and `set_`: names that public programs use."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Case = Callable[[Any], Any]


def outcome(lib: Any, case: Case) -> str:
    """What a call gives, as text: its value, or the type and first line of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # typed storages are deprecated
        try:
            return repr(case(lib))
        except Exception as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0]}"


CONDITIONS: dict[str, Case] = {
    "assert holds": lambda lib: lib._assert(lib.ones(1) > 0, "no"),
    "assert fails": lambda lib: lib._assert(lib.ones(1).dim() == 2, "expected a matrix"),
    "check holds": lambda lib: lib._check(True, lambda: 1 / 0),
    "check fails": lambda lib: lib._check(False),
    "message": lambda lib: lib._check(False, lambda: "too small"),
    "message is text": lambda lib: lib._check(False, "too small"),
    "tensor": lambda lib: lib._check(lib.tensor(True)),
    "number": lambda lib: lib._check(1),
    "size": lambda lib: lib._check_is_size(-1, lambda: "negative"),
    "size at most": lambda lib: lib._check_is_size(4, lambda: "large", max=3),
    "index": lambda lib: lib._check_index(False),
    "value": lambda lib: lib._check_value(False),
    "type": lambda lib: lib._check_type(False),
    "not implemented": lambda lib: lib._check_not_implemented(False),
    "all hold": lambda lib: lib._check_tensor_all(lib.ones(2) > 0),
    "one fails": lambda lib: lib._check_tensor_all(lib.arange(2) > 0, lambda: "one is not"),
    "not booleans": lambda lib: lib._check_tensor_all(lib.arange(2)),
    "no tensor": lambda lib: lib._check_tensor_all(True),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions(name: str) -> None:
    assert outcome(retrograd, CONDITIONS[name]) == outcome(torch, CONDITIONS[name])


def flattened(lib: Any) -> Any:
    parts = [lib.arange(4.0).reshape(2, 2).t(), lib.ones(0, 3), lib.ones(1)]
    flat = lib._utils._flatten_dense_tensors(parts)
    views = lib._utils._unflatten_dense_tensors(flat, parts)
    views[2].fill_(7)
    return flat, views


def flattened_alone(lib: Any) -> Any:
    part = lib.ones(2)
    lib._utils._flatten_dense_tensors([part]).fill_(7)
    return part


FLAT: dict[str, Case] = {
    "several": flattened,
    "one": flattened_alone,
    "none": lambda lib: lib._utils._flatten_dense_tensors([]),
    "too short": lambda lib: lib._utils._unflatten_dense_tensors(lib.ones(2), [lib.ones(3)]),
}


@pytest.mark.parametrize("name", FLAT)
def test_flattened(name: str) -> None:
    assert outcome(retrograd, FLAT[name]) == outcome(torch, FLAT[name])


def written(lib: Any) -> Any:
    source = lib.arange(6.0)
    part = lib.FloatTensor().set_(source[2:].storage(), 0, (3,), (2,))
    part[0] = 9
    return source, part, part.storage_offset(), part.stride()


SET: dict[str, Case] = {
    "all": lambda lib: lib.FloatTensor().set_(lib.arange(6.0).storage()),
    "bytes": lambda lib: lib.ShortTensor().set_(lib.arange(3.0).untyped_storage()),
    "rounded down": lambda lib: lib.DoubleTensor().set_(lib.arange(3.0).untyped_storage()),
    "part": lambda lib: lib.FloatTensor().set_(lib.arange(6.0).storage(), 1, (2, 2), (2, 1)),
    "no strides": lambda lib: lib.FloatTensor().set_(lib.arange(6.0).storage(), 1, (2, 2)),
    "shared": written,
    "other type": lambda lib: lib.IntTensor().set_(lib.arange(6.0).storage()),
    "other tensor": lambda lib: lib.IntTensor().set_(lib.arange(6.0)),
    "negative": lambda lib: lib.FloatTensor().set_(lib.arange(6.0).storage(), -1, (2,), (1,)),
}


@pytest.mark.parametrize("name", SET)
def test_set_from_a_storage(name: str) -> None:
    assert outcome(retrograd, SET[name]) == outcome(torch, SET[name])


def test_set_beyond_the_storage() -> None:
    with pytest.raises(NotImplementedError, match="9 elements are needed, and there are 6"):
        retrograd.empty(0).set_(retrograd.arange(6.0).untyped_storage(), 4, (5,), (1,))
