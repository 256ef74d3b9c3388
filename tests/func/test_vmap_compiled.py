"""Ops under one `vmap` run in C; everything is as with the Python code, which is the definition."""

from threading import Thread

import pytest

import retrograd as torch
from retrograd import core
from retrograd.ops.registry import OPS
from retrograd.transforms.batched import _with_shared, expanded, rewrap
from retrograd.transforms.vmap import vmap_level

pytestmark = pytest.mark.skipif(not core.AVAILABLE, reason="there is no compiled core")


def filled(*shape, dtype=None, start=-2.0):
    count = torch.Size(shape).numel()
    return torch.linspace(start, 3.0, count, dtype=dtype).reshape(shape)


def both(function, *args, **options):
    """The result of mapping a function with the core, and without it."""
    with_core = torch.func.vmap(function, **options)(*args)
    take_back = core.put_aside()
    try:
        without = torch.func.vmap(function, **options)(*args)
    finally:
        take_back()
    return with_core, without


def alike(first, second):
    if isinstance(first, torch.Tensor):
        assert first.dtype == second.dtype
        assert first.requires_grad == second.requires_grad
        assert torch.equal(first, second)
        return
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        alike(one, other)


FUNCTIONS = {
    "products": lambda x, y: x * y + 2.0 * x - y / 3,
    "ranks": lambda x, y: (x[:, None] * y + x[0]) * y.sum(),
    "numbers": lambda x, y: torch.clamp(x - 1, -1.0, 1.0) ** 2 + 1 / (2 + y * y),
    "outputs that are saved": lambda x, y: torch.relu(x) * torch.tanh(y) + torch.exp(x),
    "reductions": lambda x, y: (x * y).sum() + y.mean(0, keepdim=True) * x.max(),
    "matrices": lambda x, y: x.outer(y) @ y + torch.nn.functional.softmax(x, 0),
    "choices": lambda x, y: torch.where(x > y, x, 2 * y) + (x == y),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_values(name, dtype):
    x, y = filled(4, 3).to(dtype), filled(4, 3, start=-1.0).to(dtype)
    alike(*both(FUNCTIONS[name], x, y))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0), (1, 0), (1, 1)])
def test_gradients_inside(name, in_dims):
    def slopes(x, y):
        return torch.func.grad(lambda x, y: FUNCTIONS[name](x, y).sum(), argnums=(0, 1))(x, y)

    def shaped(dim, tensor):
        return tensor[0] if dim is None else tensor.movedim(0, dim)

    x = shaped(in_dims[0], filled(4, 3))
    y = shaped(in_dims[1], filled(4, 3, start=-1.0))
    alike(*both(slopes, x, y, in_dims=in_dims))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_outside(name):
    x = filled(4, 3).requires_grad_()
    y = filled(3, start=-1.0).requires_grad_()
    found = []
    for result in both(lambda x: FUNCTIONS[name](x, y), x):
        found.append(torch.autograd.grad(result.sum(), (x, y)))
    alike(*found)


@pytest.mark.parametrize("name", ["products", "ranks"])
@pytest.mark.parametrize("dtype", [torch.complex64, torch.int64])
def test_other_kinds_of_numbers(name, dtype):
    alike(*both(FUNCTIONS[name], filled(4, 3).to(dtype), filled(4, 3, start=-1.0).to(dtype)))
    alike(*both(FUNCTIONS[name], filled(4, 3), filled(4, 3, start=-1.0).to(dtype)))


def test_second_order_inside():
    def curve(x, y):
        return torch.func.grad(torch.func.grad(lambda x: (x**3 * y).sum() / 3))(x.sum())

    alike(*both(curve, filled(4, 3), filled(4, 3)))


def test_a_batch_of_none_and_one_of_one():
    alike(*both(lambda x: x * x + x, torch.ones(0, 3)))
    alike(*both(lambda x: x * x + x, torch.ones(1, 3)))


def test_errors_speak_of_examples():
    texts = []
    for switch in (lambda: lambda: None, core.put_aside):
        take_back = switch()
        try:
            with pytest.raises(RuntimeError) as caught:
                torch.func.vmap(lambda x, y: x * y)(torch.ones(4, 3), torch.ones(4, 2))
        finally:
            take_back()
        texts.append(str(caught.value).split("\n")[0])
    assert texts[0] == texts[1]
    assert "The size of tensor a (3) must match the size of tensor b (2)" in texts[0]


