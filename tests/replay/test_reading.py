"""A step that is read gives what the plain call gives, and refuses nothing of what people write."""

import random

import numpy as np
import pytest

import retrograd as torch
from benchmarks.workloads import WORKLOADS
from retrograd.replay.reading import Nest, Outside, Plainly, Readings, read, rebuilt
from retrograd.replay.reading.protocol import Number
from tests.replay.programs import PROGRAMS


def same(left, right, tolerance=0.0):
    assert type(left) is type(right)
    if isinstance(left, torch.Tensor):
        assert left.dtype == right.dtype and left.requires_grad == right.requires_grad
        found, expected = left.detach().float().numpy(), right.detach().float().numpy()
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        assert (left.grad_fn is None) == (right.grad_fn is None)
    elif isinstance(left, dict):
        assert list(left) == list(right)
        for key in left:
            same(left[key], right[key], tolerance)
    elif isinstance(left, list | tuple):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            same(one, other, tolerance)
    elif hasattr(left, "__dict__") and not callable(left):
        same(vars(left), vars(right), tolerance)
    elif isinstance(left, float):
        assert left == pytest.approx(right, rel=tolerance, abs=tolerance)
    else:
        assert left == right


def made(form):
    """What a plan would make of a form, with the tensors of the recorded call."""
    if isinstance(form, Number):
        return form.tensor.item()
    if isinstance(form, Nest):
        return rebuilt(form.kind, made(form.parts))
    if isinstance(form, dict):
        return {key: made(part) for key, part in form.items()}
    if type(form) in (list, tuple):
        return type(form)(map(made, form))
    return form.value if isinstance(form, Outside) else form


def changed(tensors):
    return [(t.detach(), t.grad) for t in tensors]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_the_plain_call_gives(name):
    step, args, leaves = PROGRAMS[name]()
    torch.manual_seed(1)
    reading = read(step, args, {})
    assert reading.refusal is None
    plain, plain_args, plain_leaves = PROGRAMS[name]()
    torch.manual_seed(1)
    same(reading.result, plain(*plain_args))
    same(changed(leaves), changed(plain_leaves))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_second_call_passes_the_guards(name):
    step, args, _ = PROGRAMS[name]()
    readings = Readings()
    readings(step, args, {})
    reading = readings(step, args, {})
    assert reading.guards.why_not(args, {}) is None
    found = reading.check(args, {})
    assert [type(value) for value in found] == [type(value) for value in reading.loaded]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_plans_form_of_a_result_gives_it_again(name):
    step, args, _ = PROGRAMS[name]()
    reading = read(step, args, {})
    same(made(reading.leaving), reading.result)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_is_read(name):
    prepared = WORKLOADS[name].prepare(torch)
    torch.manual_seed(1)
    reading = read(prepared.step, (), {})
    assert reading.refusal is None
    assert reading.guards.why_not((), {}) is None
    plain = WORKLOADS[name].prepare(torch)
    torch.manual_seed(1)
    same(reading.result, plain.step())
    same(changed(prepared.leaves), changed(plain.leaves))


def test_a_recorder_is_told_of_everything_in_order():
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = []
    losses = []

    class Telling(Plainly):
        def adopt(self, tensor, place=None):
            seen.append(("adopt", tensor, place))

        def leaf(self, function, args, kwargs):
            seen.append(("leaf", function.__name__))
            return function(*args, **kwargs)

        def call(self, function, args, kwargs):
            seen.append(("call", function.__name__))
            return function(*args, **kwargs)

        def item(self, tensor):
            seen.append(("item", tensor))
            return Number(tensor.item(), tensor)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        return loss

    x = torch.ones(3, 2)
    reading = read(step, (x,), {}, Telling())
    assert reading.refusal is None
    loss = reading.result
    kinds = [entry[0] for entry in seen]
    assert kinds == ["adopt", "call", "adopt", "adopt", *["leaf"] * 3, "call", "item"]
    assert [entry[1] for entry in seen if entry[0] in ("leaf", "call")] == [
        *("zero_grad", "linear", "sum", "backward", "step"),
    ]
    assert seen[0][1] is x and seen[8][1] is loss and seen[0][2] == 0
    ((function, (target, number)),) = reading.effects
    assert function is list.append and target.value is losses and number.tensor is loss
    assert losses == [loss.item()]


