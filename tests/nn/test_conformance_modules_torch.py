"""What a Module promises, in small programs that run with both libraries."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

import pytest

from tests.autograd.outcomes import assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SCENARIOS = []


def scenario(function):
    SCENARIOS.append(pytest.param(function, id=function.__name__))
    return function


@pytest.mark.parametrize("run", SCENARIOS)
def test_scenario(run):
    assert_same(run, torch)


def net(lib):
    """Two names for one layer, a buffer, a missing child and a nested block."""
    nn = lib.nn
    shared = nn.Linear(2, 2)
    block = nn.Module()
    block.linear1 = shared
    block.linear2 = shared
    block.bn = nn.BatchNorm1d(2)
    outer = nn.Module()
    outer.block = block
    outer.again = block
    outer.add_module("empty", None)
    outer.register_buffer("stats", lib.zeros(2))
    outer.register_buffer("hidden", lib.ones(1), persistent=False)
    outer.register_buffer("missing", None)
    return outer


@scenario
def walks_over_modules(lib, log):
    model = net(lib)
    log([name for name, _ in model.named_modules()])
    log([name for name, _ in model.named_modules(remove_duplicate=False)])
    log([name for name, _ in model.named_modules(prefix="p")])
    log([name for name, _ in model.named_children()])
    log([type(m).__name__ for m in model.children()])
    log([type(m).__name__ for m in model.modules()])
    for options in ({}, {"recurse": False}, {"prefix": "q"}, {"remove_duplicate": False}):
        log([name for name, _ in model.named_parameters(**options)])
        log([name for name, _ in model.named_buffers(**options)])
    log(list(model.state_dict()))
    log(sorted(model.state_dict()._metadata.items(), key=str).__len__())
    log(len(list(model.parameters())), len(list(model.buffers())))


@scenario
def submodules_by_path(lib, log):
    model = net(lib)
    log(model.get_submodule("") is model, model.get_submodule("block.bn") is model.block.bn)
    log(model.get_parameter("block.linear1.weight") is model.block.linear1.weight)
    log(model.get_buffer("block.bn.running_mean") is model.block.bn.running_mean)
    for path in ("block.none", "block.linear1.weight", "stats", "block.linear1.weight.x", "."):
        log.attempt(lambda path=path: type(model.get_submodule(path)).__name__)
        log.attempt(lambda path=path: type(model.get_parameter(path)).__name__)
        log.attempt(lambda path=path: type(model.get_buffer(path)).__name__)
    model.set_submodule("block.linear1", lib.nn.ReLU())
    log(repr(model.block))
    model.set_submodule("block.extra", lib.nn.Tanh())
    log(repr(model.block))
    log.attempt(lambda: model.set_submodule("", lib.nn.Tanh()))
    log.attempt(lambda: model.set_submodule("block.missing.x", lib.nn.Tanh()))
    log.attempt(lambda: model.set_submodule("block.missing", lib.nn.Tanh(), strict=True))
    log.attempt(lambda: model.set_submodule("block.bn", 3))
    log.attempt(lambda: model.set_submodule("stats", lib.nn.Tanh()))


@scenario
def what_names_are_refused(lib, log):
    nn = lib.nn
    model = net(lib)
    weight = nn.Parameter(lib.ones(2))
    for name in ("a.b", "", "block", "stats", "training", "forward", 5, None, "fresh"):
        log.attempt(lambda name=name: model.register_parameter(name, weight))
        log.attempt(lambda name=name: model.register_buffer(name, lib.ones(1)))
        log.attempt(lambda name=name: model.add_module(name, nn.ReLU()))
        log.attempt(lambda name=name: model.register_module(name, nn.ReLU()))
    log.attempt(lambda: model.register_parameter("x", lib.ones(1)))
    log.attempt(lambda: model.register_parameter("x", "text"))
    log.attempt(lambda: model.register_parameter("x", weight * 2))
    log.attempt(lambda: model.register_buffer("y", "text"))
    log.attempt(lambda: model.register_buffer("y", [1]))
    log.attempt(lambda: model.add_module("z", "text"))
    log.attempt(lambda: model.add_module("z", dict))
    log([n for n, _ in model.named_parameters()], [n for n, _ in model.named_buffers()])


@scenario
def assignments_to_attributes(lib, log):
    nn = lib.nn
    model = nn.Linear(2, 2)

    def put(name, value):
        return lambda: setattr(model, name, value)

    log.attempt(put("weight", lib.ones(2, 2)))
    log.attempt(put("weight", "text"))
    log.attempt(put("weight", None))
    log(model.weight, [n for n, _ in model.named_parameters()])
    log.attempt(put("weight", nn.Parameter(lib.ones(2, 2))))
    log.attempt(put("relu", nn.ReLU()))
    log.attempt(put("relu", lib.ones(1)))
    log.attempt(put("relu", None))
    log(repr(model))
    model.plain = lib.ones(1)
    log("plain" in model.__dict__, [n for n, _ in model.named_buffers()])
    model.buffered = nn.Buffer(lib.ones(1))
    log([n for n, _ in model.named_buffers()], type(model.buffered).__name__)
    model.unsaved = nn.Buffer(lib.ones(1), persistent=False)
    log(list(model.state_dict()), list(dict(model.named_buffers())))
    log.attempt(put("buffered", "text"))
    log.attempt(put("buffered", None))
    log.attempt(put("buffered", lib.zeros(2)))
    log(model.buffered, "buffered" in model._buffers)
    model.buffered = nn.Parameter(lib.ones(3))
    log([n for n, _ in model.named_buffers()], [n for n, _ in model.named_parameters()])
    log.attempt(put("buffered", [1]))
    del model.weight
    log.attempt(lambda: model.weight)
    log.attempt(lambda: delattr(model, "nothing"))
    log.attempt(lambda: model.nothing)
    del model.relu, model.unsaved
    log(list(model.state_dict()), repr(model))
    log("bias" in dir(model), "weight" in dir(model), "forward" in dir(model))


@scenario
def before_the_constructor_of_module(lib, log):
    nn = lib.nn

    class Early(nn.Module):
        def __init__(self, value):
            self.value = value
            super().__init__()

    log.attempt(lambda: Early(nn.Parameter(lib.ones(1))))
    log.attempt(lambda: Early(nn.ReLU()))
    log.attempt(lambda: Early(nn.Buffer(lib.ones(1))))
    log.attempt(lambda: Early(3).value)

    class Never(nn.Module):
        def __init__(self):
            pass

    log.attempt(lambda: Never().register_buffer("a", lib.ones(1)))
    log.attempt(lambda: Never().register_parameter("a", nn.Parameter(lib.ones(1))))
    log.attempt(lambda: Never()(1))
    log.attempt(lambda: repr(Never()))
    log.attempt(lambda: Never().train())
    log.attempt(lambda: Never().weight)
    log.attempt(lambda: nn.Module(1))
    log.attempt(lambda: nn.Module(a=1))
    log.attempt(lambda: nn.Module(1, a=1))

    class Free(nn.Module):
        call_super_init = True

        def __init__(self, *args, **options):
            super().__init__(*args, **options)

    log.attempt(lambda: type(Free()).__name__)
    log.attempt(lambda: nn.Module()(1))


@scenario
def modes_and_gradients(lib, log):
    model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Sequential(lib.nn.Dropout(0.5)))
    log(model.train(False) is model, [m.training for m in model.modules()])
    log(model.eval() is model, model[1].train() is model[1], [m.training for m in model.modules()])
    for wrong in (1, "yes", None):
        log.attempt(lambda wrong=wrong: model.train(wrong))
    log(model.requires_grad_(False) is model, [p.requires_grad for p in model.parameters()])
    log.attempt(lambda: model(lib.ones(2)).sum().backward())
    model.requires_grad_()
    model(lib.ones(2)).sum().backward()
    log([p.grad for p in model.parameters()])
    model.zero_grad(set_to_none=False)
    log([p.grad for p in model.parameters()])
    model.zero_grad()
    log([p.grad for p in model.parameters()])
    (model(lib.ones(2)).sum() ** 2).backward(create_graph=True)
    model.zero_grad(set_to_none=False)
    log([p.grad for p in model.parameters()])


@scenario
def conversions(lib, log):
    model = net(lib)
    model.register_buffer("counts", lib.zeros(2, dtype=lib.int64))
    model.complex = lib.nn.Parameter(lib.ones(1, dtype=lib.complex64))
    weight = model.block.linear1.weight
    for move in (
        lambda: model.double(),
        lambda: model.to(lib.bfloat16),
        lambda: model.half(),
        lambda: model.float(),
        lambda: model.to(lib.ones(1, dtype=lib.float64)),
        lambda: model.to("cpu"),
        lambda: model.to(device="cpu", dtype=lib.float32),
        lambda: model.to(lib.device("cpu"), lib.float64, True),
        lambda: model.type(lib.float32),
        lambda: model.cpu(),
        lambda: model.to(lib.int64),
        lambda: model.to(),
        lambda: model.to("nowhere"),
        lambda: model.to(memory_format=lib.channels_last),
        lambda: model.to(lib.complex64),
        lambda: model.to_empty(device="cpu"),
    ):
        log.attempt(lambda move=move: move() is model)
        log([str(t.dtype) for t in model.state_dict().values()])
        log(model.block.linear1.weight is weight)


@scenario
def gradients_follow_conversions(lib, log):
    model = lib.nn.Linear(2, 1)
    model(lib.ones(2)).backward()
    before = model.weight.grad
    model.double()
    log(model.weight.grad.dtype == lib.float64, model.weight.grad is before)
    optimizer = lib.optim.SGD(model.parameters(), lr=1.0)
    model(lib.ones(2, dtype=lib.float64)).backward()
    optimizer.step()
    log(model.weight, model.weight.grad)
    y = model(lib.ones(2, dtype=lib.float64)).sum()
    model.float()
    log.attempt(lambda: y.backward())


@scenario
def printed_forms(lib, log):
    nn = lib.nn

    class Described(nn.Module):
        def __init__(self, text, *children):
            super().__init__()
            self.text = text
            for index, child in enumerate(children):
                self.add_module(f"child{index}", child)

        def extra_repr(self):
            return self.text

    log(repr(nn.Module()), repr(net(lib)), str(Described("one line")))
    log(repr(Described("two\nlines")), repr(Described("text", nn.ReLU(), None)))
    log(repr(Described("a\nb", Described("c\nd", nn.Linear(1, 2)), nn.Sequential())))
    log(repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Linear(1, 1), nn.ReLU()])))
    log(repr(nn.ModuleList([nn.ReLU()] * 3)), repr(nn.ModuleDict({"a": nn.ReLU(), "b": None})))
    log(repr(nn.ParameterList([nn.Parameter(lib.ones(2)), 3, "x"])))
    log(repr(nn.ParameterDict({"a": nn.Parameter(lib.ones(2)), "b": 3})))
    log(repr(nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Sequential(nn.Tanh())))))
    log(nn.Linear(1, 2)._get_name(), repr(nn.Parameter(lib.ones(1))), str(nn.Buffer(lib.ones(1))))


@scenario
def functions_over_all_modules(lib, log):
    model = net(lib)
    seen = []
    log(model.apply(lambda m: seen.append(type(m).__name__)) is model, seen)
    with lib.no_grad():
        model.apply(lambda m: m.weight.fill_(2.0) if hasattr(m, "weight") else None)
    log(model.block.linear1.weight)
    log.attempt(lambda: model.compile)
    log(model.block.linear1.__class__.__name__)


@scenario
def copies(lib, log):
    model = net(lib)
    model.block.linear1(lib.ones(2)).sum().backward()
    model.note = [1, {"a": 2}]
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model.block))):
        block = twin if hasattr(twin, "bn") else twin.block
        log(block.linear1 is block.linear2, block.linear1.weight is model.block.linear1.weight)
        log(block.linear1.weight.grad, block.linear1.weight.requires_grad)
    shallow = copy.copy(model)
    log(shallow.block is model.block, shallow._modules is model._modules)
    shallow.extra = lib.nn.ReLU()
    log(hasattr(model, "extra"))
    twin = copy.deepcopy(model)
    log(twin.again is twin.block, twin.note == model.note, twin.note is model.note)
    parameter = lib.nn.Parameter(lib.ones(2), requires_grad=False)
    twin = copy.deepcopy(parameter)
    log(type(twin).__name__, twin.requires_grad, twin)
    twin = pickle.loads(pickle.dumps(parameter))
    log(type(twin).__name__, twin.requires_grad, twin)
    hidden = parameter * 1
    log(type(hidden).__name__, type(parameter.data).__name__, type(parameter.detach()).__name__)
    log.attempt(lambda: copy.deepcopy(lib.nn.Parameter(lib.ones(1)) * 2))


@scenario
def parameters_and_buffers(lib, log):
    nn = lib.nn
    log(nn.Parameter(), nn.Buffer())
    log(nn.Parameter(lib.ones(2), False), nn.Parameter(data=lib.ones(1), requires_grad=True))
    for wrong in ([1.0], 2.0, "text", lib.ones(1, dtype=lib.int64), lib.ones(1) > 0):
        log.attempt(lambda wrong=wrong: nn.Parameter(wrong))
        log.attempt(lambda wrong=wrong: nn.Parameter(wrong, requires_grad=False))
    whole = nn.Parameter(lib.ones(2, dtype=lib.int64), requires_grad=False)
    log(whole, isinstance(whole, nn.Parameter), isinstance(whole, lib.Tensor))
    log(isinstance(lib.ones(1), nn.Parameter), isinstance(lib.ones(1), nn.Buffer))
    log(isinstance(nn.Buffer(lib.ones(1)), nn.Buffer), nn.Buffer(lib.ones(1)).persistent)
    base = lib.ones(2)
    shared = nn.Parameter(base)
    base.mul_(3)
    log(shared, shared.is_leaf, shared._version, nn.Parameter(shared) is shared)
    leaf = lib.ones(2, requires_grad=True)
    log(nn.Parameter(leaf * 2).is_leaf, nn.Parameter(leaf).grad is leaf.grad)
    log(sorted(nn.ParameterList([lib.ones(1)])._parameters), type(nn.Parameter(leaf)[0]).__name__)


@scenario
def parameters_share_memory_and_its_versions(lib, log):
    base = lib.ones(2)
    parameter = lib.nn.Parameter(base)
    loss = (parameter * parameter).sum()
    base.mul_(5)
    log(parameter._version, base._version)
    log.attempt(lambda: loss.backward())
    again = lib.nn.Parameter(parameter)
    with lib.no_grad():
        parameter.add_(1)
    log(again._version, again, lib.nn.Buffer(base)._version)
    layer = lib.nn.Linear(2, 2)
    log(layer.weight._version, layer.bias._version)
