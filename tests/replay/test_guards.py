"""A guard fails when the thing that it holds changes, and only then."""

import collections
import types

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.replay.reading import Readings, read

CASES = {}


def case(words):
    def register(make):
        CASES[make.__name__] = (make, words)
        return make

    return register


# each gives the step, its arguments, and a function that changes one thing


@case("scale was 2 and is 3")
def cell():
    scale = 2

    def step(x):
        return x * scale

    def change():
        nonlocal scale
        scale = 3

    return step, (torch.ones(2),), change


FACTOR = 2.0


@case("FACTOR was 2.0 and is 2")
def type_of_a_global():
    global FACTOR
    FACTOR = 2.0

    def step(x):
        return x * FACTOR

    def change():
        global FACTOR
        FACTOR = 2

    return step, (torch.ones(2),), change


@case("sign was 0.0 and is -0.0")
def sign_of_zero():
    holder = types.SimpleNamespace(sign=0.0)

    def step(x):
        return x * holder.sign

    return step, (torch.ones(2),), lambda: setattr(holder, "sign", -0.0)


@case("len was not there")
def a_builtin_that_is_hidden():
    step = lambda x: x * len([1, 2])  # noqa: E731

    def change():
        globals()["len"] = lambda _: 7

    return step, (torch.ones(2),), change


@case("another object")
def a_function():
    space = types.SimpleNamespace(act=torch.tanh)

    def step(x):
        return space.act(x)

    return step, (torch.ones(2),), lambda: setattr(space, "act", torch.sin)


@case("helper.__code__")
def a_functions_code():
    def helper(x):
        return x * 2

    def other(x):
        return x * 3

    def step(x):
        return helper(x)

    return step, (torch.ones(2),), lambda: setattr(helper, "__code__", other.__code__)


@case("helper.__defaults__")
def a_functions_defaults():
    def helper(x, factor=2):
        return x * factor

    def step(x):
        return helper(x)

    return step, (torch.ones(2),), lambda: setattr(helper, "__defaults__", (3,))


@case("contents|is not there")
def a_list():
    parts = [torch.ones(2), torch.ones(2)]

    def step(x):
        return torch.stack(parts).sum() + x

    return step, (torch.ones(2),), parts.pop


@case("another object")
def an_item():
    parts = [torch.ones(2), torch.ones(2)]

    def step(x):
        return torch.stack(parts).sum() + x

    return step, (torch.ones(2),), lambda: parts.__setitem__(0, torch.zeros(2))


@case("contents")
def order_of_a_dictionary():
    table = {"a": 1, "b": 2}

    def step(x):
        return [x * value for value in table.values()]

    def change():
        table["a"] = table.pop("a")

    return step, (torch.ones(2),), change


@case("was not there")
def a_missing_key():
    table = {"a": 1}

    def step(x):
        return x * table.get("b", 5)

    return step, (torch.ones(2),), lambda: table.update(b=2)


@case("training was True and is False")
def training():
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    return model, (torch.ones(2),), model.eval


@case("p was 0.5")
def an_option_of_a_layer():
    model = nn.Sequential(nn.Dropout(0.5))
    return model, (torch.ones(2),), lambda: setattr(model[0], "p", 0.25)


@case("weight is another object")
def a_parameter():
    model = nn.Linear(2, 2)

    def step(x):
        return model(x)

    def change():
        model.weight = nn.Parameter(torch.ones(2, 2))

    return step, (torch.ones(2),), change


@case("contents|another object")
def a_layer_of_a_container():
    model = nn.Sequential(nn.Linear(2, 2))
    return model, (torch.ones(2),), lambda: model.append(nn.ReLU())


@case("contents")
def a_forward_hook():
    model = nn.Linear(2, 2)
    return model, (torch.ones(2),), lambda: model.register_forward_hook(lambda *_: None)


