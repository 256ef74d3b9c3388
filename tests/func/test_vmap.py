"""`vmap` against PyTorch: arguments, nesting, writes, what cannot be asked of a batch, errors."""

from __future__ import annotations

import functools
from collections import OrderedDict, namedtuple
from typing import Any

import pytest

from tests.func.sides import Scenarios, assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Point = namedtuple("Point", ["x", "y"])
CASES = Scenarios()
ERRORS = Scenarios()


def numbers(library: Any, *shape: int) -> Any:
    """Some numbers of a shape."""
    count = 1
    for size in shape:
        count *= size
    return library.arange(1.0, count + 1).reshape(shape) / 4


# ------------------------------------------------------------------------------ dimensions


@CASES.add
def in_dims(t: Any) -> Any:
    x, y = numbers(t, 2, 3, 4), numbers(t, 3, 2)
    found = [t.vmap(lambda a: a * 2, in_dims=dim)(x) for dim in (0, 1, 2, -1, -3)]
    found.append(t.vmap(t.mul, in_dims=(1, 0))(x.transpose(1, 2)[:, :3], y[:, :, None]))
    found.append(t.vmap(lambda a, b: a + b.sum(), in_dims=(0, None))(y, x))
    found.append(t.vmap(lambda a, b: a + b, in_dims=(0, None))(y, 2.5))
    return found


@CASES.add
def out_dims(t: Any) -> Any:
    x = numbers(t, 2, 3, 4)
    found = [t.vmap(lambda a: a * 2, out_dims=dim)(x) for dim in (0, 1, 2, -1)]
    found.append(t.vmap(lambda a: (a, a.sum(0)), out_dims=(2, 1))(x))
    found.append(t.vmap(lambda a: (a, a.sum(0)), out_dims=1)(x))
    found.append(t.vmap(lambda a: a, out_dims=(1,))(x))
    found.append(t.vmap(lambda a: (a, 5), out_dims=(0, None))(x))
    found.append(t.vmap(lambda a: {"a": a, "b": [a, a]}, out_dims={"a": 0, "b": [1, 2]})(x))
    return found


@CASES.add
def trees(t: Any) -> Any:
    x, y = numbers(t, 2, 3), numbers(t, 2)
    found = [t.vmap(lambda d: d["a"] + d["b"][0])({"a": x, "b": (y,)})]
    found.append(t.vmap(lambda d, e: d["a"] + e, in_dims=({"a": 1}, None))({"a": x}, y))
    found.append(t.vmap(lambda p: p.x.sum() * p.y)(Point(x, y)))
    found.append(t.vmap(lambda p: Point(p[0], p[1]))([x, y]))
    found.append(t.vmap(lambda a: OrderedDict(one=a, two=a * 2))(y))
    found.append(t.vmap(lambda a: a.max(0))(x))
    found.append(t.vmap(lambda a: [a, (a, {"b": a})])(y))
    found.append(t.vmap(lambda a: ())(y))
    return found


@CASES.add
def keywords_are_shared(t: Any) -> Any:
    return t.vmap(lambda a, b: a + b.sum())(numbers(t, 2, 3), b=numbers(t, 2))


@CASES.add
def unbatched_results_are_expanded(t: Any) -> Any:
    return t.vmap(lambda a: t.ones(2))(numbers(t, 3))


@CASES.add
def empty_batch(t: Any) -> Any:
    x = t.zeros(0, 3)
    return t.vmap(lambda a: (a * 2).sum())(x), t.vmap(lambda a: a.sin(), 0, 1)(x)


@CASES.add
def nested(t: Any) -> Any:
    x, y = numbers(t, 2, 3), numbers(t, 3)
    outer = t.vmap(t.vmap(t.mul, in_dims=(0, None)), in_dims=(None, 0))(y, y)
    inner = t.vmap(lambda row: t.vmap(lambda a: a * row.sum() + x.sum())(row))(x)
    three = t.vmap(t.vmap(t.vmap(lambda a: a * a)))(numbers(t, 2, 3, 4))
    mixed = t.vmap(lambda a: t.vmap(lambda b: a @ b, in_dims=1, out_dims=0)(x.t()))(x)
    return outer, inner, three, mixed


