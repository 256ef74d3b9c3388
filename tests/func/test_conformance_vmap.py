"""`vmap` where PyTorch's own tests look: arguments, results, chunks, randomness, writes, views."""

from __future__ import annotations

from collections import OrderedDict, deque, namedtuple
from functools import partial
from typing import Any

import pytest

from tests.func.attempts import attempt, each, numbers, tried
from tests.func.sides import Scenarios, assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenarios = Scenarios()
Pair = namedtuple("Pair", "a b")


# ------------------------------------------------------------------------ arguments and results


@scenarios.add
def dimensions_of_inputs(torch: Any) -> Any:
    vmap, x, y, s = torch.func.vmap, torch.ones(2, 3), torch.ones(3, 2), torch.ones(())
    dims: list[Any] = [0, (0,), (0, 0), (None, None), [0, 0], {0: 0}, "0", 1.5, (0, 2), (-3, 0)]
    dims += [(-1, 1), (0, "a"), ((0,), 0), (0, None), (1, 1)]
    found = each(of=dims, by=lambda dim: vmap(torch.mul, in_dims=dim)(x, x))
    trees: list[Any] = [
        ((x, y), ((0, 1),)),
        ([x, y], ([0, 1],)),
        ({"a": x, "b": y}, ({"a": 0, "b": 1},)),
        ({"a": x, "b": y}, ({"a": 0},)),
        ({"a": x, "b": x}, 0),
        (Pair(x, y), (Pair(0, 1),)),
        (OrderedDict(a=x, b=y), (OrderedDict(a=0, b=1),)),
        (deque([x, x]), 0),
        ((x, 3), 0),
        ((x, 3), ((0, None),)),
    ]

    def total(tree: Any) -> Any:
        values = tree.values() if isinstance(tree, dict) else tree
        return sum(values)

    found += each(of=trees, by=lambda case: vmap(total, in_dims=case[1])(case[0]))
    return found + tried(
        lambda: vmap(torch.mul)(x, y),
        lambda: vmap(torch.mul)(x, 2),
        lambda: vmap(torch.add)(3, 3),
        lambda: vmap(torch.sin)(s),
        lambda: vmap(torch.sin, in_dims=1)(x[0]),
        lambda: vmap(torch.sin)(),
        lambda: vmap(torch.sin)([]),
        lambda: vmap(torch.sin, randomness="any")(x),
        lambda: vmap(torch.sin, chunk_size=0)(x),
        lambda: vmap(lambda x, s=2.0: x * s)(x, s=3.0),
        lambda: vmap(lambda x, s: x * s)(x, s=x[0]),
        lambda: vmap(lambda *rows: sum(rows))(x, x, x),
        lambda: vmap(partial(torch.mul, 2.0))(x),
    )


@scenarios.add
def dimensions_of_results(torch: Any) -> Any:
    vmap, x = torch.func.vmap, numbers(torch, 2, 3, 4)
    dims: list[Any] = [0, 1, -1, -3, 3, -4, None, "a", 1.0, (0,), (0, 1), (0, 1, 2), [0, 1], ()]
    found = each(of=dims, by=lambda dim: vmap(torch.sin, out_dims=dim)(x))
    found += each(of=dims, by=lambda dim: vmap(lambda x: (x, x * 2), out_dims=dim)(x))
    shaped: list[Any] = [
        (lambda x: {"a": x, "b": x}, {"a": 0, "b": 1}),
        (lambda x: {"a": x, "b": x}, {"a": 0}),
        (lambda x: [x, [x, x]], [0, [1, 2]]),
        (lambda x: Pair(x, x), Pair(0, 1)),
        (lambda x: torch.ones(2), None),
        (lambda x: (x, torch.ones(2)), (0, None)),
        (lambda x: torch.ones(2), 1),
        (lambda x: 1.0, 0),
        (lambda x: (x, 1), 0),
        (lambda x: None, 0),
        (lambda x: (), 0),
        (lambda x: OrderedDict(a=x, b=x), 0),
        (lambda x: torch.sort(x), 0),
        (lambda x: torch.max(x, 0), 1),
    ]
    return found + each(of=shaped, by=lambda case: vmap(case[0], out_dims=case[1])(x))


