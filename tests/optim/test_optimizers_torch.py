"""Every optimizer beside real PyTorch: parameters and state after 200 steps, errors, text."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

OPTIONS = {
    "SGD": [
        {"lr": 0.05},
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
        {"momentum": 0.8, "dampening": 0.1, "foreach": True},
        {"lr": 0.01, "momentum": 0.5, "weight_decay": 0.1, "fused": True},
    ],
    "Adam": [
        {},
        {"weight_decay": 0.1, "fused": True},
        {"lr": 0.01, "amsgrad": True, "betas": (0.4, 0.95), "eps": 1e-6},
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "foreach": True},
        {"amsgrad": True, "foreach": False},
    ],
    "AdamW": [{}, {"amsgrad": True}, {"weight_decay": 0.3, "betas": (0.5, 0.9)}],
    "Adamax": [{}, {"weight_decay": 0.1, "betas": (0.3, 0.9)}, {"eps": 1e-3, "foreach": True}],
    "NAdam": [
        {},
        {"weight_decay": 0.1, "momentum_decay": 6e-3},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
        {"foreach": True},
    ],
    "RAdam": [
        {},
        {"weight_decay": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
        {"betas": (0.9, 0.6), "eps": 1e-4, "foreach": True},
    ],
    "RMSprop": [
        {},
        {"momentum": 0.9},
        {"centered": True, "alpha": 0.9},
        {"centered": True, "momentum": 0.5, "weight_decay": 0.1, "foreach": True},
    ],
    "Rprop": [{}, {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.1)}, {"foreach": True}],
    "Adagrad": [
        {},
        {"lr_decay": 0.01, "weight_decay": 0.1},
        {"initial_accumulator_value": 0.5, "eps": 1e-3, "foreach": True},
        {"lr_decay": 0.1, "fused": True},
    ],
    "Adadelta": [{}, {"rho": 0.5, "eps": 1e-4, "lr": 0.3, "weight_decay": 0.1}, {"foreach": True}],
    "ASGD": [{}, {"t0": 50, "lambd": 0.01, "alpha": 0.5, "weight_decay": 0.1}, {"foreach": True}],
    "Adafactor": [
        {},
        {"weight_decay": 0.1, "beta2_decay": -0.3},
        {"eps": (1e-6, 1e-2), "d": 2.0, "foreach": True},
    ],
}
CASES = [
    pytest.param(name, {**options, "maximize": maximize}, id=f"{name}-{number}-{maximize}")
    for name, many in OPTIONS.items()
    for number, options in enumerate(many)
    for maximize in (False, True)
]
SHAPES = ((3, 4), (5,), (), (2, 3, 2))


def numbers(seed, dtype=np.float32, shapes=SHAPES):
    random = np.random.default_rng(seed)
    made = []
    for shape in shapes:
        values = random.standard_normal(shape)
        if np.dtype(dtype).kind == "c":
            values = values + 1j * random.standard_normal(shape)
        made.append(np.array(values, dtype))
    return made


def parameters(t, dtype=np.float32, shapes=SHAPES):
    return [t.tensor(v).requires_grad_() for v in numbers(0, dtype, shapes)]


def steps(t, optimizer, params, first, last, dtype=np.float32, shapes=SHAPES):
    """The same gradients for both libraries, so that differences do not feed themselves."""
    for step in range(first, last):
        for parameter, gradient in zip(params, numbers(step + 1, dtype, shapes), strict=True):
            parameter.grad = t.tensor(gradient)
        optimizer.step()


def same(ours, theirs, rtol=2e-5, atol=2e-6):
    """Equal structure, equal plain values, nearly equal tensors."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, retrograd.Tensor)
        assert (str(ours.dtype), tuple(ours.shape)) == (str(theirs.dtype), tuple(theirs.shape))
        assert ours.stride() == theirs.stride()
        np.testing.assert_allclose(
            ours.detach().numpy(), theirs.detach().numpy(), rtol=rtol, atol=atol
        )
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            same(ours[key], value, rtol, atol)
    elif isinstance(theirs, (list, tuple)):
        assert type(ours) is type(theirs)
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other, rtol, atol)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=rtol, abs=atol)
    else:
        assert ours == theirs