def test_a_tensor_that_escaped_is_refused():
    kept = []
    torch.func.vmap(lambda x: (kept.append(x), x)[1])(torch.ones(4, 3))
    with pytest.raises(RuntimeError, match="escaped"):
        kept[0] * 2
    with pytest.raises(RuntimeError, match="escaped"):
        torch.func.vmap(lambda y: kept[0] * y)(torch.ones(5, 3))


def test_a_saved_operand_that_is_written_is_noticed():
    def function(x, y):
        def loss(w):
            inner = y * 1
            product = w * inner
            inner.mul_(2)
            return product.sum()

        return torch.func.grad(loss)(x)

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.func.vmap(function)(torch.ones(4, 3), torch.ones(4, 3))


def test_nodes_know_the_users_line():
    seen = []

    def function(x):
        def loss(w):
            product = w * w
            seen.append(product.grad_fn)
            return product.sum()

        return torch.func.grad(loss)(x)

    torch.func.vmap(function)(torch.ones(4, 3))
    assert seen[0].name() == "MulBackward0"
    assert seen[0].code is function.__code__.co_consts[1]


def test_a_cut_is_remembered_alike():
    kinds = []

    def function(x):
        result = torch.sign(x) * 2
        kinds.append(None if result._cut is None else result._cut.kind)
        return result

    both(function, torch.ones(4, 3, requires_grad=True))
    assert kinds[0] == kinds[1]


def test_another_thread_keeps_its_own_way():
    results = []

    def outside():
        x = torch.ones(3, requires_grad=True)
        (x * x).sum().backward()
        results.append(x.grad)

    def function(x):
        thread = Thread(target=outside)
        thread.start()
        thread.join()
        return x * x

    mapped = torch.func.vmap(function)(torch.full((4, 2), 3.0))
    assert torch.equal(mapped, torch.full((4, 2), 9.0))
    assert torch.equal(results[0], torch.full((3,), 2.0))


# ------------------------------------------------------------------- the same for all examples


def test_operands_that_are_the_same_for_all_examples_lose_the_batch():
    plan = OPS["mm"].plan
    with vmap_level(4, "error") as level:
        weight = expanded(filled(3, 2), level)
        batch = rewrap(filled(4, 5, 3), 0, level)
        first, second = _with_shared(plan, (batch, weight), level)
        assert first is batch
        assert second.shape == (3, 2)
        for alike_ones in ((weight, weight), (batch, batch)):
            assert _with_shared(plan, alike_ones, level) is alike_ones


def test_a_differentiated_weight_is_multiplied_once_for_all_examples():
    """Per-sample gradients of a layer are those of a loop over the examples."""
    weight, bias = filled(5, 3), filled(5)
    inputs = filled(4, 3)

    def loss(weight, bias, row):
        return torch.tanh(torch.nn.functional.linear(row, weight, bias)).sum()

    slopes = torch.func.grad(loss, argnums=(0, 1))
    mapped = torch.func.vmap(slopes, in_dims=(None, None, 0))(weight, bias, inputs)
    rows = [slopes(weight, bias, row) for row in inputs]
    for index, whole in enumerate(mapped):
        assert torch.allclose(whole, torch.stack([row[index] for row in rows]), atol=1e-6)


def test_outer_gradients_reach_a_weight_that_was_differentiated_inside():
    # In double: a product rounds otherwise with other processors, which these sines magnify.
    weight = filled(5, 3, dtype=torch.float64).requires_grad_()
    inputs = filled(4, 3, dtype=torch.float64)

    def loss(weight, row):
        return torch.sin(weight @ row).sum()

    mapped = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(weight, inputs)
    looped = torch.stack([torch.func.grad(loss)(weight, row) for row in inputs])
    weights = filled(4, 5, 3, dtype=torch.float64)
    found = torch.autograd.grad((mapped * weights).sum(), weight)[0]
    wanted = torch.autograd.grad((looped * weights).sum(), weight)[0]
    assert torch.allclose(found, wanted, atol=1e-12)
