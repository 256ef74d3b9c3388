"""What cannot be replayed is refused, with its line; the step still does what it does."""

import logging
import random
import time

import numpy as np
import pytest

import retrograd as torch
from retrograd import nn
from retrograd.replay.reading import read

REFUSED = []
COUNTER = 0


def refused(words, *more):
    def register(function):
        REFUSED.append(pytest.param(function, words, more, id=function.__name__))
        return function

    return register


class Counted:
    def __init__(self):
        self.steps = 0
        self.w = torch.ones(2)

    def __getattr__(self, name):
        if name == "made_up":
            return 3
        raise AttributeError(name)


HOLDER = Counted()
QUEUE = [1, 2, 3, 4, 5, 6]
STREAM = iter(range(100))
W = torch.tensor([1.0, 2.0], requires_grad=True)
HOOKED = nn.Linear(2, 2)
HOOKED.register_forward_hook(lambda *_: None)
HOOKED_W = torch.ones(2, requires_grad=True)
HOOKED_W.register_hook(lambda gradient: gradient)


@refused("print shows something")
def prints(x):
    y = x * 2
    print("loss", 3)  # here
    return y


@refused("branch on the elements")
def branches(x):
    if x.sum() > 100:  # here
        return x
    return x * 2


@refused("branch on the elements")
def loops_on_data(x):
    while x.sum() < 10:  # here
        x = x * 2
    return x


@refused("branch on a number from a tensor")
def branches_on_item(x):
    loss = x.sum().item()
    return x if loss else -x  # here


@refused("decides more than the result")
def computes_with_item(x):
    total = 0.0
    total += x.sum().item()  # here
    return total


@refused("goes into an operation")
def feeds_item(x):
    return x * x.sum().item()  # here


@refused("a text is made of it")
def formats_item(x):
    return f"{x.sum().item():.2f}"  # here


@refused("elements of a tensor are read")
def lists_elements(x):
    return x.tolist()  # here


@refused("gives a int")
def counts(x):
    return x.argmax().item()  # here


@refused("`try` decides")
def tries(x):
    try:  # here
        return x * 2
    except RuntimeError:
        return x


@refused("a generator stops")
def generates(x):
    def rows():
        yield x  # here

    (found,) = rows()
    return found


@refused("time.time is not known")
def looks_at_the_clock(x):
    time.time()  # here
    return x * 2


@refused("random is not known")
def draws_in_python(x):
    return x * (random.random() < 2)  # here


@refused("is not known to leave nothing behind|is not to be had|not part of a step|try")
def logs(x):
    logging.getLogger("step").debug("hello")  # here
    return x * 2


@refused("absolute|operator of|call of|not known|not part of")
def uses_numpy(x):
    return x * float(np.float64(np.abs(2.0)))  # here


@refused("steps is read and changed at each call")
def counts_steps(x):
    HOLDER.steps += 1  # here
    return x * 2


@refused("COUNTER is read and changed at each call")
def counts_globally(x):
    global COUNTER
    COUNTER += 1  # here
    return x * 2


@refused("pop changes what is there")
def pops(x):
    return x * (QUEUE.pop() < 100)  # here


@refused("taken from an iterator outside")
def takes_next(x):
    return x * (next(STREAM) < 1000)  # here


@refused("a loop over a range_iterator|whose items are not known")
def loops_over_a_stream(x):
    for number in STREAM:  # here
        return x * (number < 1000)


@refused("comes from a __getattr__")
def made_up_attribute(x):
    return x * HOLDER.made_up  # here


@refused("has hooks")
def hooked_module(x):
    return HOOKED(x)  # here


@refused("has hooks, tangents")
def hooked_tensor(x):
    return x * HOOKED_W  # here


@refused("a hook is put on a tensor from outside")
def hooks_a_leaf(x):
    W.register_hook(lambda gradient: gradient).remove()  # here
    return x * 2


@refused("requires_grad of a tensor from outside is changed")
def changes_a_flag(x):
    x.requires_grad_()  # here
    return (x * 2).detach()


@refused("make it before the step")
def makes_a_module(x):
    class_of_block = Block
    return class_of_block()(x)  # here


class Block(nn.Module):
    def forward(self, x):
        return x * 2


@refused("state_dict is not part")
def saves(x):
    HOOKED.state_dict()  # here
    return x * 2


