"""PyTorch's longer import paths, parallel wrappers and old layers, beside PyTorch's."""

from __future__ import annotations

import importlib
import io
import pickle
import pkgutil
from typing import Any

import numpy as np
import pytest

import retrograd
from tests.nn.beside import same, same_error

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

BOTH = (retrograd, torch)
# the implementation of PyTorch's chunked loss and of autograd functions, which are no layers
INTERNAL = {"_functions", "linear_cross_entropy"}
FILES = sorted(
    module.name for module in pkgutil.iter_modules(torch.nn.modules.__path__)
    if module.name not in INTERNAL
)  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_public_name_of_a_file(name: str) -> None:
    real = importlib.import_module(f"torch.nn.modules.{name}")
    ours = importlib.import_module(f"retrograd.nn.modules.{name}")
    wanted = {key for key, value in vars(real).items()
              if not key.startswith("_") and isinstance(value, type)
              and value.__module__ == real.__name__}  # fmt: skip
    missing = [key for key in wanted if not hasattr(ours, key)]
    assert missing == []
    for key in wanted & set(dir(torch.nn)):
        assert getattr(ours, key) is getattr(retrograd.nn, key)
        assert getattr(ours, key) is getattr(retrograd.nn.modules, key)


@pytest.mark.parametrize(
    "path",
    """linear.NonDynamicallyQuantizableLinear loss._Loss loss._WeightedLoss batchnorm._BatchNorm
    batchnorm._NormBase conv._ConvNd conv._ConvTransposeNd conv._LazyConvXdMixin
    instancenorm._InstanceNorm dropout._DropoutNd pooling._MaxPoolNd pooling._AvgPoolNd
    pooling._AdaptiveAvgPoolNd padding._ConstantPadNd lazy.LazyModuleMixin module._IncompatibleKeys
    module.register_module_forward_hook module.register_module_full_backward_hook utils._pair
    utils._ntuple utils._single utils._triple utils._reverse_repeat_tuple utils._list_with_default
    utils.consume_prefix_in_state_dict_if_present adaptive._ASMoutput""".split(),
)
def test_private_names_that_programs_use(path: str) -> None:
    file, name = path.split(".")
    for library in ("torch", "retrograd"):
        module = importlib.import_module(f"{library}.nn.modules.{file}")
        assert getattr(module, name).__name__.lstrip("_") == name.lstrip("_")


def test_isinstance_over_the_private_bases() -> None:
    nn = retrograd.nn
    assert isinstance(nn.Conv2d(1, 1, 1), nn.modules.conv._ConvNd)
    assert isinstance(nn.BatchNorm2d(1), nn.modules.batchnorm._BatchNorm)
    assert isinstance(nn.MSELoss(), nn.modules.loss._Loss)
    assert not isinstance(nn.InstanceNorm2d(1), nn.modules.batchnorm._BatchNorm)


@pytest.mark.parametrize("value", [1, (2, 3), [4], range(3), "ab"])
def test_tuples(value: Any) -> None:
    utils = [t.nn.modules.utils for t in BOTH]
    for name in ("_single", "_pair", "_triple", "_quadruple"):
        assert getattr(utils[0], name)(value) == getattr(utils[1], name)(value)
    assert utils[0]._reverse_repeat_tuple((1, 2), 2) == utils[1]._reverse_repeat_tuple((1, 2), 2)
    sizes = ([None, 5], [7, 8, 9])
    assert utils[0]._list_with_default(*sizes) == utils[1]._list_with_default(*sizes)


def test_prefixes_of_state_dicts() -> None:
    found = []
    for t in BOTH:
        state = t.nn.DataParallel(t.nn.Sequential(t.nn.Linear(2, 1))).state_dict()
        t.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
        found.append((list(state), sorted(state._metadata)))
        t.nn.Sequential(t.nn.Linear(2, 1)).load_state_dict(state)
    assert found[0] == found[1]