@scenarios.add
def levels(torch: Any) -> Any:
    vmap, x, z = torch.func.vmap, numbers(torch, 2, 3), numbers(torch, 5)
    return [
        vmap(lambda x: vmap(lambda y: x * y)(z))(x[:, 0]),
        vmap(vmap(torch.mul, (None, 0)), (0, None))(x[:, 0], z),
        vmap(vmap(torch.mul, (0, None)), (None, 0))(x, z),
        vmap(lambda x: vmap(lambda y: vmap(lambda z: x + y * z)(z))(x))(x),
        vmap(lambda x: (x, vmap(torch.sin)(z)))(x),
        vmap(vmap(torch.add, (0, None), 1), (0, 1), 1)(x, numbers(torch, 4, 2)),
        vmap(lambda x: torch.stack([x, x * 2]).sum(0))(x),
    ]


@scenarios.add
def chunks(torch: Any) -> Any:
    vmap, x, seen = torch.func.vmap, numbers(torch, 5, 3), []

    def function(x: Any, y: Any) -> Any:
        seen.append(tuple(x.shape))
        return x * y, (x.sum(), {"y": y})

    found = []
    for size in (1, 2, 5, 7, None):
        found += [
            vmap(function, chunk_size=size)(x, x),
            vmap(function, (0, None), chunk_size=size)(x, x[0]),
            vmap(function, 1, (1, (0, {"y": 1})), chunk_size=size)(x, x),
        ]
    return found, len(seen)


@scenarios.add
def batches_of_nothing(torch: Any) -> Any:
    f, nothing = torch.func, torch.ones(0, 3, dtype=torch.float64)
    weight = torch.ones(2, 3, dtype=torch.float64)
    functions = [
        torch.sin,
        torch.sum,
        lambda x: x @ weight.T,
        lambda x: torch.cat([x, x]),
        lambda x: x[0],
        lambda x: x.view(3, 1),
        lambda x: x.sort()[0],
        lambda x: torch.softmax(x, 0),
        lambda x: torch.nn.functional.linear(x, weight),
        f.grad(lambda x: x.sum()),
        f.jacrev(torch.sin),
        f.jacfwd(torch.sin),
    ]
    return each(of=functions, by=lambda g: f.vmap(g)(nothing)), f.vmap(torch.sin)(nothing.T)


# ------------------------------------------------------------------------------------ randomness


def random_functions(torch: Any) -> list[Any]:
    functional, rest = torch.nn.functional, torch.ones(4)
    return [
        lambda x: torch.rand(2),
        lambda x: torch.randn_like(x),
        lambda x: torch.randn_like(rest),
        lambda x: torch.randint(0, 5, (2,)),
        lambda x: torch.randperm(4),
        lambda x: torch.bernoulli(x * 0.5),
        lambda x: torch.bernoulli(rest * 0.5),
        lambda x: x.clone().uniform_(),
        lambda x: rest.clone().uniform_(),
        lambda x: functional.dropout(x, 0.5),
        lambda x: functional.dropout(rest, 0.5),
        lambda x: functional.dropout(x, 0.5, training=False),
        lambda x: torch.multinomial(x, 2),
        lambda x: torch.normal(x, 1.0),
    ]


@scenarios.add
def randomness(torch: Any) -> Any:
    vmap, x = torch.func.vmap, torch.ones(3, 4)

    def drawn(function: Any, way: str, size: int | None) -> Any:
        torch.manual_seed(3)
        return attempt(lambda: vmap(function, randomness=way, chunk_size=size)(x))

    def twice(function: Any, way: str) -> Any:
        torch.manual_seed(3)
        inner = vmap(function, randomness=way)
        return attempt(lambda: vmap(inner, randomness=way)(x.expand(2, 3, 4)))

    return [
        (drawn(function, way, None), drawn(function, way, 2), twice(function, way))
        for function in random_functions(torch)
        for way in ("error", "same", "different")
    ]


