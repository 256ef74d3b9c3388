"""state_dict and load_state_dict, in small programs that run with both libraries."""

from __future__ import annotations

import io
from collections import OrderedDict

import pytest

import retrograd
from tests.autograd.outcomes import assert_same, plain

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SCENARIOS = []


def scenario(function):
    SCENARIOS.append(pytest.param(function, id=function.__name__))
    return function


@pytest.mark.parametrize("run", SCENARIOS)
def test_scenario(run):
    assert_same(run, torch)


def block(lib):
    nn = lib.nn
    return nn.Sequential(
        OrderedDict(first=nn.Linear(2, 3), norm=nn.BatchNorm1d(3), last=nn.Linear(3, 1, bias=False))
    )


def whole(error):
    """All of an error's own text, line by line."""
    return str(error).split("\n\n")[0].split("\n")


def load(log, model, state, **options):
    """Load and log what came of it, with every line of an error."""
    try:
        result = model.load_state_dict(state, **options)
    except Exception as error:
        log(type(error).__name__, whole(error))
        return
    log(str(result), list(result), repr(result))
    log(result.missing_keys, result.unexpected_keys)


@scenario
def keys_that_do_not_fit(lib, log):
    model = block(lib)
    state = model.state_dict()
    load(log, model, state)
    for change in (
        {"extra": lib.ones(1)},
        {"first.extra": lib.ones(1), "norm.other.deep": lib.ones(1)},
        {"first.weight": lib.ones(2, 2)},
        {"first.weight": lib.ones(())},
        {"norm.num_batches_tracked": lib.ones(1, dtype=lib.int64)},
        {"first.weight": 3.0},
        {"first.weight": [1.0]},
        {"first.weight": None},
        {"first.bias": lib.ones(3, dtype=lib.float64)},
        {"first.bias": lib.ones(3, dtype=lib.int64)},
    ):
        changed = OrderedDict(state)
        changed.update(change)
        load(log, model, changed)
        load(log, model, changed, strict=False)
    for missing in ("first.weight", "norm.running_mean", "norm.num_batches_tracked"):
        changed = OrderedDict(state)
        del changed[missing]
        load(log, model, changed)
        load(log, model, changed, strict=False)
        changed["strange"] = lib.ones(1)
        load(log, model, changed)
    load(log, model, {})
    load(log, model, dict(state))
    load(log, model, [("a", 1)])
    load(log, model, None)
    log(model.first.bias.dtype == lib.float32, model.first.bias)


@scenario
def scalars_and_vectors_of_one(lib, log):
    scalar, vector = lib.nn.Module(), lib.nn.Module()
    scalar.p = lib.nn.Parameter(lib.tensor(1.0))
    vector.p = lib.nn.Parameter(lib.tensor([2.0]))
    load(log, scalar, vector.state_dict())
    log(scalar.p, vector.p)
    load(log, vector, {"p": lib.tensor(3.0)})
    log(vector.p)
    load(log, scalar, {"p": lib.ones(2)})


@scenario
def values_are_shared_or_copied(lib, log):
    model = block(lib)
    state = model.state_dict()
    log(state["first.weight"].requires_grad, type(state["first.weight"]).__name__)
    with lib.no_grad():
        model.first.weight.fill_(7.0)
    log(state["first.weight"])
    kept = model.state_dict(keep_vars=True)
    log(kept["first.weight"] is model.first.weight, kept["norm.running_mean"].requires_grad)
    log(list(model.state_dict(prefix="p.")), list(model.first.state_dict(prefix="")))
    target = OrderedDict(old=1)
    log(model.state_dict(destination=target) is target, list(target))
    log(model.state_dict("positional") if False else None)
    other = block(lib)
    versions = other.first.weight._version
    identity = other.first.weight
    load(log, other, state)
    log(other.first.weight is identity, other.first.weight._version - versions)
    model.first.weight.data.zero_()
    log(other.first.weight)
    frozen = block(lib).requires_grad_(False)
    load(log, frozen, state)
    log(frozen.first.weight.requires_grad)