@CASES.add
def nested_writes(t: Any) -> Any:
    def f(a: Any) -> Any:
        b = a.clone()

        def g(c: Any) -> Any:
            c.mul_(2)
            return c.sum()

        return t.vmap(g)(b), b

    return t.vmap(f)(numbers(t, 2, 3, 4))


@CASES.add
def chunks(t: Any) -> Any:
    x, y = numbers(t, 5, 3), numbers(t, 3)
    found = [t.vmap(lambda a: a.sum() * y, chunk_size=size)(x) for size in (1, 2, 3, 5, 9)]
    found.append(t.vmap(lambda a, b: (a, a + b), (0, None), (1, 0), chunk_size=2)(x, y))
    return found


@CASES.add
def decorated(t: Any) -> Any:
    @t.vmap
    def f(a: Any) -> Any:
        """Doubles."""
        return a * 2

    return f.__name__, f.__doc__, f(numbers(t, 3))


@CASES.add
def modules(t: Any) -> Any:
    t.manual_seed(0)
    net = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.ReLU(), t.nn.Linear(4, 2))
    x = numbers(t, 5, 3)
    y = t.vmap(net)(x)
    y.sum().backward()
    return y, [p.grad for p in net.parameters()]


# --------------------------------------------------------------------- what a batch looks like


@CASES.add
def facts(t: Any) -> Any:
    log: list[Any] = []

    def f(a: Any) -> Any:
        log.append((a.shape, a.dim(), a.numel(), a.stride(), a.is_contiguous(), a.dtype, len(a)))
        log.append((a.requires_grad, a.is_leaf, a.grad_fn, a.size(0), isinstance(a, t.Tensor)))
        return a

    t.vmap(f, in_dims=1)(numbers(t, 3, 2, 4))
    t.vmap(f)(t.ones(2, 3, requires_grad=True))
    return log


@CASES.add
def printed(t: Any) -> Any:
    log: list[str] = []

    def f(a: Any) -> Any:
        log.append(repr(a))
        log.append(f"{a}")
        return t.vmap(lambda b: (log.append(str(b)), b)[1])(a)

    t.vmap(f, in_dims=1)(t.ones(2, 3, requires_grad=True))
    return log


@CASES.add
def conversions(t: Any) -> Any:
    x = numbers(t, 2, 3)
    uses = (
        lambda a: a.double(),
        lambda a: a.to(t.int64),
        lambda a: a.half().float(),
        lambda a: a.type_as(t.ones(1, dtype=t.float64)),
        lambda a: a.bool(),
        lambda a: a.contiguous(),
        lambda a: a.clone(),
        lambda a: a.detach(),
        lambda a: a.view(t.int32),
        lambda a: t.as_tensor(a),
        lambda a: a.cpu(),
    )
    return [t.vmap(use)(x) for use in uses]


@CASES.add
def creation(t: Any) -> Any:
    x = numbers(t, 2, 3)
    uses = (
        lambda a: t.zeros_like(a) + a,
        lambda a: t.ones_like(a),
        lambda a: t.full_like(a, 2.5),
        lambda a: a.new_zeros(2),
        lambda a: a.new_ones((2, 2)),
        lambda a: a.new_full((2,), 3.0),
        lambda a: a.new_tensor([1.0, 2.0]),
        lambda a: t.tensor([1.0, 2.0]) + a[0],
        lambda a: t.eye(3) * a,
        lambda a: t.arange(3) + a,
    )
    return [t.vmap(use)(x) for use in uses]


@CASES.add
def iteration(t: Any) -> Any:
    x = numbers(t, 2, 3)
    total = t.vmap(lambda a: sum(a))(x)
    first, *_ = t.vmap(lambda a: a.unbind())(x)
    return total, first, t.vmap(lambda a: t.stack(list(reversed(a))))(x)


