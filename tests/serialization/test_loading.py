"""Where files come from, where storages go, byte orders, mapping and options."""

from __future__ import annotations

import gzip
import io
import mmap
import os
import pickle
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd
from retrograd import serialization
from tests.serialization.hostile import archive, members, program, tensor
from tests.serialization.objects import loaded, saved

LEGACY = {"_use_new_zipfile_serialization": False}
ON_GPU = archive(program(tensor(place="cuda:1")), {"0": np.arange(4, dtype=np.float32).tobytes()})


# ---------------------------------------------------------------------------------------- files


def test_kinds_of_files(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    retrograd.save(retrograd.ones(3), path)
    for source in (path, str(path), io.BytesIO(path.read_bytes())):
        assert retrograd.load(source).tolist() == [1, 1, 1]
    with open(path, "rb") as file, open(path, "rb", buffering=0) as unbuffered:
        assert retrograd.load(file).tolist() == retrograd.load(unbuffered).tolist() == [1, 1, 1]
    packed = tmp_path / "model.pt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    with gzip.open(packed) as compressed:
        assert retrograd.load(compressed).tolist() == [1, 1, 1]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        retrograd.load(tmp_path / "missing.pt")
    with pytest.raises(IsADirectoryError):
        retrograd.load(tmp_path)
    with pytest.raises(AttributeError, match=r"seekable\. Please pre-load the data"):
        retrograd.load(3)
    read, write = os.pipe()
    os.close(write)
    with os.fdopen(read, "rb") as pipe, pytest.raises(OSError, match="seek"):
        retrograd.load(pipe)
    with pytest.raises(EOFError):
        retrograd.load(io.BytesIO())


def test_old_files_one_after_the_other() -> None:
    file = io.BytesIO(b"head")
    file.seek(4)
    for value in (1, retrograd.ones(2), "three"):
        retrograd.save(value, file, **LEGACY)
    file.seek(4)
    assert retrograd.load(file) == 1
    assert retrograd.load(file).tolist() == [1, 1]
    assert retrograd.load(file) == "three"


def test_old_files_with_a_wrong_head() -> None:
    for value, message in ((1, "Invalid magic number; corrupt file"), ("x" * 9, "Invalid magic")):
        with pytest.raises(RuntimeError, match=message):
            loaded(retrograd, pickle.dumps(value, 2))
    start = pickle.dumps(0x1950A86A20F9469CFC6C, 2)
    with pytest.raises(RuntimeError, match="Invalid protocol version: 7"):
        loaded(retrograd, start + pickle.dumps(7, 2))


def test_nothing_runs_before_the_magic_number_is_seen(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    content = pickle.dumps(_Touching(str(mark)), 2)
    for trusted in (False, True):
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            loaded(retrograd, content, weights_only=not trusted)
        assert not mark.exists()


class _Touching:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self.path, "w")


def test_files_that_are_older_still() -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("storages"))
    with pytest.raises(RuntimeError, match=r"legacy .tar format"):
        loaded(retrograd, file.getvalue())
    with pytest.raises(NotImplementedError, match=r"legacy .tar format"):
        loaded(retrograd, file.getvalue(), weights_only=False)


def test_scripts_are_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        target.writestr("archive/data.pkl", program(b"N"))
        target.writestr("archive/constants.pkl", program(b")"))
    with pytest.raises(RuntimeError, match="with TorchScript archives passed to"):
        loaded(retrograd, file.getvalue())
    with pytest.raises(NotImplementedError, match="TorchScript"):
        loaded(retrograd, file.getvalue(), weights_only=False)


# ------------------------------------------------------------------------------------- locations


@pytest.mark.parametrize(
    "place",
    [
        "cpu",
        retrograd.device("cpu"),
        {"cuda:1": "cpu"},
        lambda storage, location: storage,
        lambda storage, location: storage.cpu() if location == "cuda:1" else None,
    ],
)
def test_storages_are_brought_to_the_cpu(place: Any) -> None:
    assert loaded(retrograd, ON_GPU, map_location=place).tolist() == [0, 1, 2, 3]


def test_other_places() -> None:
    cuda = "^Attempting to deserialize object on a CUDA device but torch.cuda.is_available"
    for place in (None, "cuda", "cuda:0", {"cuda:1": "cuda:0"}, {"cpu": "cpu"}):
        with pytest.raises(RuntimeError, match=cuda):
            loaded(retrograd, ON_GPU, map_location=place)
    with pytest.raises(RuntimeError, match=cuda):
        loaded(retrograd, ON_GPU, map_location=lambda storage, location: None)
    for place in ("xyz", "cpu:0", retrograd.device("cpu", 0)):
        with pytest.raises(
            RuntimeError, match=r"^don't know how to restore data location of torch"
        ):
            loaded(retrograd, ON_GPU, map_location=place)
    assert loaded(retrograd, ON_GPU, map_location="meta").is_meta
    with pytest.raises(TypeError, match="map_location must give a storage or None"):
        loaded(retrograd, ON_GPU, map_location=lambda storage, location: 3)
    with pytest.raises(TypeError, match="'int' object is not callable"):
        loaded(retrograd, ON_GPU, map_location=3)
    with pytest.raises(RuntimeError, match="The HPU device module is not registered"):
        loaded(retrograd, ON_GPU, map_location="hpu")