@case("hooks of all modules")
def a_hook_of_all_modules():
    model = nn.Linear(2, 2)
    register = nn.modules.module.register_module_forward_hook
    return model, (torch.ones(2),), lambda: register(lambda *_: None)


@case("forward was not there|another object")
def a_patched_forward():
    model = nn.Linear(2, 2)
    return model, (torch.ones(2),), lambda: setattr(model, "forward", lambda x: x)


class Child(nn.Linear):
    pass


@case("Child has other contents|another object")
def a_patched_class():
    model = Child(2, 2)
    return model, (torch.ones(2),), lambda: setattr(Child, "forward", lambda self, x: x)


@case("was a Linear and is a Child")
def a_class():
    model = nn.Linear(2, 2)
    return model, (torch.ones(2),), lambda: setattr(model, "__class__", Child)


@case("dropout was 0.5|training was")
def state_of_a_leaf():
    model = nn.LSTM(2, 2, num_layers=2, dropout=0.5)
    return model, (torch.ones(3, 2),), lambda: setattr(model, "training", False)


@case("requires_grad was True and is False")
def requires_grad():
    w = torch.ones(2, requires_grad=True)
    return lambda x: x * w, (torch.ones(2),), lambda: w.requires_grad_(False)


@case("shape was")
def shape_of_a_tensor():
    w = torch.ones(1)

    def change():
        w.data = torch.ones(2)

    return lambda x: x * w, (torch.ones(2),), change


@case("strides was")
def strides_of_a_tensor():
    w = torch.ones(2, 2)

    def change():
        w.data = torch.ones(2, 2).t()

    return lambda x: x * w, (torch.ones(2),), change


@case("dtype was")
def dtype_of_a_tensor():
    w = torch.ones(2)

    def change():
        w.data = torch.ones(2, dtype=torch.float64)

    return lambda x: x * w, (torch.ones(2),), change


@case("hooks was")
def hook_on_a_tensor():
    w = torch.ones(2, requires_grad=True)
    return lambda x: x * w, (torch.ones(2),), lambda: w.register_hook(lambda gradient: gradient)


@case("share memory")
def memory_of_two_tensors():
    w, v = torch.ones(4), torch.ones(4)

    def change():
        v.data = w.data

    return lambda x: x * w.add_(1) * v, (torch.ones(4),), change


@case("grad is another object")
def a_gradient_that_is_read():
    w = torch.ones(2, requires_grad=True)

    def step(x):
        return x if w.grad is None else x * w.grad

    def change():
        w.grad = torch.ones(2)

    return step, (torch.ones(2),), change


@case("mask was 0|mask")
def elements_that_a_layer_looks_at():
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    return lambda x: encoder(x, mask=mask), (torch.ones(2, 3, 4),), mask.zero_


@case("default dtype")
def default_dtype():
    return (
        lambda x: x + torch.zeros(2),
        (torch.ones(2),),
        lambda: torch.set_default_dtype(torch.float64),
    )


@case("grad mode was True and is False")
def grad_mode():
    return lambda x: x * 2, (torch.ones(2),), lambda: torch.set_grad_enabled(False)


@case("rarer modes")
def anomaly():
    return (
        lambda x: x * 2,
        (torch.ones(2),),
        lambda: torch.autograd.set_detect_anomaly(True),
    )


class Config:
    def __init__(self):
        self.width = 2


@case("width was 2 and is 5")
def attribute_of_an_object():
    config = Config()
    return lambda x: x * config.width, (torch.ones(2),), lambda: setattr(config, "width", 5)


@case("another object")
def dictionary_of_an_object():
    config = Config()

    def change():
        config.__dict__ = {"width": 5}

    return lambda x: x * config.width, (torch.ones(2),), change


class Slotted:
    __slots__ = ("width",)


@case("width was 2 and is 5")
def slot_of_an_object():
    config = Slotted()
    config.width = 2
    return lambda x: x * config.width, (torch.ones(2),), lambda: setattr(config, "width", 5)