@CASES.add
def promotion_of_examples_without_dimensions(t: Any) -> Any:
    """With the batch they have one, which must not make their type count."""
    wide = t.arange(3, dtype=t.float64)
    table = t.ones(2, dtype=t.float32)
    found = [t.vmap(lambda a: table * a)(wide), t.vmap(lambda a: a + table)(wide)]
    found.append(t.vmap(lambda a: a * 2.5)(t.arange(3)))
    found.append(t.vmap(lambda a: t.ones(2, dtype=t.int32) / a)(t.arange(1, 4)))
    return found


# ----------------------------------------------------------------------- indexing and writing


@CASES.add
def indexing(t: Any) -> Any:
    x = numbers(t, 2, 3, 4)
    i = t.tensor([[0, 2], [1, 1]])
    j = t.tensor([1, 2])
    found = [
        t.vmap(lambda a: a[1])(x),
        t.vmap(lambda a: a[..., -1])(x),
        t.vmap(lambda a: a[:, None, 1:3])(x),
        t.vmap(lambda a: a[t.tensor([0, 2])])(x),
        t.vmap(lambda a: a[:, t.tensor([0, 2])])(x),
        t.vmap(lambda a: a[t.tensor([True, False, True])])(x),
        t.vmap(lambda a, k: a[k])(x, i),
        t.vmap(lambda a, k: a[:, k])(x, i),
        t.vmap(lambda a, k: a[k, k])(x, i),
        t.vmap(lambda a, k: a[k])(x, j),
        t.vmap(lambda a, k: a[:, k])(x, j),
        t.vmap(lambda k: x[0][k])(i),
        t.vmap(lambda k: x[0][:, k])(i),
        t.vmap(lambda a, k: a[k[:, None], k])(x, i),
        t.vmap(lambda a: a[t.tensor([0, 1]), :, None, t.tensor([0, 1])])(x),
    ]
    return found


@CASES.add
def writing(t: Any) -> Any:
    x = numbers(t, 2, 3, 4)
    i = t.tensor([[0, 2], [1, 1]])
    log: list[Any] = []

    def run(write: Any, *more: Any) -> None:
        def f(a: Any, *rest: Any) -> Any:
            b = a.clone()
            write(b, *rest)
            return b

        log.append(t.vmap(f)(x, *more))

    def put(b: Any, k: Any) -> None:
        b[k] = 7.0

    def put_column(b: Any, k: Any) -> None:
        b[:, k[0]] = b[:, 0].clone()

    run(lambda b: b.mul_(2))
    run(lambda b: b[0].add_(b[1].clone()))
    run(lambda b: b.zero_())
    run(lambda b: b.fill_(3))
    run(lambda b: b.fill_(b.sum()))
    run(lambda b: b.copy_(t.ones(4)))
    run(lambda b: b.__setitem__(0, 5.0))
    run(lambda b: b.__setitem__((slice(None), 1), b[:, 0].clone()))
    run(lambda b: b.__setitem__(t.tensor([0, 2]), 1.0))
    run(lambda b: b.masked_fill_(b > 3, 0.0))
    run(lambda b: b.t().add_(1))
    run(lambda b: b.view(12)[3:5].mul_(10))
    run(lambda b: b.index_add_(0, t.tensor([0, 0]), t.ones(2, 4)))
    run(lambda b: b.clamp_(1, 2))
    run(lambda b: b.t_())
    run(lambda b: b.unsqueeze_(0))
    run(put, i)
    run(put_column, i)
    return log


@CASES.add
def writing_reaches_the_inputs(t: Any) -> Any:
    x = numbers(t, 2, 3)
    y = t.vmap(lambda a: a.add_(1))(x)
    t.vmap(lambda a: a[0].mul_(2), in_dims=1)(x)
    return x, y, x._version


@CASES.add
def gradients_of_writes(t: Any) -> Any:
    x = numbers(t, 2, 3)

    def f(a: Any) -> Any:
        b = a * 1
        b[0] = b[1] * a[2]
        b[1:].mul_(a[0])
        return (b * b).sum()

    outside = t.func.grad(lambda v: t.vmap(f)(v).sum())(x)
    return (
        outside,
        t.vmap(t.func.grad(f))(x),
        t.vmap(t.func.grad(t.func.grad(lambda a: a**3)))(x[0]),
    )


