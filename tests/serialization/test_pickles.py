"""`pickle` and `copy` of tensors and what belongs to them, in every protocol."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import retrograd
from retrograd import nn
from tests.serialization.objects import described, loaded, saved


class Sub(retrograd.Tensor):
    """A subclass of tensors."""


class WithSlot(retrograd.Tensor):
    """A subclass with a slot."""

    __slots__ = ("extra",)


def _with_note(tensor: Any) -> Any:
    tensor.note = [1]
    return tensor


VALUES: dict[str, Any] = {
    "transposed": retrograd.arange(6.0).view(2, 3).t(),
    "leaf": retrograd.ones(2, requires_grad=True),
    "parameter": nn.Parameter(retrograd.ones(2)),
    "bfloat16": retrograd.ones(2, dtype=retrograd.bfloat16),
    "uint16": retrograd.ones(2, dtype=retrograd.uint16),
    "note": _with_note(retrograd.ones(2)),
    "subclass": _with_note(retrograd.ones(2).as_subclass(Sub)),
    "buffer": nn.Buffer(retrograd.ones(2)),
    "sparse": retrograd.eye(3).to_sparse(),
    "size": retrograd.Size([2, 3]),
    "device": retrograd.device("cuda:1"),
    "dtype": retrograd.bool,
    "dtype without tensors": retrograd.float8_e4m3fn,
    "layout": retrograd.sparse_coo,
    "memory format": retrograd.channels_last,
    "function": nn.functional.relu,
    "list": [retrograd.ones(1), {"a": retrograd.zeros(2)}],
}
MODULES: dict[str, Any] = {
    "linear": nn.Linear(2, 3),
    "nested": nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)),
    "lstm": nn.LSTM(2, 3),
    "lazy": nn.LazyLinear(3),
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", VALUES)
def test_pickles(name: str, protocol: int) -> None:
    value = VALUES[name]
    found = pickle.loads(pickle.dumps(value, protocol))
    assert type(found) is type(value) and described(found) == described(value)
    if protocol >= 2:  # what PyTorch's files are made of
        found = loaded(
            retrograd, saved(retrograd, value, pickle_protocol=protocol), weights_only=False
        )
        assert type(found) is type(value) and described(found) == described(value)


@pytest.mark.parametrize("name", VALUES)
def test_copies(name: str) -> None:
    value = VALUES[name]
    for found in (copy.copy(value), copy.deepcopy(value)):
        assert type(found) is type(value) and described(found) == described(value)


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    module = MODULES[name]
    copies = [pickle.loads(pickle.dumps(module, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)]
    copies += [
        copy.deepcopy(module),
        loaded(retrograd, saved(retrograd, module), weights_only=False),
    ]
    for found in copies:
        assert repr(found) == repr(module)
        if name == "lazy":
            assert found.weight.__class__ is nn.parameter.UninitializedParameter
            continue
        assert described(dict(found.state_dict())) == described(dict(module.state_dict()))
        assert all(type(part) is nn.Parameter for part in found.parameters())


def test_slots() -> None:
    value = retrograd.ones(2).as_subclass(WithSlot)
    value.extra = "kept"  # type: ignore[attr-defined]
    with retrograd.serialization.safe_globals([WithSlot]):
        found = loaded(retrograd, saved(retrograd, value))
    assert type(found) is WithSlot and found.extra == "kept"


def test_own_reductions_are_used() -> None:
    assert loaded(retrograd, saved(retrograd, retrograd.ones(2).as_subclass(Own))) == 5


class Own(retrograd.Tensor):
    """A subclass that decides how it is pickled."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        return complex, (5.0, 0.0)