@scenarios.add
def randomness_in_other_transforms(torch: Any) -> Any:
    f, x = torch.func, torch.ones(4)

    def dropped(x: Any) -> Any:
        return torch.nn.functional.dropout(x, 0.5)

    def total(x: Any) -> Any:
        return dropped(x).sum()

    def drawn(call: Any) -> Any:
        torch.manual_seed(1)
        return attempt(call)

    batch = torch.ones(3, 4)
    return [
        drawn(call)
        for call in (
            lambda: f.grad(total)(x),
            lambda: f.jvp(dropped, (x,), (x,)),
            lambda: f.jacrev(dropped)(x),
            lambda: f.jacfwd(dropped)(x),
            lambda: f.jacfwd(dropped, randomness="same")(x),
            lambda: f.jacfwd(dropped, randomness="different")(x),
            lambda: f.vmap(f.grad(total), randomness="same")(batch),
            lambda: f.vmap(f.grad(total), randomness="different")(batch),
        )
    ]


# ------------------------------------------------------------------------------ writes and views


@scenarios.add
def writes(torch: Any) -> Any:
    index = torch.tensor([0, 2])

    def new(x: Any) -> Any:
        return torch.zeros(3, dtype=torch.float64)

    def put(target: Any, write: Any) -> Any:
        def function(x: Any) -> Any:
            y = target(x)
            write(y, x)
            return y

        return attempt(lambda: torch.func.vmap(function)(numbers(torch, 2, 3)))

    own = [torch.clone, torch.zeros_like, lambda x: x.new_zeros(3)]
    return [
        *[put(target, lambda y, x: y.copy_(x)) for target in (*own, new)],
        *[put(target, lambda y, x: y[1:].add_(x[:-1])) for target in own],
        *[put(target, lambda y, x: y.__setitem__(0, x[1])) for target in (*own, new)],
        put(torch.clone, lambda y, x: y.__setitem__(y > 0, 0)),
        put(torch.clone, lambda y, x: y.__setitem__(index, x[:2])),
        put(torch.clone, lambda y, x: y.index_add_(0, index, x[:2])),
        put(torch.clone, lambda y, x: y.unsqueeze_(0)),
        put(torch.clone, lambda y, x: y.zero_()),
        put(new, lambda y, x: y.add_(1)),
        put(new, lambda y, x: y.fill_(x[0])),
        put(new, lambda y, x: y.index_put_((index,), x[:2])),
        put(new, lambda y, x: y.masked_fill_(x > 0, 1.0)),
    ]


@scenarios.add
def results_that_are_views(torch: Any) -> Any:
    functions: dict[str, Any] = {
        "same": lambda x: x,
        "written": lambda x: x.sin_(),
        "view": lambda x: x.view(6),
        "transposed": lambda x: x.t(),
        "selected": lambda x: x[0],
        "sliced": lambda x: x[::2],
        "expanded": lambda x: x.expand(5, 2, 3),
        "contiguous": lambda x: x.contiguous(),
        "strided": lambda x: x.as_strided([2], [4]),
        "detached": lambda x: x.detach(),
        "reshaped": lambda x: x.reshape(-1),
        "new": lambda x: torch.ones(2),
    }
    found = {}
    for name, function in functions.items():
        for dims in ((0, 0), (1, 0), (0, 1)) if name not in ("view", "new") else ((0, 0),):
            x = numbers(torch, 4, 2, 3) if dims[0] == 0 else numbers(torch, 2, 4, 3)
            y = torch.func.vmap(function, *dims)(x)
            same = y is x, y._base is x, y._is_view(), y.data_ptr() == x.data_ptr()
            found[(name, *dims)] = (*same, tuple(y.shape), y.stride(), y._version)
    x = numbers(torch, 4, 2, 3)
    parts = torch.func.vmap(lambda x: x.unbind())(x)
    return found, [part._base is x for part in parts]