@case("contents")
def a_deque():
    queue = collections.deque([torch.ones(2)], maxlen=3)
    return lambda x: torch.stack(list(queue)) + x, (torch.ones(2),), lambda: queue.append(queue[0])


@case("width was 2 and is 5")
def property_of_an_object():
    class Sized(Config):
        @property
        def twice(self):
            return self.width * 2

    config = Sized()
    return lambda x: x * config.twice, (torch.ones(2),), lambda: setattr(config, "width", 5)


@pytest.fixture
def same_afterwards():
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.autograd.set_detect_anomaly(False)
    globals().pop("len", None)
    from retrograd.nn import module_hooks

    module_hooks.FORWARD.clear()
    if "forward" in vars(Child):
        del Child.forward


@pytest.mark.parametrize("name", CASES)
def test_a_guard_fails_when_its_thing_changes(name, same_afterwards):
    import re

    make, words = CASES[name]
    step, args, change = make()
    reading = read(step, args, {})
    assert reading.refusal is None
    assert reading.guards.why_not(args, {}) is None
    assert reading.check(args, {}) is not None and reading.guards.check(args, {}) is not None
    change()
    why = reading.guards.why_not(args, {})
    assert why is not None and re.search(words, why), why
    assert reading.check(args, {}) is None and reading.guards.check(args, {}) is None


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((torch.ones(3), 2), {"mode": "a"}),
        ((torch.ones(2, dtype=torch.float64), 2), {"mode": "a"}),
        ((torch.ones(2, requires_grad=True), 2), {"mode": "a"}),
        ((torch.ones(2), 3), {"mode": "a"}),
        ((torch.ones(2), 2.0), {"mode": "a"}),
        ((torch.ones(2), 2), {"mode": "b"}),
        ((torch.ones(2), 2), {}),
        ((torch.ones(2), 2, 3), {"mode": "a"}),
        (([1.0, 1.0], 2), {"mode": "a"}),
        ((nn.Parameter(torch.ones(2)), 2), {"mode": "a"}),
        ((torch.ones(4)[::2], 2), {"mode": "a"}),
    ],
)
def test_other_arguments(args, kwargs):
    def step(x, factor, *more, mode="a"):
        return x * factor if mode == "a" else x

    reading = read(step, (torch.ones(2), 2), {"mode": "a"})
    fresh = torch.zeros(2)
    (found,) = reading.check((fresh, 2), {"mode": "a"})
    assert found is fresh
    assert reading.check(args, kwargs) is None and reading.guards.check(args, kwargs) is None
    assert reading.guards.why_not(args, kwargs) is not None


def test_arguments_in_containers_are_looked_at_where_they_are_used():
    def step(batch):
        x, (y, *_) = batch["x"], batch["rest"]
        return x * y * batch["scale"]

    batch = {"x": torch.ones(2), "rest": [torch.ones(2), 1], "scale": 2, "unused": 3}
    reading = read(step, (batch,), {})
    assert reading.refusal is None
    other = {"x": torch.zeros(2), "rest": [torch.zeros(2), 1], "scale": 2, "unused": 4}
    found = reading.check((other,), {})
    assert any(value is other["x"] for value in found)
    assert any(value is other["rest"][0] for value in found)
    for change in ({"scale": 3}, {"x": torch.ones(3)}, {"rest": [torch.ones(2), 2]}, {"rest": ()}):
        assert reading.check(({**other, **change},), {}) is None


def test_two_arguments_that_are_one_tensor():
    def step(x, y):
        return x.add_(1) * y

    x, y = torch.ones(2), torch.ones(2)
    one = read(step, (x, x), {})
    assert one.check((y, y), {}) is not None and one.check((x, y), {}) is None
    two = read(step, (x, y), {})
    assert two.check((y, x), {}) is not None and two.check((x, x), {}) is None
    whole = torch.ones(4)
    assert two.check((whole[:2], whole[2:]), {}) is None  # these are views
    apart = read(step, (whole[:2], whole[2:]), {})
    assert apart.check((whole[2:], whole[:2]), {}) is not None
    assert apart.check((whole[1:3], whole[:2]), {}) is None