@CASES.add
def gradients_through_an_outer_graph(t: Any) -> Any:
    w = numbers(t, 3).requires_grad_()
    x = numbers(t, 2, 3)
    inner = t.vmap(t.func.grad(lambda a: (a * a * w).sum()))(x)
    inner.sum().backward()
    return inner, w.grad


# ------------------------------------------------------------------------------------- errors


def error(function: Any) -> Any:
    """Register what `function(library)` runs as a scenario that raises."""
    return ERRORS.add(function)


def _over(name: str, use: Any, *shape: int) -> None:
    def scenario(t: Any) -> Any:
        return t.vmap(functools.partial(use, t))(numbers(t, *(shape or (2, 3))))

    scenario.__name__ = name
    ERRORS.add(scenario)


def _asked(name: str, use: Any) -> None:
    _over(name, lambda t, a: use(t, a[0]))


_asked("item", lambda t, a: a.item())
_asked("float", lambda t, a: float(a))
_asked("int", lambda t, a: int(a))
_asked("bool", lambda t, a: bool(a))
_asked("if", lambda t, a: a if a > 0 else -a)
_asked("index", lambda t, a: [1, 2, 3][a.long()])
_asked("formatted", lambda t, a: f"{a:.2f}")
_asked("range", lambda t, a: range(a.long()))
_asked("list_of_batches", lambda t, a: t.tensor([a]))
_asked("is_nonzero", lambda t, a: a.is_nonzero())
_asked("full", lambda t, a: t.full_like(t.ones(2), a))
_over("tolist", lambda t, a: a.tolist())
_over("numpy", lambda t, a: a.numpy())
_over("contains", lambda t, a: 1.0 in a)
_over("equal", lambda t, a: t.equal(a, a))
_over("allclose", lambda t, a: t.allclose(a, a))
_over("data_ptr", lambda t, a: a.data_ptr())
_over("data", lambda t, a: a.data)
_over("set_data", lambda t, a: setattr(a, "data", a))
_over("requires_grad_", lambda t, a: a.requires_grad_())
_over("backward", lambda t, a: a.sum().backward())
_over("deepcopy", lambda t, a: __import__("copy").deepcopy(a))
_over("nonzero", lambda t, a: t.nonzero(a))
_over("unique", lambda t, a: t.unique(a))
_over("unique_consecutive", lambda t, a: t.unique_consecutive(a))
_over("mask", lambda t, a: a[a > 0])
_over("masked_select", lambda t, a: t.masked_select(a, a > 0))
_over("write_by_mask", lambda t, a: a.clone().index_put((a > 0,), t.tensor(0.0)))
_over("one_hot", lambda t, a: t.nn.functional.one_hot(a.long()))
_over("copy_into_unbatched", lambda t, a: t.zeros(3).copy_(a))
_over("fill_unbatched", lambda t, a: t.zeros(3).fill_(a[0]))
_over("assign_into_unbatched", lambda t, a: t.zeros(3, 3).__setitem__(0, a))
_over("sum_of_missing_dimension", lambda t, a: a.sum(3))
_over("none", lambda t, a: None)
_over("a_number", lambda t, a: 5)
_over("out", lambda t, a: t.randn(2, out=t.empty(2)))
_over("out_of_an_op", lambda t, a: t.add(a, a, out=t.empty(3)))
_over("random", lambda t, a: t.randn(2))
_over(
    "batch_norm",
    lambda t, a: t.nn.functional.batch_norm(a, t.zeros(3), t.ones(3), training=True),
    2,
    4,
    3,
)
_over("tensor_split", lambda t, a: t.tensor_split(t.ones(4), a.long()))
_over("as_strided_beyond", lambda t, a: a.as_strided((20,), (1,)))
_over("as_strided_before", lambda t, a: a[1:].as_strided((1,), (1,), 0))
_over("as_strided_of_the_next", lambda t, a: a[:2].as_strided((2,), (1,), 1))
_over("channels_last", lambda t, a: a.is_contiguous(memory_format=t.channels_last), 2, 1, 2, 3, 3)
_over("as_strided_scatter", lambda t, a: a.as_strided_scatter(t.ones(2), (2,), (1,)))