@refused("an element of a tensor chooses")
def indexes_with_data(x):
    return [x, x + 1][x.argmax()]  # here


@refused("compares it|looks at the elements")
def biggest(x):
    return max(x[0], x[1])  # here


@refused("compares tensors by their elements")
def searches(x):
    return x.sum() in [W.sum(), 3]  # here


@refused("compares it")
def sorts_by_numbers(x):
    return sorted([(x[0].item(), "a"), (x[1].item(), "b")], key=lambda pair: pair[0])[0][1]  # here


@refused("it is computed with")
def formats_in_the_old_way(x):
    return "%.2f of %d" % (x.sum().item(), 3)  # noqa: UP031  # here


@refused("it is a key")
def counts_distinct_numbers(x):
    return len({x[0].item(), x[1].item()})  # here


@refused("a text is made|looks at it")
def maps_to_text(x):
    return list(map(str, [x[0].item()]))  # here


@refused("is compared by its identity")
def compares_identities(x, batch=(3, [4])):
    return x * (2 if batch is QUEUE else 3)  # here


@refused("elements of a tensor are read .data_ptr")
def looks_where_it_lies(x):
    return x * (x.data_ptr() > 0)  # here


@refused("_version of a tensor")
def looks_at_the_version(x):
    return x * (x._version + 1)  # here


@refused("compares it")
def biggest_number(x):
    return max(x[0].item(), x[1].item())  # here


@refused("a name from outside is deleted|modules are imported once")
def imports(x):
    import math  # here

    return x * math.pi


@refused("a class is made anew")
def defines_a_class(x):
    class Local:  # here
        factor = 2

    return x * Local.factor


@refused("outlives it")
def returns_a_closure(x):  # here
    return lambda: x


@pytest.mark.parametrize(("step", "words", "_more"), REFUSED)
def test_a_refusal_names_its_line(step, words, _more):
    import linecache
    import re

    x = torch.tensor([1.0, 3.0])
    args = (x,) if step is not compares_identities else (x, [x])
    reading = read(step, args, {})
    assert reading.refusal is not None
    assert re.search(words, reading.refusal.reason), reading.refusal
    assert reading.refusal.file == __file__
    assert "# here" in linecache.getline(__file__, reading.refusal.line), reading.refusal
    again = torch.tensor([1.0, 3.0])
    expected = step(again)
    result = reading.result
    if isinstance(expected, torch.Tensor):
        expected, result = expected.tolist(), result.tolist()
    if not callable(expected):
        assert result == expected


def test_history_from_outside_is_refused():
    outer = W * 2

    def step():
        return outer * 3

    reading = read(step, (), {})
    assert "history" in str(reading.refusal)
    assert reading.result.tolist() == [6, 12]


def test_modes_around_a_step_are_refused():
    def step(x):
        return x * 2

    with torch.inference_mode():
        assert "inference" in str(read(step, (torch.ones(2),), {}).refusal)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert "autocast" in str(read(step, (torch.ones(2),), {}).refusal)
    with torch.no_grad():
        assert read(step, (torch.ones(2),), {}).refusal is None


def test_a_step_without_a_text_is_refused():
    space = {}
    exec("def step(x):\n    return x * 2", space)
    reading = read(space["step"], (torch.ones(2),), {})
    assert "not to be had" in str(reading.refusal)
    assert reading.result.tolist() == [2, 2]


def test_a_text_that_has_changed_is_refused(tmp_path):
    path = tmp_path / "changing.py"
    path.write_text("def step(x):\n    return x * 2\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    path.write_text("def step(x):\n    return x * 3\n")
    reading = read(space["step"], (torch.ones(2),), {})
    assert "has changed" in str(reading.refusal)
    assert reading.result.tolist() == [2, 2]


def test_what_a_leaf_changes_is_noticed():
    layer = nn.LazyLinear(3)

    def step(x):
        return layer(x)

    assert read(step, (torch.ones(2, 2),), {}).refusal is not None
    assert read(step, (torch.ones(2, 2),), {}).refusal is None


def test_a_step_that_writes_into_its_argument_is_refused():
    def step(batch):
        batch["out"] = batch["x"] * 2
        return batch["out"]

    batch = {"x": torch.ones(2)}
    reading = read(step, (batch,), {})
    assert "an argument" in str(reading.refusal)
    assert batch["out"].tolist() == [2, 2]
