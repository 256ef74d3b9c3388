"""Schedules and averaged models in less common use: scenarios for both libraries."""

from __future__ import annotations

import copy
import gc
import io
import re
import weakref

import pytest

from tests.autograd.outcomes import assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SCENARIOS = []


def scenario(function):
    SCENARIOS.append(pytest.param(function, id=function.__name__))
    return function


@pytest.mark.parametrize("run", SCENARIOS)
def test_scenario(run):
    assert_same(run, torch)


def shown(value):
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value)).replace("retrograd.", "torch.")


def descent(lib, rate=0.5, count=1, kind="SGD", **options):
    groups = [{"params": [lib.ones(2, requires_grad=True)]} for _ in range(count)]
    return getattr(lib.optim, kind)(groups, lr=rate, **options)


def every(lib):
    """One schedule of each kind, as functions of an optimizer."""
    s = lib.optim.lr_scheduler
    return {
        "LambdaLR": lambda o: s.LambdaLR(o, abs),
        "MultiplicativeLR": lambda o: s.MultiplicativeLR(o, lambda epoch: 0.9),
        "StepLR": lambda o: s.StepLR(o, 2),
        "MultiStepLR": lambda o: s.MultiStepLR(o, [2, 4]),
        "ConstantLR": lambda o: s.ConstantLR(o),
        "LinearLR": lambda o: s.LinearLR(o),
        "ExponentialLR": lambda o: s.ExponentialLR(o, 0.9),
        "PolynomialLR": lambda o: s.PolynomialLR(o, 4),
        "CosineAnnealingLR": lambda o: s.CosineAnnealingLR(o, 3),
        "CosineAnnealingWarmRestarts": lambda o: s.CosineAnnealingWarmRestarts(o, 3),
        "CyclicLR": lambda o: s.CyclicLR(o, 0.1, 0.4, 2, cycle_momentum=False),
        "OneCycleLR": lambda o: s.OneCycleLR(o, 0.4, 12, cycle_momentum=False),
        "SequentialLR": lambda o: s.SequentialLR(o, [s.ConstantLR(o), s.StepLR(o, 1)], [3]),
        "ChainedScheduler": lambda o: s.ChainedScheduler([s.ConstantLR(o), s.StepLR(o, 2)]),
        "ReduceLROnPlateau": lambda o: s.ReduceLROnPlateau(o, patience=1),
    }


def advance(schedule, loss=1.0):
    schedule.step(loss) if "Plateau" in type(schedule).__name__ else schedule.step()


@scenario
def states_in_files(lib, log):
    for name, build in every(lib).items():
        optimizer = descent(lib, 0.5, 2)
        schedule = build(optimizer)
        for _ in range(4):
            optimizer.step()
            advance(schedule)
        log(name, sorted(schedule.state_dict()), schedule.get_last_lr())
        file = io.BytesIO()
        lib.save(schedule.state_dict(), file)
        file.seek(0)
        log.attempt(lambda f=file: sorted(lib.load(f, weights_only=True)))
        file.seek(0)
        other = descent(lib, 0.1, 2)
        for group, source in zip(other.param_groups, optimizer.param_groups, strict=True):
            group["lr"] = source["lr"]
        again = build(other)
        again.load_state_dict(lib.load(file, weights_only=False))
        for _ in range(3):
            for one, follower in ((optimizer, schedule), (other, again)):
                one.step()
                advance(follower)
        log(name, schedule.get_last_lr(), again.get_last_lr(), again.last_epoch)


@scenario
def nothing_is_verbose_any_more(lib, log):
    for build in (
        lambda o: lib.optim.lr_scheduler.StepLR(o, 2, verbose=True),
        lambda o: lib.optim.lr_scheduler.ReduceLROnPlateau(o, verbose=True),
        lambda o: lib.optim.lr_scheduler.LambdaLR(o, abs, -1, "deprecated"),
    ):
        try:
            build(descent(lib))
        except TypeError as error:
            log(str(error).split("(")[0].split(".")[-1], str(error).split(") ")[-1])
        else:
            log("accepted")
    schedule = lib.optim.lr_scheduler.StepLR(descent(lib), 2)
    log.attempt(lambda: schedule.print_lr(True, 0, 0.1))


@scenario
def order_of_calls(lib, log):
    for name, build in every(lib).items():
        optimizer = descent(lib)
        schedule = build(optimizer)
        advance(schedule)
        optimizer.step()
        advance(schedule)
        log(name, schedule.get_last_lr())
        if hasattr(schedule, "get_lr") and name not in ("SequentialLR", "ChainedScheduler"):
            log.attempt(schedule.get_lr)
    optimizer = descent(lib)
    schedule = lib.optim.lr_scheduler.StepLR(optimizer, 2)
    optimizer.step = lambda: None
    schedule.step()
    schedule.step()


@scenario
def epochs_as_arguments(lib, log):
    for name, build in every(lib).items():
        if name in ("SequentialLR", "ChainedScheduler", "ReduceLROnPlateau"):
            continue
        optimizer = descent(lib)
        schedule = build(optimizer)
        optimizer.step()
        for epoch in (3, 1, 5):
            log.attempt(lambda s=schedule, e=epoch: s.step(e))
            log(name, schedule.last_epoch, schedule.get_last_lr())