@scenario
def assigned_instead_of_copied(lib, log):
    model = block(lib)
    state = OrderedDict(
        (k, v.double() if v.is_floating_point() else v) for k, v in block(lib).state_dict().items()
    )
    load(log, model, state, assign=True)
    log(str(model.first.weight.dtype), type(model.first.weight).__name__)
    log(model.first.weight.requires_grad, model.norm.running_mean is state["norm.running_mean"])
    state["first.weight"].fill_(3.0)
    log(model.first.weight)
    model.requires_grad_(False)
    load(log, model, block(lib).state_dict(), assign=True)
    log(model.first.weight.requires_grad)
    given = {k: lib.nn.Parameter(v) if v.is_floating_point() else v for k, v in state.items()}
    load(log, model, given, assign=True)
    log(model.first.weight.requires_grad, model.first.weight is given["first.weight"])
    load(log, model, {"first.weight": lib.ones(1)}, assign=True, strict=False)
    load(log, model, {"first.weight": "text"}, assign=True, strict=False)


@scenario
def modules_on_the_meta_device(lib, log):
    with lib.device("cpu"):
        model = lib.nn.Linear(2, 2)
    log(model.weight.device.type)
    log(type(lib.nn.Linear(2, 2, device="cpu", dtype=lib.float64).weight).__name__)
    made = lib.nn.utils.skip_init(lib.nn.Linear, 2, 2)
    log(tuple(made.weight.shape), made.weight.requires_grad)


@scenario
def hooks_around_state(lib, log):
    model = block(lib)
    inner = model.first

    def saved(module, state, prefix, metadata):
        log("saved", type(module).__name__, prefix, list(state), metadata.get("version"))
        state[prefix + "note"] = lib.ones(1)

    def before(module, prefix, keep_vars):
        log("before", type(module).__name__, prefix, keep_vars)

    def loading(state, prefix, metadata, strict, missing, unexpected, errors):
        log("loading", prefix, metadata.get("version"), strict, missing, unexpected, errors)
        state.pop(prefix + "note", None)

    def loading_with(module, state, prefix, metadata, strict, missing, unexpected, errors):
        log("loading with", type(module).__name__, prefix, strict)

    def loaded(module, keys):
        log("loaded", type(module).__name__, keys.missing_keys, keys.unexpected_keys)
        keys.missing_keys.clear()

    handles = [
        model.register_state_dict_post_hook(saved),
        inner.register_state_dict_post_hook(saved),
        inner.register_state_dict_pre_hook(before),
        inner._register_load_state_dict_pre_hook(loading),
        inner.register_load_state_dict_pre_hook(loading_with),
        inner.register_load_state_dict_post_hook(loaded),
        model.register_load_state_dict_post_hook(loaded),
    ]
    state = model.state_dict(prefix="p.")
    log(list(state))
    plain_state = {key.removeprefix("p."): value for key, value in state.items()}
    load(log, model, plain_state)
    plain_state.pop("note", None)
    plain_state.pop("last.weight")
    load(log, model, plain_state)
    for handle in handles:
        handle.remove()
    log(list(model.state_dict()))
    load(log, model, model.state_dict())
    old = model._register_state_dict_hook(lambda module, state, prefix, meta: OrderedDict(a=1))
    log(dict(model.state_dict()))
    old.remove()
    wrong = model.register_state_dict_post_hook(lambda *args: OrderedDict())
    log.attempt(lambda: model.state_dict())
    wrong.remove()
    wrong = model.register_load_state_dict_post_hook(lambda module, keys: keys)
    log.attempt(lambda: model.load_state_dict(model.state_dict()))
    wrong.remove()
    log.attempt(lambda: model.register_state_dict_post_hook(model._register_state_dict_hook))


@scenario
def extra_state(lib, log):
    class Counting(lib.nn.Module):
        def __init__(self, start):
            super().__init__()
            self.count = start

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            log("set", state["count"])
            self.count = state["count"]

    class OnlyGet(lib.nn.Module):
        def get_extra_state(self):
            return 5

    model = lib.nn.Sequential(Counting(4), lib.nn.Linear(1, 1))
    state = model.state_dict()
    log(list(state), state["0._extra_state"]["count"])
    twin = lib.nn.Sequential(Counting(1), lib.nn.Linear(1, 1))
    load(log, twin, state)
    log(twin[0].count)
    del state["0._extra_state"]
    load(log, twin, state)
    load(log, twin, state, strict=False)
    plain_net = lib.nn.Sequential(lib.nn.ReLU(), lib.nn.Linear(1, 1))
    load(log, plain_net, model.state_dict())
    only = OnlyGet()
    log(list(only.state_dict()))
    load(log, lib.nn.Module(), only.state_dict())


