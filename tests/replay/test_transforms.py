"""Replayed steps with function transforms and hooks: what they give, what breaks their guards."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as torch
from retrograd import nn
from retrograd.autograd import forward_ad

func = torch.func


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def listed(found):
    if isinstance(found, torch.Tensor):
        return [found.detach().numpy().copy()]
    if isinstance(found, dict):
        found = list(found.values())
    return [array for part in found for array in listed(part)]


def agree(step, calls, replayed=3):
    """The step and its replay give the same for all arguments; that many calls from a plan."""
    wrapped = torch.replay(step)
    for args in calls:
        state = torch.get_rng_state()
        wanted = listed(step(*args))
        after = torch.get_rng_state()
        torch.set_rng_state(state)
        found = listed(wrapped(*args))
        assert torch.equal(torch.get_rng_state(), after)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, 1e-10, 1e-12)
    assert wrapped.replayed >= replayed, wrapped.explain()
    return wrapped


def layers(first, bias, second, x):
    return torch.tanh(x @ first + bias) @ second


WEIGHTS = [(4, 5), (5,), (5, 3)]


@pytest.mark.parametrize(
    "transformed",
    [
        lambda x, *w: func.jvp(lambda v: layers(*w, v), (x,), (x * 2,)),
        lambda x, *w: func.jvp(lambda v: layers(*v, x), (w,), (w,)),
        lambda x, *w: func.jvp(
            func.grad(lambda v: (layers(*v, x) ** 2).mean()), (w,), (tuple(a * 0.5 for a in w),)
        ),
        lambda x, *w: func.grad_and_value(lambda v: layers(*v, x).sum())(w),
        lambda x, *w: func.jacrev(lambda v: layers(*w, v))(x[0]),
        lambda x, *w: func.jacfwd(lambda v: layers(*w, v))(x[0]),
        lambda x, *w: func.hessian(lambda v: layers(*w, v).sum())(x[0]),
        lambda x, *w: func.vmap(lambda v: layers(*w, v))(x),
        lambda x, *w: func.vmap(func.grad(lambda v, row: layers(*v, row).sum()), (None, 0))(w, x),
        lambda x, *w: func.vmap(func.vmap(lambda a, b: a * b + w[1][0], (None, 0)), (0, None))(
            x[:, 0], w[1]
        ),
        lambda x, *w: func.vmap(lambda v: v.softmax(0).cumsum(0)[1:].amax(0))(x),
    ],
    ids=["jvp", "jvp of weights", "jvp of grad", "grad_and_value", "jacrev", "jacfwd",
         "hessian", "vmap", "vmap of grad", "vmap of vmap", "vmap of rows"],
)  # fmt: skip
def test_transforms(transformed):
    def step(x, *weights):
        return transformed(x, *weights)

    torch.manual_seed(2)
    calls = [(randn(6, 4), *(randn(*shape) for shape in WEIGHTS)) for _ in range(6)]
    agree(step, calls)


def test_functions_with_a_graph_inside_run_as_they_are_written():
    def step(x):
        value, push = func.vjp(lambda v: (v * v).sin(), x)
        return push(value)

    torch.manual_seed(2)
    wrapped = agree(step, [(randn(3),) for _ in range(4)], replayed=0)
    assert "tensors share memory that did not" in wrapped.explain()  # the graph has its own `x`


def cubed(v):
    return (v**3).sum()


def squared(v):
    return (v * v).sum()


def test_functions_that_are_made_and_let_go_one_after_the_other():
    """Each is a new object, perhaps at the address of the one before."""

    def step(x):
        total = torch.zeros_like(x)
        for inner in (cubed, squared, cubed, squared):
            total = total + func.grad(inner)(x)
            total = total + func.vmap(func.grad(inner))(x.reshape(1, -1))[0]
            total = total * 1.5
        return total

    torch.manual_seed(2)
    agree(step, [(randn(3),) for _ in range(6)])


def test_a_transform_that_was_made_before_the_step():
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 1)).double()
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}

    def loss(values, row, target):
        return ((func.functional_call(model, values, (row,)) - target) ** 2).sum()

    slopes = func.vmap(func.grad(loss), in_dims=(None, 0, 0))

    def step(x, y):
        found = slopes(weights, x, y)
        for name, value in weights.items():
            value.sub_(0.1 * found[name].mean(0))
        return [found[name] for name in weights]

    torch.manual_seed(3)
    calls = [(randn(6, 4), randn(6, 1)) for _ in range(7)]
    plain = [listed(step(*args)) for args in calls]
    for value, parameter in zip(weights.values(), model.parameters(), strict=True):
        value.copy_(parameter.detach())
    wrapped = torch.replay(step)
    for args, wanted in zip(calls, plain, strict=True):
        for one, other in zip(listed(wrapped(*args)), wanted, strict=True):
            np.testing.assert_allclose(one, other, 1e-9, 1e-11)
    assert wrapped.replayed >= 4
    wrapped(randn(3, 4), randn(3, 1))  # another shape
    model[1].register_forward_hook(lambda *_: None)
    before = wrapped.replayed
    wrapped(*calls[0])
    assert wrapped.replayed == before


def test_what_an_inner_function_reads_is_guarded():
    scale, power = [2.0], {"n": 2}
    weight = randn(4)

    def inner(v):
        return (scale[0] * weight * v ** power["n"]).sum()

    def step(x):
        return func.jvp(func.grad(inner), (x,), (x,))

    torch.manual_seed(4)
    wrapped = agree(step, [(randn(4),) for _ in range(5)])
    for change in (
        lambda: scale.__setitem__(0, 3.0),
        lambda: power.update(n=3),
        lambda: weight.mul_(2),
        lambda: weight.requires_grad_(),
    ):
        change()
        x = randn(4)
        for one, other in zip(listed(wrapped(x)), listed(step(x)), strict=True):
            np.testing.assert_allclose(one, other, 1e-10)


def test_draws_in_vmap_are_those_of_the_ordinary_step():
    def step(x):
        return func.vmap(
            lambda row: nn.functional.dropout(row, 0.5) + torch.randn(3), randomness="different"
        )(x)

    torch.manual_seed(5)
    wrapped = torch.replay(step)
    for _ in range(5):
        x = torch.ones(4, 3)
        state = torch.get_rng_state()
        wanted = step(x)
        torch.set_rng_state(state)
        torch.testing.assert_close(wrapped(x), wanted)


def test_dual_numbers():
    def step(x, direction):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, direction)
            return forward_ad.unpack_dual((dual * dual).sin().sum()).tangent

    torch.manual_seed(6)
    agree(step, [(randn(3), randn(3)) for _ in range(5)], replayed=0)


# ------------------------------------------------------------------------------------------ hooks


def hooked_step(weight, hook):
    def step(x):
        weight.grad = None
        hidden = weight * x
        hidden.register_hook(hook)
        loss = (hidden.tanh() ** 2).sum()
        loss.backward()
        return loss, weight.grad

    return step


def test_hooks_on_tensors_of_the_step():
    torch.manual_seed(7)
    weight = randn(5).requires_grad_()
    wrapped = agree(hooked_step(weight, lambda g: g * 0.5), [(randn(5),) for _ in range(6)])
    handle = weight.register_hook(lambda g: g * 3)  # on one from outside: no plan fits
    step, x, before = hooked_step(weight, lambda g: g * 0.5), randn(5), wrapped.replayed
    for one, other in zip(listed(wrapped(x)), listed(step(x)), strict=True):
        np.testing.assert_allclose(one, other, 1e-10)
    assert wrapped.replayed == before
    handle.remove()
    wrapped(x)
    assert wrapped.replayed == before + 1


def test_what_a_hook_reads_is_guarded():
    torch.manual_seed(8)
    weight, factor = randn(5).requires_grad_(), {"by": 0.5}
    step = hooked_step(weight, lambda g: g * factor["by"])
    wrapped = agree(step, [(randn(5),) for _ in range(5)])
    factor["by"], before = 2.0, wrapped.replayed
    x = randn(5)
    for one, other in zip(listed(wrapped(x)), listed(step(x)), strict=True):
        np.testing.assert_allclose(one, other, 1e-10)
    assert wrapped.replayed == before


def test_a_hook_with_effects_runs_each_time():
    torch.manual_seed(9)
    weight, seen = randn(5).requires_grad_(), []

    def look(g):
        seen.append(g.clone())

    wrapped = torch.replay(hooked_step(weight, look))
    for turn in range(6):
        wrapped(randn(5))
        assert len(seen) == turn + 1
    assert len({array.tobytes() for array in listed(seen)}) == 6


def test_hooks_that_decide_by_elements_run_as_they_are_written():
    torch.manual_seed(10)
    weight = randn(5).requires_grad_()

    def clipped(g):
        return g * 2 if g.sum() > 0 else -g

    agree(hooked_step(weight, clipped), [(randn(5),) for _ in range(6)], replayed=0)