def into_retrograd(value):
    """A copy of PyTorch's state in retrograd's tensors."""
    if isinstance(value, torch.Tensor):
        return retrograd.tensor(value.detach().numpy().copy())
    if isinstance(value, dict):
        return {key: into_retrograd(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(into_retrograd(entry) for entry in value)
    return value


@pytest.mark.parametrize(("name", "options"), CASES)
def test_200_steps(name, options):
    results = []
    for t in (retrograd, torch):
        params = parameters(t)
        optimizer = getattr(t.optim, name)(params, **options)
        steps(t, optimizer, params, 0, 200)
        results.append((params, optimizer))
    (ours, our_optimizer), (theirs, their_optimizer) = results
    same(ours, theirs)
    same(our_optimizer.state_dict(), their_optimizer.state_dict())
    assert repr(our_optimizer) == repr(their_optimizer)

    # Theirs continues here: the state can be handed over.
    params = [retrograd.tensor(p.detach().numpy().copy()).requires_grad_() for p in theirs]
    continued = getattr(retrograd.optim, name)(params, lr=123)
    continued.load_state_dict(into_retrograd(their_optimizer.state_dict()))
    steps(retrograd, continued, params, 200, 210)
    steps(torch, their_optimizer, theirs, 200, 210)
    same(params, theirs)
    same(continued.state_dict(), their_optimizer.state_dict())


@pytest.mark.parametrize("dtype", [np.float64, np.complex64])
@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_other_dtypes(name, dtype):
    if name == "Adafactor" and dtype is np.complex64:
        pytest.skip("refused, see test_refusals")
    options = {
        "SGD": {"momentum": 0.9},
        "RMSprop": {"momentum": 0.9, "centered": True},
        "Adam": {"amsgrad": True},
        "Adagrad": {"initial_accumulator_value": 0.1},
    }.get(name, {})
    results = []
    for t in (retrograd, torch):
        params = parameters(t, dtype)
        extra = {} if name == "Rprop" else {"weight_decay": 0.1}
        optimizer = getattr(t.optim, name)(params, **options, **extra)
        steps(t, optimizer, params, 0, 20, dtype)
        results.append((params, optimizer.state_dict()))
    tight = {"rtol": 1e-12, "atol": 1e-13} if dtype is np.float64 else {}
    if name in ("ASGD", "NAdam") and dtype is np.float64:
        tight = {"rtol": 1e-6, "atol": 1e-7}  # their scalar state is float32
    same(*(params for params, _ in results), **tight)
    same(*(state for _, state in results))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nesterov": False, "weight_decay": 0.0},
        {"adjust_lr_fn": "match_rms_adamw", "momentum": 0.5},
        {"adjust_lr_fn": "original", "ns_steps": 3, "lr": 0.02},
    ],
)
def test_muon(options):
    shapes = ((3, 4), (5, 2), (4, 4))
    results = []
    for t in (retrograd, torch):
        params = parameters(t, shapes=shapes)
        optimizer = t.optim.Muon(params, **options)
        steps(t, optimizer, params, 0, 200, shapes=shapes)
        results.append((params, optimizer))
    # The direction is computed in bfloat16, with eight bits, by matrix products.
    rate = options.get("lr", 1e-3)
    same(results[0][0], results[1][0], atol=200 * rate * 2**-8)
    same(results[0][1].state_dict(), results[1][1].state_dict())
    assert repr(results[0][1]) == repr(results[1][1])


def rosenbrock(t, dtype, options, calls):
    x = t.tensor([-1.2, 1.0], dtype=dtype, requires_grad=True)
    y = t.tensor([[0.5], [2.0]], dtype=dtype, requires_grad=True)
    optimizer = t.optim.LBFGS([x, y], **options)
    count = [0]

    def closure():
        count[0] += 1
        optimizer.zero_grad()
        loss = (
            100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2 + ((y - 3) ** 4).sum() + x[0] * y[0, 0]
        )
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(calls)]
    return losses, count[0], [x, y], optimizer


@pytest.mark.parametrize(
    "options",
    [
        {"lr": 1e-3},
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 7},
        {"line_search_fn": "strong_wolfe", "lr": 20.0, "max_eval": 4},
        {"lr": 1e-3, "history_size": 3, "tolerance_change": 1e-3},
        {"line_search_fn": "strong_wolfe", "tolerance_grad": 0.1},
    ],
)
def test_lbfgs(options):
    ours = rosenbrock(retrograd, retrograd.float64, options, 4)
    theirs = rosenbrock(torch, torch.float64, options, 4)
    assert ours[1] == theirs[1]
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6, atol=1e-9)
    same(ours[2], theirs[2], 1e-6, 1e-8)
    same(ours[3].state_dict(), theirs[3].state_dict(), 1e-4, 1e-7)
    assert repr(ours[3]) == repr(theirs[3])


