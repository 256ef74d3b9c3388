"""Steps as people write them: each `prepare` gives the step, its arguments and what it changes."""

import contextlib
import functools
import math
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from typing import NamedTuple

import retrograd as torch
from retrograd import nn
from retrograd.nn import functional as F

PROGRAMS = {}
SCALE = 0.5
OPTIONS = {"rate": 0.1, "names": ["a", "b"]}


def program(prepare):
    PROGRAMS[prepare.__name__] = prepare
    return prepare


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


@program
def assignments():
    w = leaf(1.0, 2.0, 3.0)

    def step(x):
        a, (b, *c), d = x, [w, 1, 2, 3], {"k": 4}
        e: int = len(c)
        e += 2
        f = g = a * b
        f = f + e + sum(c) + d["k"]
        first, *rest = f
        d["m"] = first
        d["k"] *= 3
        h = [g, *rest]
        h[0] = h[0] * d["k"]
        h[-1] = h[-1] + d["m"]
        del d["k"], c[0]
        return h, d, c, e

    return step, (torch.tensor([1.0, -1.0, 2.0]),), [w]


@program
def loops():
    w = leaf(0.5, 0.25)

    def step(count):
        total, seen = w.sum(), []
        for i in range(count):
            if i == 2:
                continue
            if i > 5:
                break
            total = total + i * w[i % 2]
        else:
            seen.append("never")
        k = 0
        while k < 3:
            k += 1
            for name, factor in {"one": 1, "two": 2}.items():
                seen.append((k, name))
                total = total * (1 + 0.01 * factor)
        else:
            seen += ["whole"]
        total.backward()
        return total, seen

    return step, (8,), [w]


@program
def comprehensions():
    w = leaf(1.0, 2.0, 3.0)

    def step():
        rows = [w * i for i in range(4) if i % 2 or i == 0]
        table = {name: row.sum() for name, row in zip("abc", rows, strict=False)}
        flat = [x + y for x in table.values() for y in (1, 2)]
        kinds = {type(x).__name__ for x in flat}
        last = tuple(x.detach() for x in flat)
        biggest = max((len(name), name) for name in table)
        if any((found := n) > 2 for n in range(5)):
            last += (found * w,)
        nested = [[i * j for j in range(i)] for i in range(3)]
        return (
            torch.stack(flat).sum(),
            kinds,
            last,
            biggest,
            nested,
            list(map(lambda z: z * 2, rows)),
        )

    return step, (), [w]


@program
def functions():
    w = leaf(1.0, -2.0)
    offset = 3.0

    def scaled(x, factor=2.0, *more, bias=0.5, **named):
        return x * factor + bias + sum(more) + sum(named.values())

    def step(x):
        calls = []

        def note(name):
            calls.append(name)
            return len(calls)

        def counter():
            count = 0

            def up(by=1):
                nonlocal count
                count += by
                return count

            return up

        up = counter()
        up()
        y = scaled(x, 1.5, 1, 2, bias=offset, extra=up(3))
        y = y + scaled(w, **{"factor": 3}) + note("first") + note(name="second")
        square = lambda v, power=2: v**power  # noqa: E731
        parts = [functools.partial(scaled, bias=0)(w), *(square(v) for v in (y, w))]
        ordered = sorted(["bb", "a", "ccc"], key=lambda text: -len(text))
        return y, parts, calls, ordered, functools.reduce(lambda a, b: a + b, parts)

    return step, (torch.tensor([4.0, 5.0]),), [w]


@program
def choices():
    w = leaf(1.0, 2.0)
    flags = {"deep": True, "bias": None, "steps": 3}

    def step(x, mode="train"):
        y = x * w if mode == "train" and flags["deep"] else x
        bias = flags["bias"] or 0.5
        if not 0 < flags["steps"] <= 3 or "deep" not in flags:
            y = y * 0
        elif flags.get("missing") is None and isinstance(x, torch.Tensor):
            y = y + bias
        assert y.shape == x.shape, "the shape stays"
        assert len(y) == 2 and y.dim() == 1
        return y, f"{mode:>6}|{flags['steps']!r}|{bias:.2f}", min(3, 2), -flags["steps"], ~3

    return step, (torch.tensor([1.0, 3.0]),), [w]


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("shift", torch.full((1,), 0.25))
        self.__hidden = 2

    @property
    def factor(self):
        return SCALE * self.__hidden

    def forward(self, x, *, twice=False):
        x = x + F.relu(self.inner(self.norm(x))) * self.scale * self.factor
        return (x + self.shift) * (2 if twice else 1)


class Wider(Block):
    def forward(self, x, **options):
        return super().forward(x, **options) + 1


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(4), Wider(4)])
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 2, bias=False)})
        self.extra = nn.ParameterList([nn.Parameter(torch.ones(4)) for _ in range(2)])
        self.tail = nn.Sequential(nn.Tanh(), nn.Dropout(0.3), nn.Linear(2, 2))

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            x = block(x, twice=i == 1)
        for parameter in self.extra:
            x = x * parameter
        x = self.blocks[0](x) + self.extra[-1]
        found = sum(head(x) for head in self.heads.values()) + self.heads["a"](x)
        return self.tail(found) if self.training else found


