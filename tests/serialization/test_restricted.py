"""With weights_only=True nothing in a file is run, and its numbers are not believed."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

import pytest

import retrograd
from retrograd import serialization
from tests.serialization.hostile import (
    archive,
    checkpoint,
    name,
    number,
    numbers,
    program,
    storage,
    tensor,
    text,
)
from tests.serialization.objects import loaded

FOUR = {"0": bytes(16)}
RAN: list[str] = []


def canary(*args: Any) -> str:
    """Must never be called by a file."""
    RAN.append("canary")
    return "ran"


class Kind(retrograd.Tensor):
    """A subclass that no file may name unless it is allowed."""


class Trap:
    """A class that acts when it is made or given a state."""

    def __init__(self, *args: Any) -> None:
        RAN.append("init")

    def __setstate__(self, state: Any) -> None:
        RAN.append("state")


HERE = __name__
TRAP = name(HERE, "Trap")
CALLS = {
    "system": program(name("posix", "system"), text("true"), b"\x85R"),
    "os": program(name("os", "system"), text("true"), b"\x85R"),
    "eval": program(name("builtins", "eval"), text("1"), b"\x85R"),
    "eval of Python 2": program(name("__builtin__", "eval"), text("1"), b"\x85R"),
    "getattr": program(name("builtins", "getattr"), b"]", text("append"), b"\x86R"),
    "import": program(name("importlib", "import_module"), text("antigravity"), b"\x85R"),
    "own function": program(name(HERE, "canary"), b")R"),
    "class": program(TRAP, b")R"),
    "new object": program(TRAP, b")\x81"),
    "new object with names": program(TRAP, b")}\x92"),
    "state": program(TRAP, b")\x81}b"),
    "stack global": b"\x80\x04" + text(HERE) + text("canary") + b"\x93)R.",
    "dotted name": b"\x80\x04" + text("collections") + text("OrderedDict.fromkeys") + b"\x93)R.",
    "dotted module": program(name("collections.OrderedDict", "fromkeys"), b")R"),
    "instance": program(b"(i" + f"{HERE}\nTrap\n".encode()),
    "object": program(b"(", TRAP, b"o"),
    "extension": program(b"\x82\x01"),
    "text persistent id": program(b"Pcanary\n"),
    "reduction of data": program(b"]", b")R"),
    "reduction of text": program(text("eval"), b")R"),
    "reduction of a tensor": program(tensor(), b")R"),
    "reduction of a dtype": program(name("torch", "float32"), b")R"),
    "reduction of a layout": program(name("torch", "FloatStorage"), b")R"),
    "reduction of Tensor": program(name("torch", "Tensor"), numbers((3,)), b"\x85R"),
    "tensor by eval": program(
        name("torch._tensor", "_rebuild_from_type_v2"),
        b"(" + name("collections", "OrderedDict") + name("torch", "Tensor") + b")}tR",
    ),
    "tensor of another class": program(
        name("torch._tensor", "_rebuild_from_type_v2"),
        b"(" + name("torch._utils", "_rebuild_tensor_v2") + name(HERE, "Kind") + b")}tR",
    ),
    "tensor of type dict": program(
        name("torch._tensor", "_rebuild_from_type_v2"),
        b"(" + name("torch._utils", "_rebuild_tensor_v2"),
        name("collections", "OrderedDict") + b")}tR",
    ),
    "new dict subclass": program(name("collections", "defaultdict"), b")\x81"),
    "state of a list": program(b"]}b"),
    "state of a dict": program(b"}}b"),
    "state of a size": program(name("torch", "Size"), b")\x85R}b"),
    "state that is no dict": program(name("collections", "OrderedDict"), b")R]b"),
    "state with numbers": program(name("collections", "OrderedDict"), b")R}K\x01K\x02sb"),
    "arguments that are no tuple": program(name("collections", "OrderedDict"), b"]R"),
    "append to a set": program(b"\x8fK\x01a"),
    "append to a bytearray": program(name("builtins", "bytearray"), b")RK\x01a"),
    "add to a list": program(b"](K\x01\x90"),
    "items of a list": program(b"]K\x01K\x02s"),
    "odd items": program(b"}(K\x01u"),
    "bytes of a size": program(name("builtins", "bytearray"), number(10**12), b"\x85R"),
    "encoding by a codec": program(name("_codecs", "encode"), text("abc"), text("rot13"), b"\x86R"),
    "encoding of bytes": program(name("_codecs", "encode"), b"C\x01a", text("latin1"), b"\x86R"),
    "complex from text": program(name("builtins", "complex"), text("1j"), b"\x85R"),
    "set of a storage": program(name("builtins", "set"), storage(), b"\x85R"),
    "no stop": b"\x80\x02K\x01K\x02",
    "empty": b"",
    "empty stack": program(),
    "no mark": program(b"t"),
    "unknown memo": program(b"h\x05"),
    "newer protocol": b"\x80\x09K\x01.",
    "broken text": program(b"X\x02\x00\x00\x00\xff\xff"),
    "long text": program(b"X\xff\xff\xff\xffabc"),
    "longer text": program(b"\x8d" + b"\xff" * 8 + b"abc"),
    "long number": program(b"\x8b\xff\xff\xff\x7fabc"),
    "long bytes": program(b"\x8e" + b"\xff" * 7 + b"\x7fabc"),
    "endless name": program(b"c" + b"a" * 10_000),
}


@pytest.mark.parametrize("case", CALLS)
def test_nothing_is_run(case: str) -> None:
    RAN.clear()
    with pytest.raises((pickle.UnpicklingError, EOFError)) as caught:
        loaded(retrograd, archive(CALLS[case], FOUR))
    assert not RAN
    if caught.type is pickle.UnpicklingError:
        assert str(caught.value).startswith("Weights only load failed.")


def test_what_is_allowed_by_name_is_run() -> None:
    RAN.clear()
    content = archive(CALLS["state"])
    with serialization.safe_globals([Trap]):
        assert type(loaded(retrograd, content)) is Trap
    assert RAN == ["state"]
    with serialization.safe_globals([(canary, "old.place")]):
        assert loaded(retrograd, archive(program(name("old", "place"), b")R"))) == "ran"
    # modules that can do anything stay blocked
    import os

    with serialization.safe_globals([os.system, (os.system, "os.system")]):
        with pytest.raises(pickle.UnpicklingError, match="whose module posix is blocked"):
            loaded(retrograd, archive(CALLS["system"]))
        with pytest.raises(pickle.UnpicklingError, match="whose module os is blocked"):
            loaded(retrograd, archive(CALLS["os"]))


def test_errors_of_allowed_classes_are_theirs() -> None:
    def refuse() -> None:
        raise KeyError("mine")

    with serialization.safe_globals([(refuse, "some.function")]):
        with pytest.raises(KeyError, match="mine"):
            loaded(retrograd, archive(program(name("some", "function"), b")R")))


def test_pairs_of_safe_globals_are_checked() -> None:
    for wrong, kind in (((canary, "a", "b"), ValueError), ((canary, 3), TypeError)):
        with serialization.safe_globals([wrong]), pytest.raises(kind, match=r"^Expected"):  # type: ignore[list-item]
            loaded(retrograd, checkpoint())


def test_the_list_of_safe_globals() -> None:
    serialization.add_safe_globals([Trap, canary])
    serialization.add_safe_globals([Trap])
    assert serialization.get_safe_globals() == [Trap, canary]
    with serialization.safe_globals([Kind]):
        assert Kind in serialization.get_safe_globals()
    assert serialization.get_safe_globals() == [Trap, canary]
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []


def test_a_subclass_of_tensor_needs_permission() -> None:
    file = io.BytesIO()
    value = retrograd.ones(2).as_subclass(Kind)
    value.note = 3
    retrograd.save(value, file)
    assert serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(file.getvalue())) == [
        f"{HERE}.Kind"
    ]
    with pytest.raises(pickle.UnpicklingError, match="Kind was not an allowed global by default"):
        loaded(retrograd, file.getvalue())
    with serialization.safe_globals([Kind]):
        found = loaded(retrograd, file.getvalue())
    assert type(found) is Kind and found.note == 3 and found.tolist() == [1, 1]


def test_slots_of_tensors_cannot_be_set() -> None:
    state = b"}" + b"}" + text("_array") + b"Ns" + b"\x86"
    made = name("torch._utils", "_rebuild_tensor_v2")
    arguments = b"(" + storage() + number(0) + numbers((4,)) + numbers((1,)) + b"\x89Nt"
    attack = program(
        name("torch._tensor", "_rebuild_from_type_v2"),
        b"(" + made + name("torch", "Tensor") + arguments + state + b"tR",
    )
    with pytest.raises(pickle.UnpicklingError, match="'_array' of a tensor cannot be set"):
        loaded(retrograd, archive(attack, FOUR))


WRONG_TENSORS = {
    "larger": (tensor((5,)), r"^Trying to resize storage that is not resizable\n.* needs 20 bytes"),
    "offset": (tensor((4,), offset=1), "^Trying to resize storage"),
    "stride": (tensor((4,), (2,)), "^Trying to resize storage"),
    "far stride": (tensor((2,), (2**60,)), "^Trying to resize storage"),
    "far offset": (tensor((1,), offset=2**60), "^Trying to resize storage"),
    "negative offset": (tensor(offset=-1), "^Tensor: invalid storage offset -1"),
    "negative size": (tensor((-1,)), "^Trying to create tensor with negative dimension -1"),
    "negative stride": (tensor((2,), (-1,)), "^as_strided: Negative strides are not supported"),
    "lengths": (tensor((2, 2)), r"^unequal size length \(2\) and stride length \(1\)"),
    "product": (tensor((2**40, 2**40), (0, 0)), "^numel: integer multiplication overflow"),
    "empty product": (tensor((2**40, 2**40, 0), (0, 0, 0)), "^numel: integer multiplication"),
    "integer beyond": (tensor((2**70,)), "must be a tuple of integers"),
    "many dimensions": (tensor((1,) * 65, (1,) * 65), "more than 64 dimensions"),
    "count": (tensor(count=5), r"^record size \(16 bytes\) does not match expected size \(20"),
    "huge count": (tensor(count=2**50), "^record size"),
    "negative count": (tensor(count=-1), "described in an unknown way"),
    "missing": (tensor(key="7"), "^PytorchStreamReader failed locating file data/7"),
    "path": (tensor(key="../data/0"), r"^PytorchStreamReader failed locating file data/\.\./data"),
    "place": (tensor(place="cuda:0"), "^Attempting to deserialize object on a CUDA device"),
    "type": (tensor(kind="QInt8Storage"), "qint8 is not supported"),
}


@pytest.mark.parametrize("case", WRONG_TENSORS)
def test_tensors_outside_of_their_storage(case: str) -> None:
    pickled, message = WRONG_TENSORS[case]
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match=message):
        loaded(retrograd, archive(program(pickled), FOUR))


def test_the_tensor_is_named() -> None:
    inside = b"}" + text("layer") + b"}(" + text("bias") + tensor() + text("weight")
    with pytest.raises(RuntimeError, match=r"while loading \['model'\]\['layer'\]\['weight'\]"):
        wrong = b"}(" + text("model") + inside.replace(b"}" + text("layer"), b"}(" + text("layer"))
        loaded(retrograd, archive(program(wrong + tensor((9,)) + b"uuu"), FOUR))


WRONG_IDS = {
    "text": text("storage") + b"Q",
    "number": b"K\x01Q",
    "empty": b")Q",
    "other": b"(" + text("module") + b"NNNtQ",
    "short": text("storage") + b"\x85Q",
    "key": b"(" + text("storage") + name("torch", "FloatStorage") + b"](" + b"K\x04e" + b"NtQ",
    "type": b"(" + text("storage") + b"N" + text("0") + text("cpu") + b"K\x04tQ",
    "place": b"(" + text("storage") + name("torch", "FloatStorage") + text("0") + b"NK\x04tQ",
    "count": b"("
    + text("storage")
    + name("torch", "FloatStorage")
    + text("0")
    + text("cpu")
    + b"NtQ",
    "flag": b"("
    + text("storage")
    + name("torch", "FloatStorage")
    + text("0")
    + text("cpu")
    + b"\x88tQ",
}


@pytest.mark.parametrize("case", WRONG_IDS)
def test_persistent_ids_of_wrong_types(case: str) -> None:
    with pytest.raises(pickle.UnpicklingError):
        loaded(retrograd, archive(program(WRONG_IDS[case]), FOUR))


def _sparse(layout: str, parts: bytes) -> bytes:
    made = name("torch.serialization", "_get_layout") + text(layout) + b"\x85R"
    return program(name("torch._utils", "_rebuild_sparse_tensor"), made, parts, b"\x86R")


def test_sparse_indices_are_looked_at() -> None:
    import numpy as np

    storages = {"0": np.array([0, 5], np.int64).tobytes(), "1": bytes(8)}
    indices = tensor((1, 2), (2, 1), count=2, kind="LongStorage")
    values = tensor((2,), key="1", count=2)
    good = _sparse("torch.sparse_coo", b"(" + indices + values + numbers((6,)) + b"t")
    assert loaded(retrograd, archive(good, storages)).to_dense().shape == (6,)
    bad = _sparse("torch.sparse_coo", b"(" + indices + values + numbers((3,)) + b"t")
    with pytest.raises(RuntimeError, match="found index 5"):
        loaded(retrograd, archive(bad, storages))
    with pytest.raises(pickle.UnpicklingError, match=r"there is no layout 'torch.dense'"):
        loaded(retrograd, archive(_sparse("torch.dense", b"NNN\x87")))
    with pytest.raises(pickle.UnpicklingError, match="needs its indices"):
        loaded(retrograd, archive(_sparse("torch.sparse_coo", b"NNN\x87")))


def test_state_of_an_ordered_dict_is_only_data() -> None:
    found = loaded(retrograd, _saved(OrderedDict(a=1)))
    assert type(found) is OrderedDict
    value = OrderedDict(a=retrograd.ones(1))
    value._metadata = OrderedDict(version=1)  # type: ignore[attr-defined]
    assert loaded(retrograd, _saved(value))._metadata == {"version": 1}


def _saved(value: Any) -> bytes:
    file = io.BytesIO()
    retrograd.save(value, file)
    return file.getvalue()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_protocols(protocol: int) -> None:
    value: dict[Any, Any] = {"a": [1, 2.5, b"x" * 300, {1}, "x" * 300], (1, 2): -(2**100)}
    if protocol > 2:
        value["empty"] = b""
    if protocol > 3:
        value["frozen"] = frozenset((2,))
    file = io.BytesIO()
    retrograd.save([value, retrograd.ones(2)], file, pickle_protocol=protocol)
    found = loaded(retrograd, file.getvalue())
    assert found[0] == value and found[1].tolist() == [1, 1]


def test_unsafe_globals_of_a_file() -> None:
    RAN.clear()
    assert serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(checkpoint())) == []
    evil = io.BytesIO(archive(CALLS["own function"]))
    assert serialization.get_unsafe_globals_in_checkpoint(evil) == [f"{HERE}.canary"]
    stacked = io.BytesIO(archive(CALLS["stack global"]))
    assert serialization.get_unsafe_globals_in_checkpoint(stacked) == [f"{HERE}.canary"]
    assert not RAN
    with pytest.raises(ValueError, match="Expected input to be a checkpoint returned by"):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"abc"))