def test_a_leaf_is_called_from_the_users_line():
    seen = []

    def step(x):
        y = x * 2
        z = torch.nn.Sequential(torch.nn.Tanh())(y)
        return z

    x = torch.ones(2, requires_grad=True)
    result = read(step, (x,), {}).result
    from retrograd.lifecycle.site import CallSite

    for node in (result.grad_fn, result.grad_fn.next_functions[0][0]):
        site = CallSite(node._node.code if hasattr(node, "_node") else node.code, node.lasti)
        seen.append((site.file, site.line - step.__code__.co_firstlineno))
    assert seen == [(__file__, 2), (__file__, 1)]


def test_an_error_of_the_users_is_the_users():
    def step(x):
        return x @ x

    with pytest.raises(RuntimeError, match="shapes"):
        read(step, (torch.ones(2, 3),), {})

    def wrong(x):
        return unknown(x)  # noqa: F821

    with pytest.raises(NameError, match="unknown"):
        read(wrong, (1,), {})


def test_a_method_and_a_module_are_steps_too():
    class Trainer:
        def __init__(self):
            self.w = torch.ones(2, requires_grad=True)

        def step(self, x):
            return (self.w * x).sum()

    trainer = Trainer()
    reading = read(trainer.step, (torch.ones(2),), {})
    assert reading.refusal is None and reading.result.item() == 2
    model = torch.nn.Linear(2, 1)
    reading = read(model, (torch.ones(1, 2),), {})
    assert reading.refusal is None
    same(reading.result, model(torch.ones(1, 2)))


# ------------------------------------------------------------------------------ random programs