@error
def in_dims_of_a_wrong_type(t: Any) -> Any:
    return t.vmap(t.mul, in_dims=[0, 0])(t.ones(2), t.ones(2))


@error
def no_inputs(t: Any) -> Any:
    return t.vmap(lambda: t.ones(2))()


@error
def in_dims_of_another_shape(t: Any) -> Any:
    return t.vmap(t.mul, in_dims=(0, 0, 0))(t.ones(2), t.ones(2))


@error
def in_dims_deeper_than_inputs(t: Any) -> Any:
    return t.vmap(lambda a: a, in_dims=((0,),))(t.ones(2))


@error
def in_dim_that_is_no_number(t: Any) -> Any:
    return t.vmap(t.mul, in_dims=(0, 0.5))(t.ones(2), t.ones(2))


@error
def input_that_is_no_tensor(t: Any) -> Any:
    return t.vmap(t.mul)(t.ones(2), 2.0)


@error
def in_dim_out_of_range(t: Any) -> Any:
    return t.vmap(t.mul, in_dims=(0, 2))(t.ones(2), t.ones(2))


@error
def in_dim_of_a_scalar(t: Any) -> Any:
    return t.vmap(t.sin)(t.tensor(1.0))


@error
def nothing_to_map_over(t: Any) -> Any:
    return t.vmap(t.sin, in_dims=(None,))(t.ones(2))


@error
def different_sizes(t: Any) -> Any:
    return t.vmap(t.mul)(t.ones(2), t.ones(3))


@error
def out_dims_of_another_shape(t: Any) -> Any:
    return t.vmap(lambda a: (a, a), out_dims=(0, 0, 0))(t.ones(2))


@error
def out_dims_for_one_tensor(t: Any) -> Any:
    return t.vmap(lambda a: a, out_dims=(0, 0))(t.ones(2))


@error
def out_dim_that_is_no_number(t: Any) -> Any:
    return t.vmap(lambda a: a, out_dims="0")(t.ones(2))


@error
def out_dim_out_of_range(t: Any) -> Any:
    return t.vmap(lambda a: a, out_dims=2)(t.ones(2))


@error
def out_dim_none_of_a_batch(t: Any) -> Any:
    return t.vmap(lambda a: a, out_dims=None)(t.ones(2))


@error
def randomness_that_is_none(t: Any) -> Any:
    return t.vmap(t.sin, randomness="some")(t.ones(2))


@error
def chunk_size_of_zero(t: Any) -> Any:
    return t.vmap(t.sin, chunk_size=0)(t.ones(2))


@error
def name_of_a_partial(t: Any) -> Any:
    return t.vmap(functools.partial(t.nn.functional.relu, inplace=False))()


def _escaped(use: Any) -> Any:
    def scenario(t: Any) -> Any:
        kept: list[Any] = []
        t.vmap(lambda a: (kept.append(a), a)[1])(t.ones(2))
        return use(t, kept[0])

    return scenario


for _name, _use in {
    "added": lambda t, a: a + 1,
    "added_to": lambda t, a: t.ones(1) + a,
    "read": lambda t, a: a.numpy(),
    "item": lambda t, a: a.item(),
}.items():
    _scenario = _escaped(_use)
    _scenario.__name__ = f"escaped_{_name}"
    ERRORS.add(_scenario)


@error
def write_into_an_expanded_input(t: Any) -> Any:
    return t.vmap(lambda a: a.add_(1))(t.ones(3).expand(2, 3))


@error
def write_into_a_leaf(t: Any) -> Any:
    return t.vmap(lambda a: a.add_(1))(t.ones(2, 3, requires_grad=True))


@pytest.mark.parametrize(**CASES.cases())
def test_results(scenario: Any) -> None:
    assert_same(torch, scenario)


@pytest.mark.parametrize(**ERRORS.cases())
def test_errors(scenario: Any) -> None:
    assert_same(torch, scenario)