@program
def modules():
    torch.manual_seed(3)
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)

    def step(x, y):
        model.train()
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        return loss.item(), {"loss": loss.detach()}

    return step, (torch.ones(3, 4), torch.zeros(3, 2)), list(model.parameters())


class Point(NamedTuple):
    x: object
    y: object


Pair = namedtuple("Pair", "left right")


@dataclass
class Output:
    loss: object
    parts: list = field(default_factory=list)
    name: str = "output"


class Weights:
    count = 2

    def __init__(self, w):
        self.w = w

    @staticmethod
    def double(x):
        return x * 2

    @classmethod
    def many(cls, x):
        return x * cls.count

    def __call__(self, x):
        return self.double(x) + self.many(self.w)


@program
def objects():
    w = leaf(1.0, 2.0)
    weights = Weights(w)

    def step(x):
        made = Weights(x)
        p = Point(x, weights(x))
        q = Pair(left=p.y, right=made(p[0]))
        out = Output(loss=(q.left * q.right).sum())
        out.parts.append(p.x)
        made.w = made.w + 1
        out.loss.backward()
        ready = hasattr(weights, "w") and not hasattr(weights, "nothing")
        return out, q, made.w, ready, getattr(weights, "nothing", 7)

    return step, (torch.tensor([0.5, 1.5]),), [w]


@program
def modes():
    w = leaf(1.0, 2.0)

    @torch.no_grad()
    def measured(x):
        return (x * w).sum()

    def step(x):
        with torch.no_grad(), contextlib.nullcontext() as nothing:
            fixed = x * w
            with torch.enable_grad():
                again = x * w
        with torch.set_grad_enabled(SCALE < 0):
            off = w * 2
        with torch.autocast("cpu", dtype=torch.bfloat16):
            low = torch.ones(2, 2) @ torch.ones(2, 2)
        assert not fixed.requires_grad and again.requires_grad and nothing is None
        return fixed, again.sum(), off, measured(x), low.dtype

    return step, (torch.tensor([3.0, 4.0]),), [w]


@program
def containers_from_outside():
    w = [leaf(1.0), leaf(2.0)]
    history, state = [], {"total": None, "step": OrderedDict(a=w[0])}

    def step(x):
        first, second = w
        y = first * x + second
        for name, value in state["step"].items():
            y = y * value + len(name)
        y.sum().backward()
        history.append(y.detach())
        state["total"] = y.detach() * 2
        state["last"] = state["total"] + 1
        return (
            torch.cat(w),
            list(OPTIONS),
            OPTIONS["names"][0],
            state["last"],
            math.sqrt(OPTIONS["rate"]),
        )

    return step, (torch.tensor([3.0]),), w


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x**3 * factor * SCALE

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * x * x * gradient * ctx.factor * SCALE, None


@program
def own_derivatives():
    w = leaf(1.0, 2.0)

    def energy(x):
        return (x**2 * w).sum()

    slope = torch.func.grad(energy)

    def step(x):
        y = Cube.apply(w, 2.0) * x
        y.register_hook(lambda gradient: gradient * SCALE)
        y.sum().backward()
        (second,) = torch.autograd.grad(energy(w), w, create_graph=True)
        many = torch.func.vmap(lambda row: energy(row) * OPTIONS["rate"])(torch.stack([x, x + 1]))
        return y, second.detach(), slope(x).detach(), many.detach()

    return step, (torch.tensor([0.5, 0.25]),), [w]


@program
def distributions():
    model = nn.Linear(3, 4)
    with torch.no_grad():
        model.weight.copy_(torch.arange(12.0).reshape(4, 3) / 10)
        model.bias.zero_()

    generator = torch.Generator()

    def depth(n):
        return 0 if n == 0 else 1 + depth(n - 1)

    def step(x):
        generator.manual_seed(4)
        torch.manual_seed(5)
        choice = torch.distributions.Categorical(logits=model(x))
        action = choice.sample()
        loss = -choice.log_prob(action) - 0.1 * choice.entropy()
        loss.backward()
        noise = torch.randn(2, generator=generator)
        return loss.detach(), action, torch.rand(2), noise, depth(300), choice.probs.detach()

    return step, (torch.ones(3),), list(model.parameters())


@program
def by_hand():
    w, b = leaf(1.0, 2.0), leaf(0.5)

    def step(x, y):
        loss = ((x * w + b - y) ** 2).mean()
        loss.backward()
        for p in (w, b):
            if p.grad is not None:
                p.data -= 0.1 * p.grad
                p.grad = None
        with torch.no_grad():
            w[0] = w[0] * 2
            b.mul_(0.5)
        return float(loss.detach()), w.shape, str(tuple(w.size())), "-".join(["a", "b"])

    return step, (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])), [w, b]