def test_map_location_is_asked_once_for_each_storage() -> None:
    base = retrograd.ones(4)
    asked: list[tuple[int, str]] = []

    def place(storage: Any, location: str) -> Any:
        asked.append((storage.nbytes(), location))
        return storage

    loaded(retrograd, saved(retrograd, [base, base[1:], retrograd.zeros(2)]), map_location=place)
    assert asked == [(16, "cpu"), (8, "cpu")]


def test_packages_for_other_places(monkeypatch: pytest.MonkeyPatch) -> None:
    from retrograd.serialization import locations

    monkeypatch.setattr(locations, "_REGISTERED", list(locations._REGISTERED))
    serialization.register_package(
        5, lambda storage: None, lambda storage, place: storage if place == "cuda:1" else None
    )
    assert loaded(retrograd, ON_GPU).tolist() == [0, 1, 2, 3]
    serialization.register_package(1, lambda storage: "moon", lambda storage, place: None)
    content = saved(retrograd, retrograd.ones(2).untyped_storage())
    with pytest.raises(RuntimeError, match=r"\(tagged with moon\)"):
        loaded(retrograd, content)


# ----------------------------------------------------------------------------------------- mmap


def test_mapped_files(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    value = {name: retrograd.arange(5).to(getattr(retrograd, name)) for name in ("float64", "int8")}
    value["half"] = retrograd.ones(3, dtype=retrograd.bfloat16)
    value["empty"] = retrograd.zeros(0)
    retrograd.save(value, path)
    before = path.read_bytes()
    found = retrograd.load(path, mmap=True)
    assert found["float64"].data_ptr() % 64 == 0
    assert found["half"].tolist() == [1, 1, 1] and found["int8"].tolist() == list(range(5))
    found["float64"].add_(1)  # into memory of our own
    assert found["float64"].tolist() == [1, 2, 3, 4, 5] and path.read_bytes() == before
    found["int8"].resize_(2)
    assert retrograd.load(io.BytesIO(before))["float64"].tolist() == [0, 1, 2, 3, 4]
    retrograd.save({"other": 1}, path)  # what is mapped stays as it was
    assert found["half"].tolist() == [1, 1, 1]


@pytest.mark.skipif(not hasattr(mmap, "MAP_SHARED"), reason="POSIX mapping")
def test_mapped_files_that_are_written(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    retrograd.save(retrograd.zeros(4), path)
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        assert serialization.get_default_mmap_options() == mmap.MAP_SHARED
        retrograd.load(path, mmap=True).fill_(7)
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert retrograd.load(path, mmap=True).tolist() == [7, 7, 7, 7]
    with pytest.raises(RuntimeError, match="checksum"):
        retrograd.load(path)
    with pytest.raises(ValueError, match=r"expected mmap.MAP_PRIVATE or mmap.MAP_SHARED"):
        serialization.set_default_mmap_options(12345)


def test_what_cannot_be_mapped(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap"):
        loaded(retrograd, saved(retrograd, 1), mmap=True)
    path = tmp_path / "old.pt"
    retrograd.save(1, path, **LEGACY)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        retrograd.load(path, mmap=True)


# ------------------------------------------------------------------------------------ byte order


def _turned(content: bytes, mark: bytes | None) -> bytes:
    """A file of numbers of four bytes, as a machine of the other byte order writes it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        for key, data in members(content).items():
            if "/data/" in key:
                data = b"".join(data[i : i + 4][::-1] for i in range(0, len(data), 4))
            if not key.endswith("byteorder"):
                target.writestr(key, data)
        if mark is not None:
            target.writestr("archive/byteorder", mark)
    return file.getvalue()


def test_other_byte_orders() -> None:
    value = [
        retrograd.arange(3.0),
        retrograd.tensor([1 + 2j]),
        retrograd.tensor([5]).to(retrograd.uint32),
    ]
    content = saved(retrograd, value)
    for part, expected in zip(loaded(retrograd, _turned(content, b"big")), value, strict=True):
        assert part.tolist() == expected.tolist()
    with pytest.raises(ValueError, match="Unknown endianness type: middle"):
        loaded(retrograd, _turned(content, b"middle"))


def test_files_without_a_byte_order() -> None:
    kinds = serialization.LoadEndianness
    content = saved(retrograd, retrograd.arange(3.0), _disable_byteorder_record=True)
    assert not any(key.endswith("byteorder") for key in members(content))
    assert loaded(retrograd, content).tolist() == [0, 1, 2]
    try:
        serialization.set_default_load_endianness(kinds.BIG)
        assert serialization.get_default_load_endianness() is kinds.BIG
        assert loaded(retrograd, _turned(content, None)).tolist() == [0, 1, 2]
        serialization.set_default_load_endianness(kinds.NATIVE)
        assert loaded(retrograd, content).tolist() == [0, 1, 2]
    finally:
        serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="Invalid argument type in function"):
        serialization.set_default_load_endianness("big")  # type: ignore[arg-type]


def test_old_files_of_another_byte_order() -> None:
    content = saved(retrograd, retrograd.arange(3.0), **LEGACY)
    assert content.count(b"little_endianq\x02\x88") == 1
    data = np.arange(3, dtype=np.float32)
    turned = content.replace(b"little_endianq\x02\x88", b"little_endianq\x02\x89")
    turned = turned.replace(data.tobytes(), data.astype(">f4").tobytes())
    assert loaded(retrograd, turned).tolist() == [0, 1, 2]


# --------------------------------------------------------------------------------------- options


def test_text_of_python_2() -> None:
    old = program(b"}U\x02ab", b"U\x02\xe4\xff", b"s")
    content = archive(old)
    for options, expected in (
        ({"encoding": "latin1"}, {"ab": "äÿ"}),
        ({"encoding": "bytes"}, {b"ab": b"\xe4\xff"}),
    ):
        assert loaded(retrograd, content, weights_only=False, **options) == expected
        with pytest.warns(UserWarning, match="pickle_load_args only works if"):
            assert loaded(retrograd, content, **options) == expected
    with pytest.raises(UnicodeDecodeError):
        loaded(retrograd, content, weights_only=False)
    with pytest.raises(pickle.UnpicklingError):
        loaded(retrograd, content)


def test_checksums_can_be_left_out() -> None:
    serialization.set_crc32_options(False)
    try:
        assert serialization.get_crc32_options() is False
        content = saved(retrograd, retrograd.arange(3.0))
    finally:
        serialization.set_crc32_options(True)
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        assert {entry.CRC for entry in file.infolist()} == {0}
    assert loaded(retrograd, content).tolist() == [0, 1, 2]


def test_data_can_be_left_out() -> None:
    with serialization.skip_data():
        content = saved(retrograd, [retrograd.ones(300_000), retrograd.ones(2)])
        with pytest.raises(RuntimeError, match="Cannot use skip_data=True with _use_new"):
            saved(retrograd, 1, **LEGACY)
    found = loaded(retrograd, content)
    assert found[0].shape == (300_000,) and not found[0].any() and not found[1].any()
    full = saved(retrograd, retrograd.ones(2))
    with serialization.skip_data():
        assert loaded(retrograd, full).tolist() == [0, 0]
        assert loaded(retrograd, saved_old()).shape == (2,)
    with pytest.raises(NotImplementedError, match="no fake tensors"):
        serialization.skip_data(materialize_fake_tensors=True)


def saved_old() -> bytes:
    file = io.BytesIO()
    with_data = serialization.options.OPTIONS
    before, with_data.skip_data = with_data.skip_data, False
    retrograd.save(retrograd.ones(2), file, **LEGACY)
    with_data.skip_data = before
    return file.getvalue()


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(retrograd, serialization.LoadEndianness.BIG)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected"):
        assert loaded(retrograd, content) is serialization.LoadEndianness.BIG
    with pytest.raises(pickle.UnpicklingError):
        loaded(retrograd, content, weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "yes")
    with pytest.raises(RuntimeError, match="should be set, but both were set"):
        loaded(retrograd, content)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        loaded(retrograd, content, weights_only=False)


def test_the_pickle_module() -> None:
    content = saved(retrograd, serialization.LoadEndianness.BIG)
    assert loaded(retrograd, content, pickle_module=pickle) is serialization.LoadEndianness.BIG
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle"):
        loaded(retrograd, content, pickle_module=pickle, weights_only=True)


def test_helpers(tmp_path: Path) -> None:
    with serialization.mkdtemp() as folder:
        assert os.path.isdir(folder)
    assert not os.path.exists(folder)
    assert serialization.location_tag(retrograd.FloatStorage(2)) == "cpu"
    with pytest.raises(RuntimeError, match="don't know how to determine data location of int"):
        serialization.location_tag(3)
    assert serialization.normalize_storage_type(retrograd.FloatStorage) is retrograd.FloatStorage
    assert issubclass(serialization.SourceChangeWarning, Warning)
    assert str(serialization.StorageType("HalfStorage")) == "StorageType(dtype=torch.float16)"
    with pytest.raises(RuntimeError, match=r"on a CUDA device but torch\.cuda\.is_available"):
        serialization.validate_cuda_device("cuda:0")
    check = serialization.check_module_version_greater_or_equal
    assert check(np, (1, 0)) and not check(np, (99,))
    with pytest.raises(RuntimeError, match="version string is malformed"):
        check(np, (1, 2, 3, 4, 5, 6))
    with pytest.warns(UserWarning, match="assuming that requirement is met"):
        assert check(np, (1, 2, 3, 4, 5, 6), error_if_malformed=False)