def outcome(make, t):
    try:
        made = make(t)
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]
    return "no error", repr(made)


def with_gradient(t, dtype=None):
    parameter = t.ones(2, dtype=dtype or t.float32, requires_grad=True)
    parameter.grad = t.ones_like(parameter).detach()
    return [parameter]


BAD = [
    ("SGD", {"lr": -1.0}),
    ("SGD", {"momentum": -1.0}),
    ("SGD", {"weight_decay": -1.0}),
    ("SGD", {"nesterov": True}),
    ("SGD", {"fused": True, "foreach": True}),
    ("SGD", {"fused": True, "differentiable": True}),
    ("Adam", {"lr": -1.0}),
    ("Adam", {"eps": -1.0}),
    ("Adam", {"betas": (1.0, 0.5)}),
    ("Adam", {"betas": (0.5, -0.5)}),
    ("Adam", {"betas": (0, 0.5)}),
    ("Adam", {"fused": True, "foreach": True}),
    ("AdamW", {"weight_decay": -1.0}),
    ("Adamax", {"betas": (0.5, 1.5)}),
    ("NAdam", {"momentum_decay": -1.0}),
    ("RAdam", {"weight_decay": -1.0}),
    ("RMSprop", {"alpha": -1.0}),
    ("RMSprop", {"momentum": -1.0}),
    ("Rprop", {"etas": (1.0, 0.5)}),
    ("Adagrad", {"lr_decay": -1.0}),
    ("Adagrad", {"initial_accumulator_value": -1.0}),
    ("Adagrad", {"fused": True, "differentiable": True}),
    ("Adadelta", {"rho": 1.1}),
    ("Adadelta", {"eps": -1.0}),
    ("ASGD", {"weight_decay": -0.5}),
    ("LBFGS", {"lr": -1.0}),
    ("Adafactor", {"lr": -1.0}),
    ("Adafactor", {"beta2_decay": 1.0}),
    ("Adafactor", {"eps": (-1e-30, 1e-3)}),
    ("Adafactor", {"eps": (None, -1e-3)}),
    ("Adafactor", {"d": 0.5}),
    ("Adafactor", {"weight_decay": -0.5}),
    ("Muon", {"lr": -1.0}),
    ("Muon", {"momentum": -1.0}),
    ("Muon", {"weight_decay": -1.0}),
    ("Muon", {"adjust_lr_fn": "other"}),
    ("Muon", {}),
    ("SparseAdam", {"lr": 0.0}),
    ("SparseAdam", {"eps": 0.0}),
    ("SparseAdam", {"betas": (1.0, 0.5)}),
]


@pytest.mark.parametrize(("name", "options"), BAD)
def test_bad_options(name, options):
    ours, theirs = (
        outcome(lambda t: getattr(t.optim, name)(with_gradient(t), **options), t)
        for t in (retrograd, torch)
    )
    assert theirs[0] != "no error"
    assert ours == theirs


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.optim.SGD(with_gradient(t), lr=t.ones(2)),
        lambda t: t.optim.Adam(with_gradient(t), lr=t.tensor(0.1), foreach=True),
        lambda t: t.optim.Adam(with_gradient(t), betas=(t.tensor(0.9), 0.9)),
        lambda t: t.optim.LBFGS([{"params": with_gradient(t)}, {"params": with_gradient(t)}]),
        lambda t: t.optim.SparseAdam(with_gradient(t)).step(),
        lambda t: t.optim.SparseAdam(with_gradient(t, t.complex64)),
        lambda t: t.optim.Adafactor(with_gradient(t, t.complex64)).step(),
        lambda t: t.optim.Adam(with_gradient(t, t.complex64), fused=True).step(),
        lambda t: t.optim.SGD(with_gradient(t, t.complex64), fused=True).step(),
        lambda t: t.optim.LBFGS(with_gradient(t), line_search_fn="no").step(lambda: 3.0),
        *(
            lambda t, name=name: getattr(t.optim, name)(with_gradient(t), capturable=True).step()
            for name in ("Adam", "NAdam", "RAdam", "Adamax", "RMSprop", "Rprop", "Adadelta", "ASGD")
        ),
    ],
)
def test_refusals(make):
    ours, theirs = outcome(make, retrograd), outcome(make, torch)
    assert theirs[0] != "no error"
    assert ours == theirs


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "ASGD", "NAdam"])
def test_a_tensor_as_learning_rate(name):
    results = []
    for t in (retrograd, torch):
        params = parameters(t)
        optimizer = getattr(t.optim, name)(params, lr=t.tensor(0.01))
        steps(t, optimizer, params, 0, 20)
        results.append((params, optimizer))
    same(results[0][0], results[1][0])
    assert repr(results[0][1]) == repr(results[1][1])