class Writer:
    """Writes a random function of numbers, lists and a tensor."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers = ["a", "b", "OUTSIDE"]
        self.lists = ["items"]
        self.tensors = ["x", "w"]

    def number(self, depth=2):
        pick = self.random.randrange(9 if depth else 2)
        if pick == 0:
            return str(self.random.randint(-3, 5))
        if pick == 1:
            return self.random.choice(self.numbers)
        if pick == 2:
            first, second = self.number(depth - 1), self.number(depth - 1)
            return f"({first} if {self.test(depth - 1)} else {second})"
        if pick == 3:
            return f"len({self.random.choice(self.lists)})"
        if pick == 4:
            return f"sum({self.random.choice(self.lists)})"
        if pick == 5:
            return f"helper({self.number(depth - 1)}, k={self.number(depth - 1)})"
        if pick == 6:
            return f"(lambda z: z - {self.number(depth - 1)})({self.number(depth - 1)})"
        if pick == 7:
            return f"max({self.number(depth - 1)}, {self.number(depth - 1)})"
        operator = self.random.choice(["+", "-", "*", "//(1+abs(", "%(1+abs("])
        closing = "))" if "(" in operator else ""
        return f"({self.number(depth - 1)} {operator}{self.number(depth - 1)}{closing})"

    def test(self, depth=1):
        form = self.random.randrange(4)
        if form == 0 and depth:
            joint = self.random.choice(["and", "or"])
            return f"({self.test(depth - 1)} {joint} not {self.test(depth - 1)})"
        if form == 1:
            return f"{self.number(0)} < {self.number(0)} <= {self.number(0)}"
        operator = self.random.choice(["<", ">", "==", "!=", "<=", "in"])
        right = self.random.choice(self.lists) if operator == "in" else self.number(0)
        return f"{self.number(0)} {operator} {right}"

    def tensor(self, depth=2):
        pick = self.random.randrange(6 if depth else 1)
        if pick == 0:
            return self.random.choice(self.tensors)
        if pick == 1:
            return f"{self.tensor(depth - 1)}.tanh()"
        if pick == 2:
            return f"torch.sin({self.tensor(depth - 1)})"
        if pick == 3:
            return f"({self.tensor(depth - 1)} * {self.number(1)})"
        if pick == 4:
            return f"torch.stack([{self.tensor(depth - 1)}, {self.tensor(depth - 1)}]).mean(0)"
        return f"({self.tensor(depth - 1)} + {self.tensor(depth - 1)})"

    def block(self, depth, inside):
        lines = []
        for _ in range(self.random.randint(1, 4)):
            lines += self.statement(depth, inside)
        return lines

    def indented(self, depth, inside):
        names = (list(self.numbers), list(self.lists), list(self.tensors))
        lines = [f"    {line}" for line in self.block(depth - 1, inside)]
        self.numbers, self.lists, self.tensors = names  # what a branch binds may be unbound
        return lines

    def statement(self, depth, inside):
        pick = self.random.randrange(11 if depth else 6)
        name = f"v{self.random.randrange(5)}"
        if pick == 0:
            line = f"{name} = {self.number()}"
            self.numbers.append(name)
            self.lists = [other for other in self.lists if other != name]
            return [line]
        if pick == 1:
            other = self.random.choice(["a", "b"])
            return [f"{other} {self.random.choice(['+=', '-='])} {self.number()}"]
        if pick == 2:
            return [f"items.append({self.number()})"]
        if pick == 3:
            return [f"x = {self.tensor()}"]
        if pick == 4:
            line = f"l{name} = [{self.number(1)} for i in range(3) if {self.test()}]"
            self.lists.append(f"l{name}")
            return [line]
        if pick == 5:
            return [f"a, *rest = [{self.number()}, {self.number(1)}, b]", "b = sum(rest)"]
        if pick == 6:
            lines = [f"if {self.test()}:", *self.indented(depth, inside)]
            return [*lines, "else:", *self.indented(depth, inside)]
        if pick == 7:
            ending = self.random.choice(["break", "continue", "pass"])
            body = [*self.indented(depth, True), f"    if {self.test()}: {ending}"]
            return ["for n in range(3):", *body, "else:", "    items.append(9)"]
        if pick == 8:
            count = f"c{self.random.randrange(1000)}"
            body = [f"    {count} += 1", *self.indented(depth, True)]
            return [f"{count} = 0", f"while {count} < 2:", *body]
        if pick == 9:
            lines = ["def inner(p, q=a):", "    nonlocal b", f"    b = b + q - {self.number(1)}"]
            return [*lines, f"    return p * 2 + {self.number(1)}", f"a = inner({self.number(1)})"]
        return ["with torch.no_grad():", f"    x = x + {self.tensor(1)}.detach()"]

    def text(self):
        body = [f"    {line}" for line in self.block(3, False)]
        return "\n".join(
            [
                "import retrograd as torch",
                "OUTSIDE = 4",
                "def helper(n, *, k=1):",
                "    return n - k if n > k else k - n",
                "def make(w):",
                "    def step(x, a, b):",
                "        items = [a, b, 2]",
                *(f"    {line}" for line in body),
                "        return x, a, b, items",
                "    return step",
            ]
        )


@pytest.mark.parametrize("seed", range(150))
def test_a_random_program_gives_what_python_gives(seed, tmp_path):
    path = tmp_path / f"random_{seed}.py"
    path.write_text(Writer(seed).text())
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    w = torch.tensor([0.5, -0.25], requires_grad=True)
    step = space["make"](w)
    x = torch.tensor([1.0, 2.0])
    try:
        expected = step(x, 2, 3)
    except (OverflowError, RuntimeError) as error:
        with pytest.raises(type(error)):
            read(step, (x, 2, 3), {})
        return
    reading = read(step, (x, 2, 3), {})
    assert reading.refusal is None
    same(reading.result, expected)
    assert reading.guards.why_not((x, 2, 3), {}) is None
    assert reading.guards.why_not((x, 2, 4), {}) is not None