@scenarios.add
def what_a_batch_cannot_tell(torch: Any) -> Any:
    x, whole = numbers(torch, 2, 3), torch.ones(2, 2, dtype=torch.long)
    functions = [
        lambda x: x.sum().item(),
        lambda x: x if x.sum() > 0 else -x,
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: torch.masked_select(x, x > 0),
        lambda x: torch.unique(x),
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: float(x[0]),
        lambda x: x.equal(x),
        lambda x: torch.allclose(x, x),
        lambda x: x.data_ptr(),
        lambda x: x.data,
    ]
    found = each(of=functions, by=lambda g: torch.func.vmap(g)(x))
    return found, attempt(lambda: torch.func.vmap(lambda n: list(range(n[0])))(whole))


@scenarios.add
def what_a_batch_tells(torch: Any) -> Any:
    seen = []

    def look(x: Any) -> Any:
        seen.append((tuple(x.shape), x.stride(), x.is_contiguous(), x.requires_grad, x.is_leaf))
        seen.append((x.numel(), len(x), x.size(-1), str(x.dtype), x.storage_offset(), x.nbytes))
        return x

    x = numbers(torch, 2, 3, 4)
    for dim in (0, 1, 2):
        torch.func.vmap(look, dim)(x)
    torch.func.vmap(look)(x.requires_grad_())
    return seen


# ------------------------------------------------------------------------------------- gradients


@scenarios.add
def gradients_in_batches(torch: Any) -> Any:
    x, y = numbers(torch, 2, 3), numbers(torch, 2, 3, seed=2)

    def through_views(x: Any) -> Any:
        x = x.clone()
        x[0][1:].mul_(2)
        return x

    functions = [
        lambda x: x / y,
        lambda x: x.expand(4, 2, 3),
        lambda x: x[torch.tensor([0, 0])],
        through_views,
        lambda x: torch.log_softmax(x, 1),
        lambda x: x.max(1)[0],
        lambda x: x.median(),
        lambda x: x @ y.T,
        lambda x: x.sort(1)[0],
        lambda x: x.cumprod(1),
        lambda x: torch.where(x > 0, x, y),
        lambda x: torch.nn.functional.layer_norm(x, (3,)),
        lambda x: torch.nn.functional.embedding(torch.tensor([0, 1, 1]), x),
        lambda x: torch.nn.functional.max_pool1d(x[None], 2),
    ]

    def several(function: Any) -> Any:
        leaf = x.clone().requires_grad_()
        result = function(leaf)
        rows = numbers(torch, 3, *result.shape, seed=5)
        keep = {"retain_graph": True}
        return (
            torch.autograd.grad(result, leaf, rows, is_grads_batched=True, **keep),
            torch.func.vmap(lambda row: torch.autograd.grad(result, leaf, row, **keep)[0])(rows),
        )

    return each(of=functions, by=several)


@scenarios.add
def gradients_of_what_vmap_gives(torch: Any) -> Any:
    model = torch.nn.Linear(3, 2).double()
    with torch.no_grad():
        model.weight.copy_(numbers(torch, 2, 3))
        model.bias.copy_(numbers(torch, 2))
    x = numbers(torch, 4, 3).requires_grad_()
    result = torch.func.vmap(model)(x)
    result.pow(2).sum().backward()
    detached = torch.func.vmap(lambda x: x.detach() * 2)(x)
    return result, x.grad, model.weight.grad, model.bias.grad, detached


@pytest.mark.parametrize(**scenarios.cases())
def test_like_pytorch(scenario: Any) -> None:
    assert_same(torch, scenario)
