"""``differentiable=True`` beside PyTorch: gradients through steps."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Adadelta", {"lr": 0.5}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "weight_decay": 0.1, "maximize": True}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {"lr": 0.1}),
    ("Adamax", {"lr": 0.1, "weight_decay": 0.1, "maximize": True, "betas": (0.5, 0.6)}),
    ("ASGD", {"lr": 0.1}),
    ("ASGD", {"lr": 0.1, "t0": 0, "lambd": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1, "maximize": True, "betas": (0.5, 0.9)}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RMSprop", {"lr": 0.1}),
    ("RMSprop", {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.1, "centered": True, "maximize": True}),
    ("RMSprop", {"lr": 0.1, "centered": True, "momentum": 0.5, "alpha": 0.5}),
    ("Rprop", {"lr": 0.1}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (0.01, 0.12), "maximize": True}),
]
STEPS = 6
# Their corrections are powers in single precision, which NumPy and PyTorch round differently.
SINGLE = ("Adam", "AdamW")
# PyTorch's second step writes into what the first one saved; in NAdam, the first one does itself.
ONE_STEP = ("Adamax", "Rprop", "RMSprop")


def compared(name, options, **more):
    """Run with both, as many steps as PyTorch can differentiate."""
    once = name in ONE_STEP or options.get("amsgrad")
    steps = more.pop("steps", 1 if once else STEPS)
    ours, theirs = (run(t, name, options, steps=steps, **more) for t in (retrograd, torch))
    compare(ours, theirs, 1e-6 if name in SINGLE else 1e-9)
    return ours


def data(t, complex=False):
    generator = np.random.default_rng(0)
    values = [generator.normal(size=(3, 2)) for _ in range(4)]
    if complex:
        values = [values[0] + 1j * values[1], values[2] + 1j * values[3]]
    return [t.tensor(value, requires_grad=True) for value in values[:2]]


def run(t, name, options, rates=(), complex=False, steps=STEPS):
    """Train a copy; gradients of the start, of what the gradients are made of, and of options."""
    start, slope = data(t, complex)
    tensors = {key: t.tensor(options[key], dtype=t.float64, requires_grad=True) for key in rates}
    weight = start.clone()
    optimizer = getattr(t.optim, name)([weight], differentiable=True, **{**options, **tensors})
    for _ in range(steps):
        # through the graph: what the next gradient is depends on where the last step led
        weight.grad = (weight.clone() * slope).sin() + slope
        optimizer.step()
    loss = (weight * weight.conj()).real.sum() if complex else (weight**2).sum()
    gradients = t.autograd.grad(loss, [start, slope, *tensors.values()], allow_unused=True)
    entries = {
        key: entry.detach().resolve_conj().numpy() for key, entry in optimizer.state[weight].items()
    }
    found = [weight.detach().numpy(), *(None if g is None else g.numpy() for g in gradients)]
    return found, entries


def compare(ours, theirs, tolerance=1e-9):
    for one, other in zip(ours[0], theirs[0], strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    assert list(ours[1]) == list(theirs[1])
    for key, entry in ours[1].items():
        np.testing.assert_allclose(entry, theirs[1][key], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name, options", [case for case in CASES if case[0] != "NAdam"], ids=str)
def test_gradients_through_steps(name, options):
    compared(name, options)


# With momentum, SGD's first step is cut off from its gradient, as in PyTorch.
@pytest.mark.parametrize("name, options", [case for case in CASES if case[0] != "SGD"], ids=str)
def test_gradients_by_differences(name, options):
    def final(start, slope):
        weight = start.clone()
        optimizer = getattr(retrograd.optim, name)([weight], differentiable=True, **options)
        for _ in range(3):
            weight.grad = (weight.clone() * slope).sin() + slope
            optimizer.step()
        return weight

    assert retrograd.autograd.gradcheck(final, data(retrograd))


@pytest.mark.parametrize(
    "name, options",
    [case for case in CASES if case[0] in ("SGD", "Adam", "AdamW", "RAdam")],
    ids=str,
)
def test_gradient_of_the_rate(name, options):
    steps = {"steps": 1} if options.get("momentum") else {}
    ours = compared(name, options, rates=["lr"], **steps)
    assert np.abs(ours[0][3]) > 1e-3


@pytest.mark.parametrize(
    "name, options", [case for case in CASES if case[0] not in ("ASGD", "Rprop")], ids=str
)
def test_gradient_of_the_rate_by_differences(name, options):
    """Also where PyTorch takes no tensor for it."""
    start, slope = data(retrograd)

    def final(rate):
        weight = start.clone()
        given = {**options, "lr": rate}
        optimizer = getattr(retrograd.optim, name)([weight], differentiable=True, **given)
        for _ in range(3):
            weight.grad = (weight.clone() * slope).sin() + slope
            optimizer.step()
        return weight

    rate = retrograd.tensor(options["lr"], dtype=retrograd.float64, requires_grad=True)
    assert retrograd.autograd.gradcheck(final, [rate])


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_gradient_of_the_decay(name):
    compared(name, {"lr": 0.1, "weight_decay": 0.1}, rates=["weight_decay"], steps=1)


def test_gradient_of_betas():
    def final(t):
        start, slope = data(t)
        betas = [t.tensor(b, dtype=t.float64, requires_grad=True) for b in (0.8, 0.9)]
        weight = start.clone()
        optimizer = t.optim.Adam([weight], lr=0.1, betas=tuple(betas), differentiable=True)
        for _ in range(2):
            weight.grad = (start * slope).sin() + slope
            optimizer.step()
        return [g.numpy() for g in t.autograd.grad((weight**2).sum(), [start, *betas])]

    for one, other in zip(final(retrograd), final(torch), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "name, options", [case for case in CASES if case[0] not in ("SGD", "NAdam")], ids=str
)
def test_complex_parameters(name, options):
    compared(name, options, complex=True, steps=1)


@pytest.mark.parametrize("name, options", CASES, ids=str)
def test_the_same_numbers_without(name, options):
    """Recorded or not, a step leads to the same place."""
    start, slope = data(retrograd)
    ends = []
    for differentiable in (False, True):
        weight = start.detach().clone().requires_grad_(not differentiable)
        optimizer = getattr(retrograd.optim, name)(
            [weight], differentiable=differentiable, **options
        )
        for _ in range(STEPS):
            weight.grad = (weight.detach() * slope.detach()).sin()
            optimizer.step()
        ends.append(weight.detach().numpy().copy())
    tolerance = 1e-5 if name in SINGLE else 1e-12
    np.testing.assert_allclose(ends[0], ends[1], rtol=tolerance, atol=tolerance)


def test_gradients_of_the_state():
    """As PyTorch's own tests do: parameters, gradients and state entries are all inputs."""

    def final(t):
        generator = np.random.default_rng(1)
        weight, gradient, average, square = (
            t.tensor(generator.uniform(0.1, 1.0, size=3), requires_grad=True) for _ in range(4)
        )
        copy = weight.clone()
        copy.grad = gradient
        optimizer = t.optim.RMSprop([copy], lr=0.1, centered=True, differentiable=True)
        entries = {"step": t.tensor(3.0), "square_avg": square.clone() + 2}
        entries["grad_avg"] = average.clone()
        optimizer.state[copy].update(entries)
        optimizer.step()
        held = optimizer.state[copy]
        loss = copy.sum() + held["square_avg"].sin().sum() + (held["grad_avg"] ** 2).sum()
        leaves = [weight, gradient, average, square]
        return [g.numpy() for g in t.autograd.grad(loss, leaves)]

    for one, other in zip(final(retrograd), final(torch), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad", "Rprop"])
def test_errors(name):
    def outcome(t, **options):
        try:
            weight = t.ones(2, requires_grad=True)
            optimizer = getattr(t.optim, name)([weight], **options)
            weight.grad = t.ones(2)
            optimizer.step()
        except Exception as raised:
            return type(raised).__name__, str(raised).split("\n")[0]
        return weight.tolist()

    for options in ({"differentiable": True}, {"differentiable": True, "foreach": True}):
        assert outcome(retrograd, **options) == outcome(torch, **options)


def test_gradient_of_nadams_product():
    """`mu_product` is state like the averages: a gradient by it goes through the step."""

    def stepped(product):
        p = retrograd.tensor([0.5, -1.0], dtype=retrograd.float64)
        p.grad = retrograd.tensor([0.3, 0.7], dtype=retrograd.float64)
        optimizer = retrograd.optim.NAdam([p], lr=0.9, differentiable=True)
        optimizer.state[p].update(
            step=retrograd.tensor(10.0, dtype=retrograd.float64),
            exp_avg=retrograd.tensor([0.2, 0.1], dtype=retrograd.float64),
            exp_avg_sq=retrograd.tensor([0.4, 0.6], dtype=retrograd.float64),
            mu_product=product.clone(),
        )
        optimizer.step()
        return p

    product = retrograd.tensor(0.8, dtype=retrograd.float64, requires_grad=True)
    assert retrograd.autograd.gradcheck(stepped, (product,))