def test_common_types() -> None:
    ours, theirs = (
        importlib.import_module(f"{library}.nn.common_types") for library in ("retrograd", "torch")
    )
    names = [name for name in dir(theirs) if name.endswith("_t")]
    assert len(names) > 20
    for name in names:
        if "tensor" not in name and "indices" not in name:
            assert repr(getattr(ours, name)) == repr(getattr(theirs, name))
        assert hasattr(ours, name)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(
    "options", [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2}, {"padding": "each"}]
)
def test_gradients_of_convolutions(rank: int, options: dict[str, Any]) -> None:
    options = {k: tuple(range(rank)) if v == "each" else v for k, v in options.items()}
    generator = np.random.default_rng(rank)
    groups = options.get("groups", 1)
    x, w = (2, 4, *(7,) * rank), (6, 4 // groups, *(3,) * rank)
    arrays = [generator.normal(size=shape) for shape in (x, w)]
    results = []
    for t in BOTH:
        signal, weight = (t.tensor(a) for a in arrays)
        output = getattr(t.nn.functional, f"conv{rank}d")(signal, weight, **options)
        grad = (output * 0.3).sin()
        by_input = getattr(t.nn.grad, f"conv{rank}d_input")(x, weight, grad, **options)
        by_weight = getattr(t.nn.grad, f"conv{rank}d_weight")(signal, w, grad, **options)
        results.append((by_input, by_weight))
    for ours, theirs in zip(*results, strict=True):
        same(ours, theirs, rtol=1e-10, atol=1e-11)


def test_data_parallel_without_devices() -> None:
    seen = []
    for t in BOTH:
        t.manual_seed(0)
        model = t.nn.DataParallel(t.nn.Linear(2, 1), device_ids=[0, 1])
        result = model(t.ones(3, 2))
        seen.append((repr(model), list(model.state_dict()), model.device_ids, result.tolist()))
    assert seen[0][:3] == seen[1][:3]
    np.testing.assert_allclose(seen[0][3], seen[1][3], rtol=1e-6)


def empty(t: Any) -> Any:
    return t.nn.Linear(2, 1)


ERRORS = {
    "data_parallel": lambda t: t.nn.parallel.data_parallel(empty(t), t.zeros(1, 2)),
    "distributed": lambda t: t.nn.parallel.DistributedDataParallel(empty(t)),
    "replicate": lambda t: t.nn.parallel.replicate(empty(t), [0]),
    "gather": lambda t: t.nn.parallel.gather([t.zeros(2)], 0),
    "apply": lambda t: t.nn.parallel.parallel_apply([empty(t)], [(t.zeros(1, 2),)]),
    "apply unequal": lambda t: t.nn.parallel.parallel_apply([empty(t)], []),
    "factory unknown": lambda t: t.nn.factory_kwargs({"strange": 1}),
    "factory twice": lambda t: t.nn.factory_kwargs({"device": 1, "factory_kwargs": {"device": 2}}),
    "lrn dimensions": lambda t: t.nn.CrossMapLRN2d(3)(t.zeros(2, 3)),
    "lrn of one": lambda t: (
        t.nn.CrossMapLRN2d(1)(t.ones(1, 2, 1, 1, requires_grad=True)).sum().backward()
    ),
    "options policy": lambda t: t.nn.LinearCrossEntropyOptions(acc_policy="x"),
    "options method": lambda t: t.nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio:0"),
    "options size": lambda t: t.nn.LinearCrossEntropyOptions(batch_chunk_size=-1),
    "options dtype": lambda t: t.nn.LinearCrossEntropyOptions(acc_dtype=t.int64),
    "loss weight": lambda t: t.nn.LinearCrossEntropyLoss(2, 3, weight=t.ones(2)),
    "loss smoothing": lambda t: t.nn.LinearCrossEntropyLoss(2, 3, label_smoothing=1.5),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    same_error(torch, ERRORS[name])


def test_container_warns() -> None:
    for t in BOTH:
        with pytest.warns(FutureWarning, match=r"`nn.Container` is deprecated\. All of its"):
            made = t.nn.Container(first=t.nn.ReLU())
        assert repr(made) == "Container(\n  (first): ReLU()\n)"


@pytest.mark.parametrize(("size", "channels"), [(2, 3), (3, 2), (3, 9), (4, 8), (5, 7), (5, 12)])
def test_cross_map_normalization(size: int, channels: int) -> None:
    array = np.random.default_rng(0).normal(size=(2, channels, 3, 2)) * 3
    results = []
    for t in BOTH:
        x = t.tensor(array, requires_grad=True)
        layer = t.nn.CrossMapLRN2d(size, 0.3, 0.75, 2.0)
        output = layer(x)
        output.square().sum().backward()
        results.append((repr(layer), output, x.grad))
    assert results[0][0] == results[1][0]
    same(results[0][1], results[1][1], rtol=1e-10, atol=1e-12)
    same(results[0][2], results[1][2], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bias": True, "reduction": "sum", "ignore_index": 1},
        {"out_features": (2,), "bias": True, "label_smoothing": 0.1},
        {"options": True, "reduction": "none"},
    ],
)
def test_linear_cross_entropy_loss(options: dict[str, Any]) -> None:
    generator = np.random.default_rng(2)
    array = generator.normal(size=(4, 5)).astype(np.float32)
    target = generator.integers(0, 3, size=(4, *options.get("out_features", ())))
    results = []
    for t in BOTH:
        chosen = dict(options)
        if chosen.get("options"):
            chosen["options"] = t.nn.LinearCrossEntropyOptions(batch_chunk_size=2,
                                                               chunking_method=None)  # fmt: skip
        t.manual_seed(1)
        loss = t.nn.LinearCrossEntropyLoss(5, 3, **chosen)
        x = t.tensor(array, requires_grad=True)
        value = loss(x, t.tensor(target))
        value.sum().backward()
        results.append((repr(loss), [value, x.grad, *(p.grad for p in loss.parameters())]))
    assert results[0][0] == results[1][0]
    for ours, theirs in zip(results[0][1], results[1][1], strict=True):
        same(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_functions_of_packed_sequences(kind: str) -> None:
    """The functions take the layer's weights and packed data."""
    array = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
    results = []
    for t in BOTH:
        t.manual_seed(3)
        layer = getattr(t.nn, kind)(3, 2, num_layers=2, bidirectional=True)
        state = t.full((4, 3, 2), 0.25)
        function = {"LSTM": t.lstm, "GRU": t.gru, "RNN": t.rnn_tanh}[kind]
        hx = [state, state] if kind == "LSTM" else state
        data, sizes = t.tensor(array, requires_grad=True), t.tensor([3, 1, 1])
        weights = [p for part in layer.all_weights for p in part]
        found = function(data, sizes, hx, weights, True, 2, 0.0, False, True)
        sum((part * part).sum() for part in found).backward()
        results.append([*found, data.grad, layer.weight_hh_l1.grad])
    for ours, theirs in zip(*results, strict=True):
        same(ours, theirs, rtol=1e-4, atol=1e-6)


def test_dropout_with_its_mask() -> None:
    for p in (0.3, 1.0):
        found = []
        for t in BOTH:
            t.manual_seed(6)
            found.append(t.native_dropout(t.arange(1.0, 50.0), p, True))
        assert found[0][1].tolist() == found[1][1].tolist()
        same(found[0][0], found[1][0], rtol=1e-6, atol=0)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("padding_idx", [None, 0, -1])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("grad", [False, True])
def test_bags_with_their_facts(
    mode: int, padding_idx: int | None, last: bool, dtype: str, grad: bool
) -> None:
    found = []
    for t in BOTH:
        table = t.arange(8.0, dtype=getattr(t, dtype)).cos().view(4, 2).requires_grad_(grad)
        starts = t.tensor([0, 2, 2, 4, 5] if last else [0, 2, 2, 4])
        rows = t.tensor([0, 1, 3, 0, 2])
        options = (False, mode, False, None, last)
        if padding_idx is not None:
            options = (*options, padding_idx)
        found.append(t.embedding_bag(table, rows, starts, *options))
    for ours, theirs in zip(*found, strict=True):
        same(ours, theirs, rtol=1e-6, atol=1e-7)


def test_group_norm_with_its_statistics() -> None:
    array = np.random.default_rng(5).normal(size=(2, 4, 3))
    results = []
    for t in BOTH:
        x, weight = t.tensor(array, requires_grad=True), t.arange(1.0, 5.0, dtype=t.float64)
        found = t.native_group_norm(x, weight, None, 2, 4, 3, 2, 1e-5)
        sum((part * part * part).sum() for part in found).backward()
        results.append([*found, x.grad])
    for ours, theirs in zip(*results, strict=True):
        same(ours, theirs, rtol=1e-9, atol=1e-10)
    same_error(
        torch,
        lambda t: t.native_group_norm(
            t.zeros(2, 3, 4).transpose(1, 2), None, None, 2, 4, 3, 2, 1e-5
        ),
    )


# --------------------------------------------------------------------------------------- pickles


class Model(retrograd.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = retrograd.nn.Linear(2, 1)
        self.layer.weight.tag = "kept"
        self.activation = retrograd.nn.functional.relu


def test_whole_models_keep_attributes_and_functions() -> None:
    file = io.BytesIO()
    retrograd.save(Model(), file)
    saved = retrograd.load(io.BytesIO(file.getvalue()), weights_only=False)
    for model in (saved, pickle.loads(pickle.dumps(Model()))):
        assert model.layer.weight.tag == "kept"
        assert type(model.layer.weight) is retrograd.nn.Parameter
        assert model.activation is retrograd.nn.functional.relu


@pytest.mark.parametrize("writer", BOTH, ids=["from retrograd", "from torch"])
def test_attributes_of_parameters_cross_over(writer: Any) -> None:
    reader = torch if writer is retrograd else retrograd
    layer = writer.nn.Linear(2, 1)
    layer.weight.tag = {"origin": 3}
    file = io.BytesIO()
    writer.save(layer.state_dict(keep_vars=True), file)
    state = reader.load(io.BytesIO(file.getvalue()))
    assert state["weight"].tag == {"origin": 3}
    assert not hasattr(state["bias"], "tag")


def test_modules_that_torch_pickled() -> None:
    parts = [torch.nn.Linear(2, 3), torch.nn.MultiheadAttention(4, 2), torch.nn.LazyConv2d(2, 3),
             torch.nn.LSTM(2, 3), torch.nn.BatchNorm1d(3), torch.nn.FractionalMaxPool2d(2, 3),
             torch.nn.AdaptiveLogSoftmaxWithLoss(4, 9, [3])]  # fmt: skip
    file = io.BytesIO()
    torch.save(torch.nn.Sequential(*parts), file)
    loaded = retrograd.load(io.BytesIO(file.getvalue()), weights_only=False)
    assert repr(loaded) == repr(torch.nn.Sequential(*parts))
    assert type(loaded[0]) is retrograd.nn.Linear
    assert loaded[0].weight.tolist() == parts[0].weight.tolist()


@pytest.mark.parametrize("space", ["", "nn.functional", "linalg", "special", "fft"])
def test_public_functions_can_be_pickled(space: str) -> None:
    module = importlib.import_module(f"retrograd.{space}".rstrip("."))
    failing = []
    for name, value in vars(module).items():
        if callable(value) and not name.startswith("_") and not isinstance(value, type):
            if pickle.loads(pickle.dumps(value)) is not value:
                failing.append(name)
    assert failing == []


def test_lazy_states_cross_over() -> None:
    for writer, reader in (BOTH, BOTH[::-1]):
        file = io.BytesIO()
        writer.save(writer.nn.LazyLinear(2).state_dict(), file)
        state = reader.load(io.BytesIO(file.getvalue()), weights_only=False)
        assert repr(state["weight"]) == "<UninitializedParameter>"
        assert isinstance(state["weight"], reader.nn.UninitializedParameter)