@scenario
def versions_of_layers(lib, log):
    model = block(lib)
    metadata = model.state_dict()._metadata
    log(list(metadata), [entry.get("version") for entry in metadata.values()])
    log(model.norm._version, model._version, model.first._version)
    old = model.state_dict()
    del old["norm.num_batches_tracked"]
    old._metadata["norm"]["version"] = 1
    load(log, model, old)
    log(model.norm.num_batches_tracked)
    bare = OrderedDict(old)
    load(log, model, bare)
    instance = lib.nn.InstanceNorm1d(2)
    old = OrderedDict(running_mean=lib.ones(2), running_var=lib.ones(2))
    load(log, instance, old)
    old._metadata = {"": {"version": 2}}
    load(log, instance, old)


@scenario
def modules_that_save_themselves(lib, log):
    class Own(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = lib.nn.Linear(1, 1)
            self.value = 3

        def _save_to_state_dict(self, destination, prefix, keep_vars):
            log("save", prefix, keep_vars)
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "serialized"] = self.value

        def _load_from_state_dict(self, state, prefix, *rest):
            log("load", prefix, len(rest))
            self.value = state.pop(prefix + "serialized", None)
            super()._load_from_state_dict(state, prefix, *rest)

    model = lib.nn.Sequential(Own(), Own())
    state = model.state_dict()
    log(list(state))
    model[0].value = 9
    load(log, model, state)
    log(model[0].value, list(state))


@scenario
def buffers_that_are_not_saved(lib, log):
    model = lib.nn.Module()
    model.register_buffer("kept", lib.ones(1))
    model.register_buffer("lost", lib.ones(1), persistent=False)
    model.register_buffer("none", None)
    log(list(model.state_dict()), sorted(model._non_persistent_buffers_set))
    load(log, model, {"kept": lib.zeros(1), "lost": lib.zeros(1)})
    model.register_buffer("lost", lib.zeros(1))
    log(list(model.state_dict()))
    model.register_buffer("kept", lib.zeros(1), persistent=False)
    log(list(model.state_dict()))
    del model.kept
    model.register_buffer("kept", lib.zeros(1))
    log(list(model.state_dict()))
    model.register_parameter("nothing", None)
    load(log, model, {"kept": lib.ones(1), "lost": lib.ones(1), "nothing": lib.ones(1)})


FILES = [
    (lambda lib: block(lib), "Sequential"),
    (lambda lib: lib.nn.LSTM(2, 3, 2, bidirectional=True), "LSTM"),
    (lambda lib: lib.nn.TransformerEncoderLayer(4, 2, 8), "TransformerEncoderLayer"),
    (lambda lib: lib.nn.MultiheadAttention(4, 2, add_bias_kv=True), "MultiheadAttention"),
    (lambda lib: lib.nn.Conv2d(2, 3, 3).to(lib.bfloat16), "Conv2d bfloat16"),
    (lambda lib: lib.nn.Embedding(4, 2, padding_idx=1).double(), "Embedding float64"),
    (lambda lib: lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(2, 3)), "weight_norm"),
    (lambda lib: lib.nn.Bilinear(2, 3, 2).half(), "Bilinear float16"),
    (lambda lib: lib.nn.ParameterDict({"a": lib.nn.Parameter(lib.randn(2) * 1j)}), "complex"),
]


@pytest.mark.parametrize("build", [b for b, _ in FILES], ids=[name for _, name in FILES])
@pytest.mark.parametrize("direction", ["ours to theirs", "theirs to ours"])
def test_files_go_from_one_library_to_the_other(build, direction):
    giver, taker = (retrograd, torch) if direction.startswith("ours") else (torch, retrograd)
    giver.manual_seed(1), taker.manual_seed(2)
    source, target = build(giver), build(taker)
    file = io.BytesIO()
    giver.save(source.state_dict(), file)
    file.seek(0)
    state = taker.load(file, weights_only=True)
    result = target.load_state_dict(state)
    assert str(result) == "<All keys matched successfully>"
    assert list(source.state_dict()) == list(target.state_dict())
    assert state._metadata == source.state_dict()._metadata
    for key, value in target.state_dict().items():
        assert plain(value) == plain(source.state_dict()[key])