@pytest.mark.parametrize("name", ["Adam", "NAdam", "ASGD"])
def test_step_counts_as_plain_numbers(name):
    """State dicts of earlier versions hold numbers where tensors are now."""
    results = []
    for t in (retrograd, torch):
        params = parameters(t)
        optimizer = getattr(t.optim, name)(params)
        steps(t, optimizer, params, 0, 3)
        saved = copy.deepcopy(optimizer.state_dict())
        for entries in saved["state"].values():
            for key in ("step", "mu_product", "eta", "mu"):
                if key in entries:
                    entries[key] = entries[key].item()
        for group in saved["param_groups"]:
            del group["maximize"], group["foreach"]
        optimizer.load_state_dict(saved)
        steps(t, optimizer, params, 3, 6)
        results.append((params, optimizer.state_dict()))
    same(results[0][0], results[1][0])
    assert results[0][1]["state"].keys() == results[1][1]["state"].keys()
    same(results[0][1], results[1][1])


@pytest.mark.parametrize("tensors", [False, True], ids=["numbers", "tensors"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {}),
        ("SGD", {"momentum": 0.9, "weight_decay": 0.1, "maximize": True}),
        ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("Adam", {"weight_decay": 0.1}),
        ("Adam", {"amsgrad": True, "maximize": True}),
        ("AdamW", {"weight_decay": 0.2}),
    ],
)
def test_differentiable_steps(name, options, tensors):
    # Here PyTorch overwrites what it saved, and refuses the gradient of a second step.
    once = "amsgrad" in options or (tensors and "maximize" in options)
    results = []
    for t in (retrograd, torch):
        start = t.tensor([[0.5, -1.0], [2.0, 0.3]], dtype=t.float64, requires_grad=True)
        rate = t.tensor(0.1, dtype=t.float64, requires_grad=tensors)
        wanted = [start, rate] if tensors else [start]
        weight = start.clone()
        optimizer = getattr(t.optim, name)(
            [weight], lr=rate if tensors else 0.1, differentiable=True, **options
        )
        for _ in range(1 if once else 3):
            value = weight.clone()  # the step changes the weight, which the loss would need
            loss = (value.sin() * value).sum()
            (weight.grad,) = t.autograd.grad(loss, value, create_graph=True)
            optimizer.step()
        gradients = t.autograd.grad((weight**3).sum(), wanted)
        results.append((weight, list(gradients)))
    same(results[0][0], results[1][0], 1e-12, 1e-13)
    same(results[0][1], results[1][1], 1e-10, 1e-11)


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_bfloat16(name):
    """Roundings between the parts of a step differ: a few units in the last of eight bits."""
    results = []
    for t in (retrograd, torch):
        weight = t.tensor(np.linspace(1, 2, 12).reshape(3, 4)).bfloat16().requires_grad_()
        optimizer = getattr(t.optim, name)([weight], lr=0.01)  # all weights stay near one
        for step in range(5):
            weight.grad = t.tensor(numbers(step, np.float64, [(3, 4)])[0]).bfloat16()
            optimizer.step()
        assert str(weight.dtype) == "torch.bfloat16"
        results.append(weight.detach().float().numpy())
    np.testing.assert_allclose(*results, rtol=2**-6)


def test_layouts_and_the_default_dtype():
    results = []
    for t in (retrograd, torch):
        t.set_default_dtype(t.float64)
        try:
            params = [
                t.arange(12.0).reshape(3, 4).T.requires_grad_(),
                t.ones(0, requires_grad=True),
            ]
            for parameter in params:
                parameter.grad = t.ones(*parameter.shape)
            optimizers = [t.optim.Adam(params), t.optim.Rprop(params), t.optim.NAdam(params)]
            for optimizer in optimizers * 2:
                optimizer.step()
        finally:
            t.set_default_dtype(t.float32)
        results.append((params, [optimizer.state_dict() for optimizer in optimizers]))
    same(results[0][0], results[1][0], 1e-12, 1e-13)
    same(results[0][1], results[1][1], 1e-12, 1e-13)
