"""Programs that keep a graph alive, each in one way; what they keep is in these variables.

Each function gets the library, builds its situation and returns a node of the graph that is kept.
"""

import collections
import functools
from typing import Any

KEEP: dict[str, Any] = {}
LOSSES: list[Any] = []
CACHE: dict[Any, Any] = {}


def clear() -> None:
    KEEP.clear()
    LOSSES.clear()
    CACHE.clear()
    cached.cache_clear()


def fresh(torch: Any) -> Any:
    weight = torch.randn(4, requires_grad=True)
    return weight.exp().sum()


def net(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.layer(x)

    return Net()


def in_list(torch: Any) -> Any:
    LOSSES.append(fresh(torch))
    return LOSSES[0].grad_fn


def hidden(torch: Any) -> Any:
    model = KEEP["model"] = net(torch)
    model.hidden = fresh(torch)
    return model.hidden.grad_fn


def closure(torch: Any) -> Any:
    h = fresh(torch)

    def step() -> Any:
        return h

    KEEP["step"] = step
    return h.grad_fn


def in_dict(torch: Any) -> Any:
    CACHE[(1, "a")] = {"out": [fresh(torch)]}
    return CACHE[(1, "a")]["out"][0].grad_fn


def generator(torch: Any) -> Any:
    def batches() -> Any:
        loss = fresh(torch)
        yield loss.grad_fn
        yield 1

    KEEP["batches"] = batches()
    return next(KEEP["batches"])


def exception(torch: Any) -> Any:
    def bad() -> None:
        loss = fresh(torch)
        KEEP["node"] = loss.grad_fn
        raise ValueError

    try:
        bad()
    except ValueError as error:
        KEEP["error"] = error
    return KEEP.pop("node")


def optimizer(torch: Any) -> Any:
    model = net(torch)
    KEEP["sgd"] = torch.optim.SGD(model.parameters(), lr=0.1)
    state = KEEP["sgd"].state[model.layer.weight]
    state["average"] = fresh(torch)
    return state["average"].grad_fn


def tensor_hook(torch: Any) -> Any:
    h = fresh(torch)
    weight = KEEP["weight"] = torch.zeros(1, requires_grad=True)
    weight.register_hook(lambda gradient, h=h: gradient)
    return h.grad_fn


def module_hook(torch: Any) -> Any:
    features: list[Any] = []
    model = KEEP["model"] = net(torch)
    model.register_forward_hook(lambda module, arguments, output: features.append(output))
    model(torch.randn(2, 3))
    return features[0].grad_fn


def grad(torch: Any) -> Any:
    weight = KEEP["weight"] = torch.nn.Parameter(torch.randn(3))
    (weight**3).sum().backward(create_graph=True)
    return weight.grad.grad_fn


def saved(torch: Any) -> Any:
    h = fresh(torch).view(1)
    node = h.grad_fn
    KEEP["product"] = h * torch.randn(1, requires_grad=True)
    return node.next_functions[0][0]


def ctx(torch: Any) -> Any:
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, others: Any) -> Any:
            ctx.others = others
            return a * 1

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient, None

    h = fresh(torch)
    KEEP["kept"] = Keeps.apply(torch.ones(1, requires_grad=True), [h])
    return h.grad_fn


def node(torch: Any) -> Any:
    KEEP["fn"] = fresh(torch).grad_fn
    return KEEP["fn"]


def node_hook(torch: Any) -> Any:
    h = fresh(torch)
    y = KEEP["y"] = torch.ones(1, requires_grad=True) * 2
    y.grad_fn.register_hook(lambda inputs, outputs, h=h: None)
    return h.grad_fn


@functools.lru_cache
def cached(torch: Any) -> Any:
    return fresh(torch)


def lru(torch: Any) -> Any:
    return cached(torch).grad_fn


def in_deque(torch: Any) -> Any:
    KEEP["recent"] = collections.deque([fresh(torch)], maxlen=3)
    return KEEP["recent"][0].grad_fn


def partial(torch: Any) -> Any:
    h = fresh(torch)
    KEEP["call"] = functools.partial(print, h)
    return h.grad_fn


def accumulate_hook(torch: Any) -> Any:
    h = fresh(torch)
    weight = KEEP["weight"] = torch.nn.Parameter(torch.zeros(1))
    weight.register_post_accumulate_grad_hook(lambda parameter, h=h: None)
    return h.grad_fn
