"""Files travel between PyTorch and retrograd, both ways."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import retrograd
from tests.serialization.test_round_trip import check, make, through

pytestmark = pytest.mark.torch


def test_pytorch_reads_our_files() -> None:
    check(through(make(retrograd), retrograd, torch), torch)


def test_we_read_files_of_pytorch() -> None:
    check(through(make(torch), torch, retrograd), retrograd)


def test_state_dicts() -> None:
    theirs = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    ours = retrograd.nn.Sequential(retrograd.nn.Linear(2, 3), retrograd.nn.Linear(3, 1))
    ours.load_state_dict(through(theirs.state_dict(), torch, retrograd))
    x = [[0.5, -1.0]]
    expected = theirs(torch.tensor(x)).item()
    assert ours(retrograd.tensor(x)).item() == pytest.approx(expected)
    theirs.load_state_dict(through(ours.state_dict(), retrograd, torch))
    assert theirs(torch.tensor(x)).item() == pytest.approx(expected)


def test_tensors_saved_on_a_gpu_need_a_place() -> None:
    import io
    import zipfile

    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    moved = io.BytesIO()
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(moved, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("data.pkl"):
                data = data.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
            target.writestr(name, data)
    moved.seek(0)
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        retrograd.load(moved)
    moved.seek(0)
    assert retrograd.load(moved, map_location="cpu").tolist() == [1, 1]
