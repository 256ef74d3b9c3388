"""save and load: everything comes back, tensors that shared memory share it again."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd
from retrograd import serialization


def through(value: Any, write: Any = retrograd, read: Any = retrograd, **options: Any) -> Any:
    file = io.BytesIO()
    write.save(value, file)
    file.seek(0)
    return read.load(file, **options)


def make(torch: Any) -> dict[str, Any]:
    """A bit of everything that a checkpoint holds."""
    base = torch.arange(6.0)
    return {
        "base": base,
        "view": base[2:].reshape(2, 2).t(),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "frozen": torch.nn.Parameter(torch.ones(2), requires_grad=False),
        "leaf": torch.ones(2, requires_grad=True),
        "computed": torch.ones(2, requires_grad=True) * 2,
        "transposed": torch.arange(6).reshape(2, 3).t(),
        "gaps": torch.arange(6).reshape(2, 3)[:, ::2],
        "empty": torch.zeros(0, 3),
        "number": torch.tensor(5),
        "kinds": [
            torch.ones(2, dtype=getattr(torch, name))
            for name in ("float16", "bfloat16", "float64", "complex64", "int8", "uint8", "bool")
        ],
        "dtype": torch.float64,
        "size": torch.Size([2, 3]),
        "device": torch.device("cpu"),
        "plain": [1, 2.5, "text", None, (True, 1j), {3}],
    }


def check(found: dict[str, Any], torch: Any) -> None:
    expected = make(torch)
    assert found.keys() == expected.keys()
    computed = found.pop("computed")
    assert computed.is_leaf and computed.requires_grad and computed.tolist() == [2, 2]
    del expected["computed"]
    assert repr(found) == repr(expected)
    for name in ("view", "transposed", "gaps"):
        assert found[name].tolist() == expected[name].tolist()
    assert type(found["parameter"]) is torch.nn.Parameter
    assert found["transposed"].stride() == expected["transposed"].stride()
    found["base"][2] = 99.0
    assert found["view"][0, 0].item() == 99.0
    found["view"].add_(1)


def test_everything_comes_back() -> None:
    check(through(make(retrograd)), retrograd)


def test_to_a_path(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    retrograd.save(retrograd.ones(3), path)
    assert retrograd.load(path).tolist() == [1, 1, 1]
    assert retrograd.load(str(path), map_location="cpu").tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="Parent directory"):
        retrograd.save(1, tmp_path / "missing" / "model.pt")
    with pytest.raises(FileNotFoundError):
        retrograd.load(tmp_path / "missing.pt")


def test_a_view_brings_its_storage_a_part_of_an_array_does_not() -> None:
    big = np.zeros(1000, np.float32)
    small = io.BytesIO()
    retrograd.save(retrograd.from_numpy(big[:2]), small)
    assert len(small.getvalue()) < 2000
    whole = io.BytesIO()
    retrograd.save(retrograd.zeros(1000)[:2], whole)
    assert len(whole.getvalue()) > 4000


class Unknown:
    """A class that no file of weights should name."""


def test_only_weights_unless_asked() -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"^Weights only load failed"):
        through(Unknown())
    assert isinstance(through(Unknown(), weights_only=False), Unknown)
    with serialization.safe_globals([Unknown]):
        assert isinstance(through(Unknown()), Unknown)
    assert serialization.get_safe_globals() == []
    with pytest.raises(pickle.UnpicklingError):
        through(Unknown())


def test_a_pickle_cannot_run_code() -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return exec, ("raise SystemExit",)

    with pytest.raises(pickle.UnpicklingError):
        through(Evil())


def test_bad_files() -> None:
    with pytest.raises(EOFError):
        retrograd.load(io.BytesIO())
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        retrograd.load(io.BytesIO(b"abc"))
    with pytest.raises(AttributeError, match="seek"):
        retrograd.load(3)
    with pytest.raises(AttributeError, match="expected 'f' to be string, path"):
        retrograd.save(1, 3)


def test_attributes_and_subclasses() -> None:
    tensor = retrograd.ones(2)
    tensor.note = "kept"
    assert through(tensor).note == "kept"

    assert type(through([retrograd.Tensor([1.0])])[0]) is retrograd.Tensor


def test_modules_and_state() -> None:
    module = retrograd.nn.Linear(2, 3)
    again = through(module, weights_only=False)
    assert again.weight.tolist() == module.weight.tolist()
    state = through(module.state_dict())
    assert list(state) == ["weight", "bias"]
