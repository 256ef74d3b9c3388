"""Files for other programs: .safetensors and .npz."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd
from retrograd.interchange import load_npz, load_safetensors, save_npz, save_safetensors
from tests.limits import LIMIT
from tests.serialization.objects import DTYPES, NEWER_DTYPES, described


def _tensors(*without: str) -> dict[str, Any]:
    found = {
        f"of.{name}": retrograd.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(retrograd, name))
        for name in (*DTYPES, *NEWER_DTYPES)
        if name not in without
    }
    found["transposed"] = retrograd.arange(6.0).view(2, 3).t()
    found["number"] = retrograd.tensor(2.5)
    found["empty"] = retrograd.zeros(0, 3)
    found["parameter"] = retrograd.nn.Parameter(retrograd.ones(2))
    return found


def _plain(tensors: dict[str, Any]) -> dict[str, Any]:
    return {
        name: described(value.detach().contiguous().data) for name, value in sorted(tensors.items())
    }


class TestSafetensors:
    @pytest.fixture(autouse=True)
    def _package(self) -> None:
        pytest.importorskip("safetensors")

    def test_round_trip(self, tmp_path: Path) -> None:
        path = tmp_path / "model.safetensors"
        tensors = _tensors("complex128")
        save_safetensors(tensors, path, {"format": "pt"})
        found = load_safetensors(path)
        assert list(found) == sorted(tensors)
        assert {n: described(v) for n, v in found.items()} == _plain(
            {
                n: retrograd.tensor(v.tolist(), dtype=v.dtype).reshape(v.shape)
                for n, v in tensors.items()
            }
        )
        found["transposed"].add_(1)
        assert {n: described(v) for n, v in retrograd.load(path).items()}.keys() == found.keys()

    def test_what_cannot_be_written(self, tmp_path: Path) -> None:
        path = tmp_path / "model.safetensors"
        with pytest.raises(NotImplementedError, match=r"'a' is of torch.complex128"):
            save_safetensors({"a": retrograd.ones(1, dtype=retrograd.complex128)}, path)
        with pytest.raises(TypeError, match="'a' must be a tensor, not int"):
            save_safetensors({"a": 3}, path)  # type: ignore[dict-item]
        with pytest.raises(ValueError, match="'a' is a sparse tensor"):
            save_safetensors({"a": retrograd.eye(2).to_sparse()}, path)
        assert not list(tmp_path.iterdir())

    def test_places(self, tmp_path: Path) -> None:
        path = tmp_path / "model.safetensors"
        save_safetensors({"a": retrograd.ones(1)}, path)
        assert retrograd.load(path, map_location="cpu")["a"].item() == 1
        with pytest.raises(AssertionError, match="not compiled with CUDA"):
            load_safetensors(path, "cuda")
        for place, word in (({"cuda:0": "cpu"}, "dict"), (lambda *both: both[0], "callable")):
            with pytest.raises(RuntimeError, match=f"with {word} map_location is not supported"):
                retrograd.load(path, map_location=place)

    def test_damaged_files(self, tmp_path: Path) -> None:
        path = tmp_path / "model.safetensors"
        save_safetensors({"a": retrograd.arange(10.0)}, path)
        content = path.read_bytes()
        safetensors = pytest.importorskip("safetensors")
        for length in range(0, len(content), 3):
            path.write_bytes(content[:length])
            with pytest.raises(safetensors.SafetensorError):
                load_safetensors(path)

    def test_the_package_for_pytorch_runs_on_us(self, tmp_path: Path) -> None:
        program = tmp_path / "program.py"
        program.write_text(
            "import sys, torch\n"
            "from safetensors.torch import load, load_file, load_model\n"
            "from safetensors.torch import save, save_file, save_model\n"
            "folder = sys.argv[1]\n"
            "tensors = {'a': torch.arange(6.0).view(2, 3), 'b': torch.ones(2).bfloat16()}\n"
            "save_file(tensors, folder + '/a.safetensors')\n"
            "for found in (load_file(folder + '/a.safetensors'), load(save(tensors)),\n"
            "              torch.load(folder + '/a.safetensors')):\n"
            "    assert all(torch.equal(found[name], tensors[name]) for name in tensors)\n"
            "model = torch.nn.Linear(2, 3)\n"
            "model.tied = model.weight\n"
            "save_model(model, folder + '/m.safetensors')\n"
            "other = torch.nn.Linear(2, 3)\n"
            "other.tied = other.weight\n"
            "print(load_model(other, folder + '/m.safetensors'))\n"
            "print(torch.equal(other.weight, model.weight))\n"
        )
        command = [sys.executable, "-m", "retrograd", "run", str(program), str(tmp_path)]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
        assert run.stdout == "(set(), [])\nTrue\n", run.stderr


def test_the_package_is_named_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ImportError, match="pip install safetensors"):
        save_safetensors({}, tmp_path / "a.safetensors")
    with pytest.raises(RuntimeError, match=r"^Attempting to load a safetensors file but"):
        retrograd.load(tmp_path / "a.safetensors")


def test_npz(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    tensors = _tensors("bfloat16")
    save_npz(tensors, path)
    with np.load(path, allow_pickle=False) as theirs:
        assert {name: theirs[name].tolist() for name in theirs.files} == {
            name: value.tolist() for name, value in tensors.items()
        }
    found = load_npz(path)
    assert list(found) == list(tensors)
    for name, value in found.items():
        assert value.dtype is tensors[name].dtype and value.tolist() == tensors[name].tolist()
        assert value.shape == tensors[name].shape
    found["empty"].resize_(2)
    found["number"].add_(1)


def test_npz_of_numpy(tmp_path: Path) -> None:
    path = tmp_path / "theirs.npz"
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.savez(path, fortran=fortran, big=np.arange(3, dtype=">i4"))
    found = load_npz(path)
    assert found["fortran"].tolist() == fortran.tolist() and found["big"].tolist() == [0, 1, 2]
    np.savez_compressed(path, a=np.arange(100))
    assert load_npz(path)["a"].tolist() == list(range(100))


def test_npz_refuses(tmp_path: Path) -> None:
    path = tmp_path / "theirs.npz"
    np.savez(path, a=np.array([print, None], dtype=object))
    with pytest.raises(ValueError, match="holds Python objects"):
        load_npz(path)
    np.savez(path, a=np.array(["text"]))
    with pytest.raises(TypeError, match=r"can't convert np.ndarray of type numpy.str_"):
        load_npz(path)
    with zipfile.ZipFile(path, "w") as target:
        target.writestr("readme.txt", "hello")
    with pytest.raises(ValueError, match=r"holds 'readme.txt', which is not an array"):
        load_npz(path)
    stream = io.BytesIO()
    np.save(stream, np.zeros(3))
    with zipfile.ZipFile(path, "w") as target:
        target.writestr("a.npy", stream.getvalue().replace(b"(3,)", b"(9,)"))
    with pytest.raises(ValueError, match=r"a.npy is of shape \(9,\) and has 24 bytes"):
        load_npz(path)
    np.savez_compressed(path, a=np.zeros(1 << 20))
    with pytest.raises(RuntimeError, match="its content is too large"):
        load_npz(path)
    with pytest.raises(ValueError, match=r"'a' is of torch.bfloat16"):
        save_npz({"a": retrograd.ones(1, dtype=retrograd.bfloat16)}, path)
    with pytest.raises(ValueError, match="cannot be a name"):
        save_npz({"": retrograd.ones(1)}, path)
    assert os.listdir(tmp_path) == ["theirs.npz"]