def test_a_state_that_is_carried_over_becomes_an_input():
    class Cell:
        def __init__(self):
            self.hidden = torch.zeros(2)

        def step(self, x):
            self.hidden = torch.tanh(self.hidden + x)
            return self.hidden

    cell, readings = Cell(), Readings()
    x = torch.ones(2)
    first = readings(cell.step, (x,), {})
    assert first.refusal is None and first.free
    assert first.check((x,), {}) is None
    second = readings(cell.step, (x,), {})
    assert second.refusal is None
    found = second.check((x,), {})
    assert any(value is cell.hidden for value in found)
    cell.hidden = torch.zeros(2)
    assert second.check((x,), {}) is not None
    cell.hidden = torch.zeros(3)
    assert second.check((x,), {}) is None


def test_a_pair_of_states_that_is_carried_over_becomes_an_input():
    network, state = nn.LSTM(2, 3), {"hidden": (torch.zeros(1, 3), torch.zeros(1, 3))}
    readings = Readings()

    def step(x):
        output, hidden = network(x, state["hidden"])
        state["hidden"] = tuple(part.detach() for part in hidden)
        return output.detach()

    x = torch.ones(4, 2)
    assert readings(step, (x,), {}).refusal is None
    reading = readings(step, (x,), {})
    assert reading.refusal is None
    found = reading.check((x,), {})
    assert all(any(value is part for value in found) for part in state["hidden"])


def test_a_batch_in_a_global_becomes_an_input():
    batch = torch.ones(2)
    readings = Readings()

    def step():
        return batch * 2

    first = readings(step, (), {})
    batch = torch.zeros(2)
    assert first.check((), {}) is None
    second = readings(step, (), {})
    batch = torch.full((2,), 3.0)
    (found,) = second.check((), {})
    assert found is batch


@pytest.mark.parametrize("number", range(6))
def test_a_check_sees_a_change_after_it_has_held(number):
    """The compiled check skips dictionaries that count no change since the last time."""
    table, model = {"a": 1, "b": 2}, nn.Linear(2, 2)

    def step(x):
        return model(x) * table["a"]

    x = torch.ones(2)
    reading = read(step, (x,), {})
    assert all(reading.check((x,), {}) is not None for _ in range(3))
    changes = [
        lambda: table.update(a=5),
        lambda: table.pop("a"),
        table.clear,
        lambda: setattr(model, "forward", step),
        lambda: model._parameters.update(weight=None),
        lambda: setattr(nn.Linear, "forward", nn.Linear.forward),
    ]
    changes[number]()
    assert (reading.check((x,), {}) is None) == (number < 5)
    table["b"] = 7
    assert (reading.check((x,), {}) is None) == (number < 5)


def test_what_is_not_read_may_change():
    config = Config()
    config.other = 1
    model = nn.Linear(2, 2)

    def step(x):
        return model(x) * config.width

    x = torch.ones(2)
    reading = read(step, (x,), {})
    config.other = 2
    config.new = 3
    model.some_name = "a"
    model.training = False
    with torch.no_grad():
        model.weight.mul_(2)
    assert reading.guards.why_not((x,), {}) is None


def test_what_a_step_writes_first_is_no_guard():
    model = nn.Sequential(nn.Dropout(0.5))
    state = {"last": 0}

    def step(x):
        model.train()
        state["last"] = x.sum()
        return model(x) * state["last"]

    x = torch.ones(2)
    model.eval()
    reading = read(step, (x,), {})
    assert reading.refusal is None
    model.eval()
    state["last"] = 7
    assert reading.guards.why_not((x,), {}) is None