@scenario
def no_cycles(lib, log):
    for build in every(lib).values():
        optimizer = descent(lib)
        schedule = build(optimizer)
        dead = weakref.ref(optimizer)
        gc.collect()
        gc.disable()
        del schedule, optimizer
        log(dead() is None)
        gc.enable()


@scenario
def groups_added_later(lib, log):
    for name, build in every(lib).items():
        optimizer = descent(lib)
        schedule = build(optimizer)
        optimizer.step()
        advance(schedule)
        optimizer.add_param_group({"params": [lib.ones(1, requires_grad=True)], "lr": 0.3})
        log(name)
        log.attempt(lambda s=schedule: advance(s))
        log([group["lr"] for group in optimizer.param_groups])
    optimizer = descent(lib)
    schedule = lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, min_lr=[0.1], patience=0)
    optimizer.add_param_group({"params": [lib.ones(1, requires_grad=True)], "lr": 0.3})
    for _ in range(3):
        log.attempt(lambda: schedule.step(1.0))
    log(schedule.get_last_lr(), schedule.num_bad_epochs, schedule.best)


@scenario
def momenta(lib, log):
    s = lib.optim.lr_scheduler
    for kind, options in (("SGD", {"momentum": 0.9}), ("Adam", {}), ("AdamW", {}), ("NAdam", {})):
        optimizer = descent(lib, 0.5, 2, kind, **options)
        for schedule in (
            s.CyclicLR(optimizer, 0.1, 0.4, 3, base_momentum=0.7, max_momentum=[0.9, 0.95]),
            s.OneCycleLR(optimizer, [0.4, 0.2], 8, base_momentum=0.6, three_phase=True),
        ):
            for _ in range(7):
                optimizer.step()
                schedule.step()
                log(
                    schedule.get_last_lr(),
                    [g.get("momentum") for g in optimizer.param_groups],
                    shown([g.get("betas") for g in optimizer.param_groups]),
                )
    log.attempt(lambda: s.CyclicLR(descent(lib, kind="Rprop"), 0.1, 0.4))
    log.attempt(lambda: s.OneCycleLR(descent(lib, kind="Rprop"), 0.1, 4))
    log.attempt(lambda: s.OneCycleLR(descent(lib, kind="Adagrad"), 0.1, 4, cycle_momentum=False))


@scenario
def plateaus(lib, log):
    for options in (
        {},
        {"mode": "max"},
        {"threshold_mode": "abs", "threshold": 0.1},
        {"cooldown": 2},
        {"min_lr": 0.2},
        {"eps": 0.5},
        {"factor": 0.5, "patience": 0},
    ):
        optimizer = descent(lib)
        schedule = lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **{"patience": 1, **options})
        log(schedule.get_last_lr() if hasattr(schedule, "_last_lr") else "not yet")
        losses = [1.0, 0.95, 0.99, float("nan"), 0.5, 0.5, 0.5, float("inf"), lib.tensor(0.4), 1]
        for loss in losses:
            optimizer.step()
            schedule.step(loss)
            log(schedule.get_last_lr(), schedule.num_bad_epochs, schedule.in_cooldown)
    log.attempt(lambda: schedule.step())
    log.attempt(lambda: schedule.step(lib.ones(2)))


@scenario
def averaged_models(lib, log):
    swa = lib.optim.swa_utils
    lib.manual_seed(0)
    model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2))
    for options in (
        {},
        {"use_buffers": True},
        {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.5)},
        {"multi_avg_fn": swa.get_swa_multi_avg_fn()},
        {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.5), "use_buffers": True},
        {"avg_fn": swa.get_ema_avg_fn(0.5)},
        {"avg_fn": lambda average, new, count: average + new * count},
    ):
        average = swa.AveragedModel(copy.deepcopy(model), **options)
        for step in range(3):
            with lib.no_grad():
                for parameter in model.parameters():
                    parameter.add_(0.5 + step)
            log.attempt(lambda a=average: a.update_parameters(model))
        log(sorted(average.state_dict()), average.n_averaged)
        log([round(v, 4) for p in average.parameters() for v in p.reshape(-1).tolist()])
        again = swa.AveragedModel(copy.deepcopy(model), **options)
        log(shown(again.load_state_dict(average.state_dict())), again.n_averaged)
        log(average(lib.ones(2, 2)).shape == (2, 2))
    for decay in (-0.1, 1.1, "a"):
        log.attempt(lambda d=decay: swa.get_ema_multi_avg_fn(d))
        log.attempt(lambda d=decay: swa.get_ema_avg_fn(d))
    both = {"avg_fn": abs, "multi_avg_fn": abs}
    log.attempt(lambda: swa.AveragedModel(model, **both))


@scenario
def statistics_of_averaged_models(lib, log):
    swa = lib.optim.swa_utils
    lib.manual_seed(0)
    data = [lib.randn(4, 2) for _ in range(3)]
    for batches in (data, [(x, lib.ones(4)) for x in data], [[x] for x in data], iter(data), []):
        model = lib.nn.Sequential(lib.nn.BatchNorm1d(2), lib.nn.Dropout(), lib.nn.BatchNorm1d(2))
        model.eval()
        swa.update_bn(batches, model)
        log(model.training, [m.training for m in model], model[0].momentum)
        log([round(v, 4) for v in model[0].running_mean.tolist()], model[0].num_batches_tracked)
    log.attempt(lambda: swa.update_bn([3], lib.nn.BatchNorm1d(2)))
    log.attempt(lambda: swa.update_bn([3], lib.nn.Linear(2, 2)))
