"""A table of objects travels between PyTorch and retrograd, in both formats, both ways."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import retrograd
from tests.serialization.objects import TABLE, Colour, described, loaded, memory_of, saved

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Sparse (invariant checks|CSR tensor support)"),
    pytest.mark.filterwarnings("ignore:TypedStorage is deprecated"),
]

FORMATS = {"zip": {}, "legacy": {"_use_new_zipfile_serialization": False}}
_LAZY = ("conjugated", "negated")
_NEWER = ("newer dtypes of tensors", "a parameter of a newer dtype")


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", TABLE)
def test_we_read_files_of_pytorch(name: str, form: str, weights_only: bool) -> None:
    content = saved(torch, TABLE[name](torch), **FORMATS[form])
    if form == "legacy" and name in _LAZY:
        with pytest.raises(NotImplementedError, match="lazily conjugated"):
            loaded(retrograd, content, weights_only=weights_only)
        return
    found = loaded(retrograd, content, weights_only=weights_only)
    if form == "legacy" and name in _NEWER:  # which PyTorch writes and cannot read again
        theirs = TABLE[name](torch)
    else:
        theirs = loaded(torch, content, weights_only=weights_only)
    if name in _LAZY:
        theirs = theirs.resolve_conj().resolve_neg()
        found, theirs = found.contiguous(), theirs.contiguous()
    assert described(found) == described(theirs)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", TABLE)
def test_pytorch_reads_our_files(name: str, form: str, weights_only: bool) -> None:
    ours = TABLE[name](retrograd)
    content = saved(retrograd, ours, **FORMATS[form])
    again = loaded(retrograd, content, weights_only=weights_only)
    if form == "legacy" and name in _NEWER:
        found = again
    else:
        found = loaded(torch, content, weights_only=weights_only)
    assert described(found) == described(again)
    if name not in ("computed", *_LAZY):
        assert described(found) == described(ours)


def test_shared_storages_stay_shared() -> None:
    for write, read in ((torch, retrograd), (retrograd, torch), (retrograd, retrograd)):
        found = loaded(read, saved(write, TABLE["shared storages"](write)))
        assert memory_of(found) == [0, 0, 0, 0]
        found[0][2] = 99.0
        assert [found[1][0].item(), found[2][2, 0].item(), found[3][1].item()] == [99.0] * 3
        twice = loaded(read, saved(write, TABLE["the same tensor twice"](write)))
        assert twice[0] is twice[1]


def test_sparse_rows() -> None:
    def make(library: Any) -> Any:
        return library.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0], (2, 3))

    for form in FORMATS.values():
        for write, read in ((torch, retrograd), (retrograd, torch)):
            found = loaded(read, saved(write, make(write), **form))
            assert found.to_dense().tolist() == [[0, 0, 3], [4, 0, 5]]
            assert str(found.layout) == "torch.sparse_csr"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["quantized", "nested", "float8"])
def test_what_is_not_supported_is_refused_by_name(name: str) -> None:
    value = {
        "quantized": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
        "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        "float8": lambda: torch.ones(2).to(torch.float8_e4m3fn),
    }[name]()
    word = {"quantized": "qint8|quantized", "float8": "float8"}.get(name, name)
    with pytest.raises(NotImplementedError, match=word):
        loaded(retrograd, saved(torch, {"model": {"weight": value}}))


def test_tensors_without_elements_go_both_ways() -> None:
    for write, read in ((torch, retrograd), (retrograd, torch)):
        value = write.ones(4, 3, dtype=write.float64, device="meta").t()
        found = loaded(read, saved(write, {"model": {"weight": value}}))["model"]["weight"]
        assert found.is_meta and str(found.dtype) == "torch.float64"
        assert (tuple(found.shape), found.stride()) == ((3, 4), (1, 3))


def test_whole_modules_of_pytorch_load_if_they_are_trusted() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    content = saved(torch, model)
    x = [[1.0, 2.0, 3.0]]
    expected = model(torch.tensor(x)).tolist()
    with pytest.raises(Exception, match=r"GLOBAL torch.nn.modules.container.Sequential was not"):
        loaded(retrograd, content)
    found = loaded(retrograd, content, weights_only=False)
    assert found(retrograd.tensor(x)).tolist()[0] == pytest.approx(expected[0], rel=1e-6)
    nn = retrograd.nn
    with retrograd.serialization.safe_globals([nn.Sequential, nn.Linear, nn.Tanh]):
        found = loaded(retrograd, content)
    assert type(found) is nn.Sequential
    assert found(retrograd.tensor(x)).tolist()[0] == pytest.approx(expected[0], rel=1e-6)


LAYERS = {
    "linear": lambda nn: nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.LayerNorm(4)),
    "dropout": lambda nn: nn.Sequential(nn.Dropout(0.5), nn.Linear(6, 2), nn.Softmax(-1)).eval(),
    "norm": lambda nn: nn.Sequential(nn.BatchNorm1d(6), nn.Tanh()),
    "conv": lambda nn: nn.Sequential(nn.Unflatten(1, (1, 6)), nn.Conv1d(1, 2, 3), nn.MaxPool1d(2)),
    "list": lambda nn: nn.ModuleList([nn.Linear(6, 4)]),
    "lstm": lambda nn: nn.LSTM(6, 3),
    "attention": lambda nn: nn.TransformerEncoderLayer(6, 2, 8, batch_first=True).eval(),
}


_ONLY_FROM_PYTORCH = ("lstm", "attention")  # whose attributes are not quite PyTorch's here


@pytest.mark.parametrize("name", LAYERS)
def test_whole_modules_travel(name: str) -> None:
    x = [[1.0, 2.0, -3.0, 0.5, 0.25, 1.5], [0.0, 1.0, 2.0, -1.0, 0.5, 0.75]]
    ways = [(torch, retrograd), (retrograd, retrograd)]
    if name not in _ONLY_FROM_PYTORCH:
        ways.append((retrograd, torch))
    for write, read in ways:
        model = LAYERS[name](write.nn)
        found = loaded(read, saved(write, model), weights_only=False)
        assert type(found).__name__ == type(model).__name__
        assert repr(found) == repr(model)
        if name == "list":
            model, found = model[0], found[0]
        results = [part(library.tensor(x)) for part, library in ((model, write), (found, read))]
        ours, theirs = (result[0] if name == "lstm" else result for result in results)
        for one, other in zip(ours.reshape(-1).tolist(), theirs.reshape(-1).tolist(), strict=True):
            assert one == pytest.approx(other, rel=1e-5, abs=1e-6)


def test_functions_of_layers_travel() -> None:
    for write, read in ((torch, retrograd), (retrograd, torch), (retrograd, retrograd)):
        content = saved(write, [write.nn.functional.gelu, write.nn.functional.relu])
        found = loaded(read, content, weights_only=False)
        assert found == [read.nn.functional.gelu, read.nn.functional.relu]


def test_lazy_parameters() -> None:
    allowed = "UninitializedParameter"
    for write, read in ((torch, retrograd), (retrograd, torch)):
        content = saved(write, [write.nn.parameter.UninitializedParameter()])
        with pytest.raises(Exception, match=f"GLOBAL torch.nn.parameter.{allowed} was not"):
            loaded(read, content)
        with read.serialization.safe_globals([getattr(read.nn.parameter, allowed)]):
            assert type(loaded(read, content)[0]).__name__ == allowed


def test_numpy_scalars_and_arrays_if_they_are_allowed() -> None:
    import numpy as np

    content = saved(torch, {"scalar": np.float64(1.5), "array": np.arange(3)})
    assert saved(retrograd, {"scalar": np.float64(1.5), "array": np.arange(3)})
    with pytest.raises(Exception, match="was not an allowed global"):
        loaded(retrograd, content)
    names = sorted(_serialization(retrograd, content))
    assert names == sorted(_serialization(torch, content))
    numpy_names = [
        (np._core.multiarray.scalar, "numpy._core.multiarray.scalar"),
        (np._core.multiarray._reconstruct, "numpy._core.multiarray._reconstruct"),
        *(np.dtype, np.ndarray, np.dtypes.Float64DType, np.dtypes.Int64DType),
    ]
    for library in (torch, retrograd):
        with library.serialization.safe_globals(numpy_names):
            found = loaded(library, content)
        assert found["scalar"] == 1.5 and found["array"].tolist() == [0, 1, 2]


def _serialization(library: Any, content: bytes) -> list[str]:
    import io

    found: list[str] = library.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(content))
    return found


def test_enums_if_they_are_allowed() -> None:
    for write, read in ((torch, retrograd), (retrograd, torch), (retrograd, retrograd)):
        content = saved(write, [Colour.RED])
        with pytest.raises(Exception, match="Colour was not an allowed global"):
            loaded(read, content)
        with read.serialization.safe_globals([Colour]):
            assert loaded(read, content) == [Colour.RED]


def test_files_are_mapped_by_pytorch(tmp_path: Any) -> None:
    path = tmp_path / "ours.pt"
    retrograd.save([retrograd.arange(100.0), retrograd.ones(3, dtype=retrograd.int8)], path)
    found = torch.load(path, mmap=True)
    assert found[0].tolist() == list(range(100)) and found[1].tolist() == [1, 1, 1]
    assert found[0].data_ptr() % 64 == 0


def test_storages() -> None:
    for write, read in ((torch, retrograd), (retrograd, torch), (retrograd, retrograd)):
        tensor = write.arange(3.0)
        found = loaded(read, saved(write, [tensor, tensor.clone().untyped_storage()]))
        assert type(found[1]).__name__ == "TypedStorage"
        assert len(found[1]) == 12
    for library in (torch, retrograd):
        tensor = library.arange(4.0)
        with pytest.raises(RuntimeError, match=r"^Cannot save multiple tensors or storages that"):
            saved(library, [tensor, tensor.view(library.int32)])


def test_the_byte_order_of_the_file() -> None:
    import io
    import zipfile

    values = {name: TABLE["dtypes of tensors"](torch)[name] for name in ("float32", "complex64")}
    content = saved(torch, {**values, "flags": torch.tensor([True, False])})
    turned = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(turned, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("byteorder"):
                data = b"big"
            elif "/data/" in name and len(data) > 3:
                data = b"".join(data[i : i + 4][::-1] for i in range(0, len(data), 4))
            target.writestr(name, data)
    for library in (torch, retrograd):
        found = loaded(library, turned.getvalue())
        assert found["float32"].tolist() == [0, 1, 1]
        assert found["complex64"].tolist() == [0, 1, 1]
        assert found["flags"].tolist() == [True, False]
