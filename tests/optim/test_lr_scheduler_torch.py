"""Learning rate schedules beside real PyTorch: 60 steps of rates and momenta, state, errors."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

STEPS = 60


class Decay:
    """A callable object: its attributes are saved with the schedule."""

    def __init__(self, base):
        self.base = base

    def __call__(self, epoch):
        return self.base**epoch


def optimizer_of(t, kind="SGD", rates=(0.5, 0.05)):
    groups = [{"params": [t.ones(2, requires_grad=True)], "lr": rate} for rate in rates]
    if kind == "SGD":
        return t.optim.SGD(groups, lr=0.1, momentum=0.9)
    return t.optim.Adam(groups, lr=0.1)


def simple(name, *args, **options):
    return lambda t, o, **more: getattr(t.optim.lr_scheduler, name)(o, *args, **options, **more)


def averaging(*args, **options):
    return lambda t, o, **more: t.optim.swa_utils.SWALR(o, *args, **options, **more)


def in_sequence(milestones, *parts):
    return lambda t, o: t.optim.lr_scheduler.SequentialLR(
        o, [part(t, o) for part in parts], milestones=list(milestones)
    )


def chained(*parts, **options):
    return lambda t, o: t.optim.lr_scheduler.ChainedScheduler(
        [part(t, o) for part in parts], **options
    )


SCHEDULES = {
    "lambda": simple("LambdaLR", lambda epoch: 1 / (1 + epoch)),
    "lambda each": simple("LambdaLR", [lambda epoch: 0.9**epoch, Decay(0.8)]),
    "multiplicative": simple("MultiplicativeLR", lambda epoch: 0.95),
    "multiplicative each": simple("MultiplicativeLR", [lambda e: 1 / e, Decay(0.99)]),
    "step": simple("StepLR", 7),
    "step gamma": simple("StepLR", 3, gamma=0.7),
    "milestones": simple("MultiStepLR", [5, 20, 20, 41]),
    "milestones gamma": simple("MultiStepLR", (1, 2, 30), gamma=0.3),
    "constant": simple("ConstantLR"),
    "constant long": simple("ConstantLR", factor=0.25, total_iters=33),
    "linear": simple("LinearLR"),
    "linear down": simple("LinearLR", start_factor=1.0, end_factor=0.1, total_iters=40),
    "exponential": simple("ExponentialLR", 0.9),
    "polynomial": simple("PolynomialLR"),
    "polynomial power": simple("PolynomialLR", total_iters=50, power=2.5),
    "cosine": simple("CosineAnnealingLR", 10),
    "cosine minimum": simple("CosineAnnealingLR", 23, eta_min=1e-3),
    "cosine one": simple("CosineAnnealingLR", 1),
    "restarts": simple("CosineAnnealingWarmRestarts", 7),
    "restarts longer": simple("CosineAnnealingWarmRestarts", 3, T_mult=2, eta_min=1e-4),
    "cyclic": simple("CyclicLR", 0.01, 0.1, step_size_up=5),
    "cyclic 2": simple(
        "CyclicLR", [0.01, 0.02], [0.1, 0.3], 4, 9, mode="triangular2", base_momentum=0.7
    ),
    "cyclic exponential": simple("CyclicLR", 0.01, 0.1, 6, mode="exp_range", gamma=0.97),
    "cyclic own": simple("CyclicLR", 0.01, 0.1, 6, scale_fn=Decay(0.9), scale_mode="iterations"),
    "cyclic own cycle": simple("CyclicLR", 0.01, 0.1, 6, scale_fn=lambda cycle: 1 / cycle),
    "cyclic no momentum": simple("CyclicLR", 0.01, 0.1, 6, cycle_momentum=False),
    "one cycle": simple("OneCycleLR", 0.3, total_steps=70),
    "one cycle linear": simple(
        "OneCycleLR",
        [0.3, 3.0],
        epochs=8,
        steps_per_epoch=9,
        anneal_strategy="linear",
        pct_start=0.4,
        max_momentum=[0.9, 0.8],
    ),
    "one cycle three": simple(
        "OneCycleLR",
        0.3,
        total_steps=61,
        three_phase=True,
        div_factor=10,
        final_div_factor=100,
        base_momentum=0.5,
    ),
    "one cycle no momentum": simple("OneCycleLR", 0.3, total_steps=60, cycle_momentum=False),
    "swa": averaging(0.02),
    "swa linear": averaging([0.02, 0.3], anneal_epochs=31, anneal_strategy="linear"),
    "swa at once": averaging(0.02, anneal_epochs=0),
    "sequential": in_sequence(
        (5,), simple("LinearLR", start_factor=0.1, total_iters=5), simple("ExponentialLR", 0.9)
    ),
    "sequential 3": in_sequence(
        (4, 30),
        simple("LinearLR", start_factor=0.1, total_iters=4),
        simple("CosineAnnealingLR", 13),
        simple("StepLR", 5, gamma=0.5),
    ),
    "sequential restarts": in_sequence(
        (6,), simple("ConstantLR", total_iters=6), simple("CosineAnnealingWarmRestarts", 9)
    ),
    "chained": chained(
        simple("ConstantLR", factor=0.1, total_iters=4), simple("ExponentialLR", 0.95)
    ),
    "chained 3": chained(
        simple("LinearLR", total_iters=11),
        simple("StepLR", 9, gamma=0.4),
        simple("MultiplicativeLR", lambda epoch: 0.99),
    ),
}


def options_of(optimizer):
    """What a schedule may have changed, as plain numbers."""
    return [
        {
            key: float(value) if hasattr(value, "item") else value
            for key, value in group.items()
            if key in ("lr", "momentum", "betas", "initial_lr", "max_lr", "min_lr", "swa_lr")
            or "momentum" in key
        }
        for group in optimizer.param_groups
    ]


def follow(optimizer, scheduler, steps=STEPS):
    seen = [(options_of(optimizer), scheduler.get_last_lr())]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        seen.append((options_of(optimizer), scheduler.get_last_lr()))
    return seen


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_sixty_steps_are_the_same_numbers(name, kind):
    seen = {}
    for t in (retrograd, torch):
        optimizer = optimizer_of(t, kind)
        seen[t] = follow(optimizer, SCHEDULES[name](t, optimizer))
    assert seen[retrograd] == seen[torch]


@pytest.mark.parametrize("name", SCHEDULES)
def test_state_has_the_same_entries_and_continues(name):
    states, seen = {}, {}
    for t in (retrograd, torch):
        optimizer = optimizer_of(t)
        scheduler = SCHEDULES[name](t, optimizer)
        follow(optimizer, scheduler, 17)
        # functions of the epoch are not part of the state, so that it can be written to a file
        saved = pickle.loads(pickle.dumps(scheduler.state_dict()))
        held = copy.deepcopy(optimizer.state_dict())
        states[t] = copy.deepcopy(saved)
        another = optimizer_of(t, rates=(0.7, 0.9))
        resumed = SCHEDULES[name](t, another)
        another.load_state_dict(held)
        resumed.load_state_dict(saved)
        straight = follow(optimizer, scheduler, STEPS - 17)
        assert follow(another, resumed, STEPS - 17) == straight
        seen[t] = straight
    assert seen[retrograd] == seen[torch]
    assert states[retrograd] == states[torch]
    assert list(states[retrograd]) == list(states[torch])


TENSOR_RATES = [
    "lambda", "multiplicative", "step gamma", "milestones", "constant long", "linear down",
    "exponential", "polynomial power", "cosine minimum", "restarts longer", "sequential 3",
    "chained 3", "swa", "one cycle", "cyclic 2",
]  # fmt: skip


@pytest.mark.parametrize("name", TENSOR_RATES)
def test_tensor_rate_keeps_its_identity(name):
    seen = {}
    for t in (retrograd, torch):
        rate = t.tensor(0.5)
        optimizer = t.optim.SGD(
            [{"params": [t.ones(2, requires_grad=True)]}], lr=rate, momentum=0.9
        )
        optimizer.add_param_group(
            {"params": [t.ones(1, requires_grad=True)], "lr": t.tensor([0.25])}
        )
        scheduler = SCHEDULES[name](t, optimizer)
        values = []
        for _ in range(30):
            optimizer.step()
            scheduler.step()
            values.append([float(g["lr"]) for g in optimizer.param_groups])
            last = scheduler.get_last_lr()
            assert all(isinstance(value, t.Tensor) for value in last)
            held = [id(group["lr"]) for group in optimizer.param_groups]
            assert all(id(value) not in held for value in last)
        assert optimizer.param_groups[0]["lr"] is rate
        assert optimizer.param_groups[1]["lr"].shape == (1,)
        seen[t] = values
    assert seen[retrograd] == seen[torch]


CLOSED = [
    "lambda", "step gamma", "milestones", "constant long", "linear", "linear down",
    "exponential", "polynomial power", "cosine minimum", "cosine", "cyclic 2", "one cycle",
]  # fmt: skip


@pytest.mark.parametrize("name", CLOSED)
def test_explicit_epoch_is_deprecated_and_uses_the_closed_form(name):
    seen, texts = {}, {}
    for t in (retrograd, torch):
        optimizer = optimizer_of(t)
        scheduler = SCHEDULES[name](t, optimizer)
        optimizer.step()
        values = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for epoch in [3, 1, 20, 7, 40, 0, 59]:
                scheduler.step(epoch)
                values.append((options_of(optimizer), scheduler.last_epoch))
        seen[t] = values
        texts[t] = [(w.category, str(w.message), w.filename) for w in caught]
    assert seen[retrograd] == seen[torch]
    assert texts[retrograd] == texts[torch]
    assert len(texts[torch]) == 7


@pytest.mark.parametrize("name", ["restarts", "restarts longer"])
def test_restarts_take_fractions_of_an_epoch(name):
    seen = {}
    for t in (retrograd, torch):
        optimizer = optimizer_of(t)
        scheduler = SCHEDULES[name](t, optimizer)
        values = []
        for epoch in [0.25, 2.5, 3, 8.75, 9, 21.5, 4, None, None, 60.125]:
            scheduler.step(epoch)
            values.append((options_of(optimizer), scheduler.last_epoch, scheduler.T_cur))
        seen[t] = values
    assert seen[retrograd] == seen[torch]


@pytest.mark.parametrize("name", [n for n in SCHEDULES if "chained" not in n and "seq" not in n])
def test_starting_at_a_later_epoch(name):
    build = SCHEDULES[name]
    seen = {}
    for t in (retrograd, torch):
        optimizer = optimizer_of(t)
        first = build(t, optimizer)
        follow(optimizer, first, 12)
        second = build(t, optimizer, last_epoch=12)
        seen[t] = follow(optimizer, second, 20)
    assert seen[retrograd] == seen[torch]


LOSSES = [3.0, 2.0, 1.99999, 1.99998, 1.9, 1.9, 1.9, 1.9, 1.9, 1.9, 2.5, 1.0, 0.5] + [0.5] * 20

PLATEAUS = [
    {},
    {"patience": 2},
    {"mode": "max", "patience": 1, "factor": 0.5},
    {"patience": 0, "cooldown": 3, "factor": 0.3},
    {"patience": 1, "threshold": 0.2, "threshold_mode": "abs"},
    {"mode": "max", "patience": 1, "threshold": 0.2, "threshold_mode": "abs"},
    {"patience": 1, "min_lr": [0.1, 0.01]},
    {"patience": 0, "min_lr": 0.02, "eps": 0.01},
]


@pytest.mark.parametrize("options", PLATEAUS)
@pytest.mark.parametrize("tensors", [False, True])
def test_plateau(options, tensors):
    seen, states = {}, {}
    for t in (retrograd, torch):
        rates = (t.tensor(0.5), t.tensor(0.05)) if tensors else (0.5, 0.05)
        optimizer = optimizer_of(t, rates=rates)
        scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        values = []
        for number, loss in enumerate(LOSSES):
            scheduler.step(t.tensor(loss))
            values.append((options_of(optimizer), scheduler.best, scheduler.num_bad_epochs))
            if number == 11:
                state = scheduler.state_dict()
                states[t] = {k: v for k, v in state.items() if k != "_last_lr"}
                scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
                scheduler.load_state_dict(state)
        seen[t] = values
    assert seen[retrograd] == seen[torch]
    assert states[retrograd] == states[torch]
    assert list(states[retrograd]) == list(states[torch])


def test_plateau_with_a_new_group_and_with_an_epoch():
    for minimum in (0.01, [0.01, 0.02]):
        outcome = {}
        for t in (retrograd, torch):
            optimizer = optimizer_of(t)
            scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(
                optimizer, patience=0, min_lr=minimum
            )
            optimizer.add_param_group({"params": [t.ones(1, requires_grad=True)], "lr": 0.3})
            with pytest.warns(UserWarning, match="epoch parameter"):
                scheduler.step(1.0, epoch=5)
            try:
                scheduler.step(2.0)
            except RuntimeError as error:
                outcome[t] = str(error)
            else:
                outcome[t] = (options_of(optimizer), scheduler.last_epoch)
        assert outcome[retrograd] == outcome[torch]


def schedules(t):
    return t.optim.lr_scheduler


FAILURES = {
    "not an optimizer": lambda t, o: schedules(t).StepLR(3, 1),
    "plateau not an optimizer": lambda t, o: schedules(t).ReduceLROnPlateau("a"),
    "cyclic not an optimizer": lambda t, o: schedules(t).CyclicLR(None, 1, 2),
    "one cycle not an optimizer": lambda t, o: schedules(t).OneCycleLR(None, 1, 2),
    "no initial rate": lambda t, o: schedules(t).StepLR(o, 3, last_epoch=4),
    "lambdas": lambda t, o: schedules(t).LambdaLR(o, [abs]),
    "multiplicative lambdas": lambda t, o: schedules(t).MultiplicativeLR(o, (abs, abs, abs)),
    "multiplicative number": lambda t, o: schedules(t).MultiplicativeLR(o, 3),
    "lambda number": lambda t, o: schedules(t).LambdaLR(o, 3),
    "constant factor": lambda t, o: schedules(t).ConstantLR(o, factor=1.5),
    "linear start": lambda t, o: schedules(t).LinearLR(o, start_factor=0),
    "linear end": lambda t, o: schedules(t).LinearLR(o, end_factor=1.5),
    "base get_lr": lambda t, o: schedules(t).LRScheduler(o),
    "sequential none": lambda t, o: schedules(t).SequentialLR(o, [], []),
    "sequential milestones": lambda t, o: schedules(t).SequentialLR(
        o, [schedules(t).StepLR(o, 1)], [3]
    ),
    "sequential no optimizer": lambda t, o: schedules(t).SequentialLR(o, [3], []),
    "sequential plateau": lambda t, o: schedules(t).SequentialLR(
        o, [schedules(t).ReduceLROnPlateau(o)], []
    ),
    "sequential other": lambda t, o: schedules(t).SequentialLR(
        optimizer_of(t), [schedules(t).StepLR(o, 1)], []
    ),
    "chained none": lambda t, o: schedules(t).ChainedScheduler([]),
    "chained plateau": lambda t, o: schedules(t).ChainedScheduler(
        [schedules(t).StepLR(o, 1), schedules(t).ReduceLROnPlateau(o)]
    ),
    "chained other": lambda t, o: schedules(t).ChainedScheduler(
        [schedules(t).StepLR(o, 1)], optimizer=optimizer_of(t)
    ),
    "plateau factor": lambda t, o: schedules(t).ReduceLROnPlateau(o, factor=1.0),
    "plateau mode": lambda t, o: schedules(t).ReduceLROnPlateau(o, mode="up"),
    "plateau threshold": lambda t, o: schedules(t).ReduceLROnPlateau(o, threshold_mode="up"),
    "plateau minimum": lambda t, o: schedules(t).ReduceLROnPlateau(o, min_lr=[1.0]),
    "cyclic mode": lambda t, o: schedules(t).CyclicLR(o, 0.1, 1.0, mode="up"),
    "cyclic length": lambda t, o: schedules(t).CyclicLR(o, [0.1], 1.0),
    "cyclic momentum length": lambda t, o: schedules(t).CyclicLR(o, 0.1, 1.0, base_momentum=[1]),
    "restarts length": lambda t, o: schedules(t).CosineAnnealingWarmRestarts(o, 0),
    "restarts float": lambda t, o: schedules(t).CosineAnnealingWarmRestarts(o, 1.5),
    "restarts factor": lambda t, o: schedules(t).CosineAnnealingWarmRestarts(o, 1, T_mult=0),
    "restarts minimum": lambda t, o: schedules(t).CosineAnnealingWarmRestarts(o, 1, eta_min="a"),
    "restarts epoch": lambda t, o: schedules(t).CosineAnnealingWarmRestarts(o, 1).step(-1),
    "one cycle steps": lambda t, o: schedules(t).OneCycleLR(o, 1.0),
    "one cycle total": lambda t, o: schedules(t).OneCycleLR(o, 1.0, total_steps=-1),
    "one cycle float": lambda t, o: schedules(t).OneCycleLR(o, 1.0, total_steps=1.5),
    "one cycle epochs": lambda t, o: schedules(t).OneCycleLR(o, 1.0, epochs=-1, steps_per_epoch=1),
    "one cycle each": lambda t, o: schedules(t).OneCycleLR(o, 1.0, epochs=1, steps_per_epoch=-1),
    "one cycle start": lambda t, o: schedules(t).OneCycleLR(o, 1.0, 10, pct_start=1.5),
    "one cycle int start": lambda t, o: schedules(t).OneCycleLR(o, 1.0, 10, pct_start=1),
    "one cycle strategy": lambda t, o: schedules(t).OneCycleLR(o, 1.0, 9, anneal_strategy="up"),
    "one cycle length": lambda t, o: schedules(t).OneCycleLR(o, [1.0], 9),
    "one cycle over": lambda t, o: follow(o, schedules(t).OneCycleLR(o, 1.0, 9), 11),
    "swa strategy": lambda t, o: t.optim.swa_utils.SWALR(o, 1.0, anneal_strategy="up"),
    "swa epochs": lambda t, o: t.optim.swa_utils.SWALR(o, 1.0, anneal_epochs=-1),
    "swa length": lambda t, o: t.optim.swa_utils.SWALR(o, [1.0]),
    "plateau step": lambda t, o: schedules(t).ReduceLROnPlateau(o).step("loss"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_errors_say_the_same(name):
    errors = {}
    for t in (retrograd, torch):
        with pytest.raises(Exception) as caught:
            FAILURES[name](t, optimizer_of(t))
        errors[t] = (caught.type, str(caught.value))
    assert errors[retrograd] == errors[torch]


def test_momentum_is_asked_for():
    for name, args in (("CyclicLR", (0.1, 1.0)), ("OneCycleLR", (1.0, 10))):
        errors = {}
        for t in (retrograd, torch):
            optimizer = optimizer_of(t)
            del optimizer.defaults["momentum"]
            with pytest.raises(ValueError) as caught:
                getattr(t.optim.lr_scheduler, name)(optimizer, *args)
            errors[t] = str(caught.value)
        assert errors[retrograd] == errors[torch]


def warned(t, act):
    optimizer = optimizer_of(t)
    scheduler = t.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act(optimizer, scheduler)
    return [(warning.category, str(warning.message)) for warning in caught]


def overridden(optimizer, scheduler):
    optimizer.step = lambda: None
    optimizer.step()
    scheduler.step()


@pytest.mark.parametrize(
    ("act", "count"),
    [
        (lambda optimizer, scheduler: scheduler.step(), 1),
        (lambda optimizer, scheduler: (scheduler.step(), scheduler.step()), 1),
        (lambda optimizer, scheduler: (optimizer.step(), scheduler.step()), 0),
        (overridden, 1),
        (lambda optimizer, scheduler: scheduler.get_lr(), 1),
    ],
)
def test_warnings_say_the_same(act, count):
    ours, theirs = warned(retrograd, act), warned(torch, act)
    assert ours == theirs
    assert len(ours) == count


def test_two_schedules_on_one_optimizer_and_training():
    """Real steps with gradients: the parameters agree after a schedule changed the rate."""
    values = {}
    for t in (retrograd, torch):
        weight = t.tensor([1.0, -2.0, 3.0], requires_grad=True)
        optimizer = t.optim.SGD([weight], lr=0.1, momentum=0.9)
        first = t.optim.lr_scheduler.LinearLR(optimizer, total_iters=8)
        second = t.optim.lr_scheduler.CosineAnnealingLR(optimizer, 15)
        for _ in range(25):
            optimizer.zero_grad()
            (weight**2).sum().backward()
            optimizer.step()
            first.step()
            second.step()
        values[t] = weight.detach().numpy()
    assert values[retrograd] == pytest.approx(values[torch], rel=1e-5)


def test_copies_of_the_optimizer_step_themselves():
    for t in (retrograd, torch):
        optimizer = optimizer_of(t)
        t.optim.lr_scheduler.StepLR(optimizer, 3)
        for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
            before = optimizer.param_groups[0]["params"][0].detach().clone()
            parameter = twin.param_groups[0]["params"][0]
            parameter.grad = t.ones(2)
            twin.step()
            assert not t.equal(parameter.detach(), before)
            assert t.equal(optimizer.param_groups[0]["params"][0].detach(), before)
            # the copy does not count the steps of the original
            assert not hasattr(twin.step, "_wrapped_by_lr_sched")


def test_chained_schedules_inside_a_sequence_warn_early():
    """The sequence starts its first part anew, which steps the chained ones a second time."""
    build = in_sequence(
        (20,),
        chained(simple("LinearLR", total_iters=11), simple("StepLR", 3, gamma=0.4)),
        simple("ExponentialLR", 0.9),
    )
    seen, texts = {}, {}
    for t in (retrograd, torch):
        optimizer = optimizer_of(t)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scheduler = build(t, optimizer)
        texts[t] = [str(warning.message) for warning in caught]
        seen[t] = follow(optimizer, scheduler)
    assert seen[retrograd] == seen[torch]
    assert texts[retrograd] == texts[torch]
    assert len(texts[torch]) == 2


def test_public_names_and_signatures():
    for ours, theirs in (
        (retrograd.optim.lr_scheduler, torch.optim.lr_scheduler),
        (retrograd.optim.swa_utils, torch.optim.swa_utils),
    ):
        for name in theirs.__all__:
            got, wanted = (
                [(p.name, p.default) for p in inspect.signature(value).parameters.values()]
                for value in (getattr(ours, name), getattr(theirs, name))
            )
            assert got == wanted, name
    assert sorted(retrograd.optim.lr_scheduler.__all__) == sorted(torch.optim.lr_scheduler.__all__)


def test_old_state_of_one_cycle():
    """PyTorch 2.2 and older kept the function itself in the state, pickled by its name."""
    for name in ("_annealing_cos", "_annealing_linear"):
        found = [getattr(schedules(t).OneCycleLR, name)(1.0, 0.25, 0.3) for t in (retrograd, torch)]
        assert found[0] == found[1]
