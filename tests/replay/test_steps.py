"""Replayed steps beside ordinary ones: losses, gradients, parameters, states, buffers, draws."""

from __future__ import annotations

import gc
import threading
import weakref
from functools import partial

import numpy as np
import pytest

import retrograd as torch
from retrograd.replay import binding
from tests.replay.standin import ordinary, replayed

nn, F = torch.nn, torch.nn.functional


@pytest.fixture(params=binding.EXECUTORS, ids=lambda kind: kind.__name__, autouse=True)
def executor(request, monkeypatch):
    monkeypatch.setattr(binding, "EXECUTORS", [request.param])


def mlp():
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))


def facts(model, optimizer, result):
    """All that a step leaves behind, as arrays."""
    found = [result]
    for tensor in model.parameters():
        found += [tensor, tensor.grad, tensor._version]
    found += list(model.buffers())
    if optimizer is not None:
        found += [v for state in optimizer.state.values() for v in state.values()]
    found.append(torch.get_rng_state())
    return [x.detach().numpy() if isinstance(x, torch.Tensor) else x for x in flat(found)]


def flat(value):
    if isinstance(value, (tuple, list)):
        return [x for item in value for x in flat(item)]
    return [value]


def run(build, wrap, count, data):
    torch.manual_seed(0)
    model, optimizer, step = build()
    wrapped = wrap(step, model)
    torch.manual_seed(5)
    seen = []
    for turn in range(count):
        result = wrapped(*data(turn))
        seen.append([np.array(x, copy=True) for x in facts(model, optimizer, result)])
    return seen, wrapped


def batch(turn):
    generator = torch.Generator().manual_seed(turn)
    return (
        torch.randn(4, 6, generator=generator),
        torch.randint(0, 3, (4,), generator=generator),
    )


def compare(build, count=7, data=batch, replays=3):
    """The same numbers in every turn, and at least some turns from the plan."""
    ours, wrapped = run(build, lambda step, *outside: replayed(step, *outside), count, data)
    theirs, _ = run(build, lambda step, *_: ordinary(step), count, data)
    for mine, other in zip(ours, theirs, strict=True):
        assert len(mine) == len(other)
        for a, b in zip(mine, other, strict=True):
            if a.dtype == object or b.dtype == object:
                assert a == b
            else:
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=5e-7)
    assert wrapped.replayed >= replays, wrapped.explain()
    return wrapped


def training(make, criterion=F.cross_entropy, optimizer=torch.optim.Adam, order=0, **options):
    def build():
        model = make()
        chosen = optimizer(model.parameters(), **options)

        def step(call, x, y):
            if order == 0:
                call(chosen.zero_grad)
            loss = criterion(model(x), y)
            if order == 1:
                call(chosen.zero_grad)
            loss.backward()
            call(chosen.step)
            if order == 2:
                call(chosen.zero_grad)
            return loss

        return model, chosen, step

    return build


# Where some gradients are 0 but for rounding errors (of a bias before a normalisation): Adam would
# make steps of full size of these.
CALM = {"optimizer": torch.optim.SGD, "lr": 0.1, "momentum": 0.9}


@pytest.mark.parametrize("order", [0, 1, 2])
def test_training(order):
    compare(training(mlp, order=order))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        (torch.optim.AdamW, {"amsgrad": True}),
        (torch.optim.RMSprop, {}),
        (torch.optim.Adagrad, {}),
    ],
)
def test_optimizers(kind, options):
    compare(training(mlp, optimizer=kind, **options))


def test_accumulation_and_zeros():
    def build():
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(call, x, y):
            call(optimizer.zero_grad, set_to_none=False)
            for part in (0, 2):
                loss = F.cross_entropy(model(x[part : part + 2]), y[part : part + 2]) / 2
                loss.backward()
            call(optimizer.step)
            return loss

        return model, optimizer, step

    compare(build)


def test_gradients_that_are_never_cleared():
    def build():
        model = mlp()

        def step(call, x, y):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        return model, None, step

    compare(build)


def test_several_losses():
    def build():
        model, head = mlp(), nn.Linear(3, 1)
        both = nn.ModuleList([model, head])
        optimizer = torch.optim.SGD(both.parameters(), lr=0.1)

        def step(call, x, y):
            call(optimizer.zero_grad)
            hidden = model(x)
            first = F.cross_entropy(hidden, y)
            second = head(hidden).pow(2).mean()
            first.backward(retain_graph=True)
            second.backward()
            call(optimizer.step)
            return first, {"second": second}, [first.detach()]

        return both, optimizer, lambda *args: flat_values(step(*args))

    compare(build)


def flat_values(result):
    first, rest, more = result
    return first, rest["second"], more[0]


def test_dropout_and_noise():
    def make():
        return nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.4), nn.ReLU(), nn.Linear(8, 3))

    compare(training(make))

    def build():
        model = mlp()

        def step(call, x, y):
            noise = (
                torch.randn(4, 6) + torch.rand_like(x) + torch.bernoulli(torch.full((4, 6), 0.5))
            )
            order = torch.randperm(4)
            loss = F.cross_entropy(model((x + noise)[order]), y[order])
            model.zero_grad()
            loss.backward()
            return loss

        return model, None, step

    compare(build)


def test_batch_norm():
    def make():
        return nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Linear(5, 3))

    compare(training(make, **CALM))


def test_convolution():
    def make():
        return nn.Sequential(
            nn.Unflatten(1, (1, 2, 3)), nn.Conv2d(1, 4, 2), nn.BatchNorm2d(4), nn.ReLU(),
            nn.MaxPool2d((1, 2)), nn.Flatten(), nn.Linear(4, 3),
        )  # fmt: skip

    compare(training(make, **CALM))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.inner, self.head = kind(3, 4), nn.Linear(4, 3)

    def forward(self, x):
        found, _ = self.inner(x.reshape(4, 2, 3).transpose(0, 1))
        return self.head(found[-1])


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent(kind):
    compare(training(lambda: Recurrent(kind)))


def test_transformer():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(7, 8)
            self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
            self.head = nn.Linear(8, 3)

        def forward(self, x):
            return self.head(self.layer(self.table(x)).mean(1))

    def data(turn):
        generator = torch.Generator().manual_seed(turn)
        return (
            torch.randint(0, 7, (4, 5), generator=generator),
            torch.randint(0, 3, (4,), generator=generator),
        )

    compare(training(Model, **CALM), data=data)


def test_clipping_and_a_schedule():
    def build():
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

        def step(call, x, y):
            call(optimizer.zero_grad)
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            norm = call(nn.utils.clip_grad_norm_, model.parameters(), 0.1)
            call(optimizer.step)
            call(schedule.step)
            return loss, norm * 2

        return model, optimizer, step

    compare(build)


def test_views_in_place_and_no_grad():
    def build():
        model = mlp()
        first = model[0].weight

        def step(call, x, y):
            hidden = x.clone()
            hidden[:, 1] = 0.5
            hidden[:, 2:4].mul_(2)
            hidden.t()[4].add_(1)
            loss = F.cross_entropy(model(hidden), y)
            loss.backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.1 * parameter.grad
                    parameter.grad = None
                first.clamp_(-1, 1)
            return loss.detach(), hidden

        return model, None, step

    compare(build)


def test_second_order():
    def build():
        model = mlp()

        def step(call, x, y):
            model.zero_grad()
            x = x.clone().requires_grad_()
            [slope] = torch.autograd.grad(model(x).sum(), x, create_graph=True)
            loss = (slope.norm(dim=1) - 1).pow(2).mean()
            loss.backward()
            return loss

        return model, None, step

    compare(build)


def test_inference():
    def build():
        model = mlp()

        def step(call, x, y):
            with torch.no_grad():
                return F.softmax(model(x), -1), model(x).argmax(1) == y

        return model, None, step

    compare(build)


def test_results_stay_as_they_are():
    model = mlp()
    wrapped = replayed(lambda call, x: model(x).sum().detach() * 1, model)
    found = [wrapped(torch.full((2, 6), float(turn))) for turn in range(5)]
    kept = [x.item() for x in found]
    grads = []

    def step(call, x):
        model.zero_grad()
        loss = model(x).sum()
        loss.backward()
        return loss

    wrapped = replayed(step, model)
    for turn in range(5):
        wrapped(torch.full((2, 6), float(turn)))
        grads.append((model[0].weight.grad, model[0].weight.grad.clone()))
    assert wrapped.replayed == 2, wrapped.explain()  # at first there were no gradients
    assert kept == [x.item() for x in found] and len(set(kept)) == 5
    assert all(torch.equal(a, b) for a, b in grads)


def test_a_freed_graph_says_who_freed_it():
    weight = torch.ones(3, requires_grad=True)

    def step(call, x):
        weight.grad = None
        loss = (weight * x).exp().sum()
        loss.backward()
        return loss

    wrapped = replayed(step, weight)
    for _ in range(5):
        loss = wrapped(torch.ones(3))
    assert wrapped.replayed == 2, wrapped.explain()
    with pytest.raises(RuntimeError, match="backward through the graph a second time") as caught:
        loss.backward()
    assert "loss.backward()" in "".join(caught.value.__notes__)


def test_nothing_of_a_recording_is_kept():
    weight = torch.ones(3, requires_grad=True)
    seen = []

    def step(call, x):
        weight.grad = None
        hidden = (weight * x).exp()
        seen.append(weakref.ref(getattr(hidden._array, "held", hidden._array)))
        hidden.sum().backward()

    wrapped = replayed(step, weight)
    for _ in range(6):
        argument = torch.ones(3)
        wrapped(argument)
    seen.append(weakref.ref(argument))
    del argument
    gc.collect()
    assert wrapped.replayed == 3 and [x() for x in seen] == [None] * len(seen)


# ------------------------------------------------------------------------------ what is refused


def refused(step, *args, outside=(), count=4):
    wrapped = replayed(step, *outside)
    plain = ordinary(step)
    for _ in range(count):
        np.testing.assert_array_equal(
            wrapped(*args).detach().numpy(), plain(*args).detach().numpy()
        )
    assert wrapped.replayed == 0
    return wrapped.explain()


def test_reading_elements_is_refused():
    x = torch.tensor([1.0, 2.0])
    assert "elements of a tensor are read" in refused(
        lambda call, x: x * 2 if x.sum() > 1 else x, x
    )
    assert "elements of a tensor are read" in refused(lambda call, x: x * x.max().item(), x)


def test_shapes_that_follow_from_elements_are_refused():
    x = torch.tensor([1.0, -2.0])
    assert "shape of a result" in refused(lambda call, x: x[x > 0] * 2, x)
    assert "shape of a result" in refused(lambda call, x: x.nonzero(), x)


def test_graphs_that_leave_are_refused():
    weight = torch.ones(2, requires_grad=True)
    text = refused(lambda call, x: (weight * x).exp(), torch.ones(2), outside=[weight])
    assert "graph leaves" in text


def test_tensors_that_nobody_named_are_refused():
    unknown = torch.ones(2)
    assert "nobody has named" in refused(lambda call, x: x + unknown, torch.ones(2))


def test_steps_that_differ_are_refused():
    turns = iter(range(100))
    wrapped = replayed(lambda call, x: x * next(turns))
    for turn in range(9):
        assert wrapped(torch.ones(2)).tolist() == [turn, turn]
    assert wrapped.replayed == 0 and "differ" in wrapped.explain()


def test_draws_outside_of_instructions_are_refused():
    wrapped = replayed(lambda call, x: x + torch.nn.init.trunc_normal_(torch.empty(2)).tolist()[0])
    assert len({wrapped(torch.ones(2))[0].item() for _ in range(4)}) == 4


# --------------------------------------------------------------------------------------- guards


def test_guards():
    model = mlp().double()  # where no rounding is near the bounds below
    randn = partial(torch.randn, dtype=torch.float64)

    def step(call, x):
        model.zero_grad()
        loss = model(x).sum()
        loss.backward()
        return loss

    wrapped, plain = replayed(step, model), ordinary(step)

    def both(x):
        ours, grad = wrapped(x), model[0].weight.grad
        theirs = plain(x)
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), 1e-12, 1e-12)
        assert (grad is None) == (model[0].weight.grad is None)
        if grad is not None:
            np.testing.assert_allclose(grad.numpy(), model[0].weight.grad.numpy(), 1e-12, 1e-12)

    def replays(*inputs):
        before = wrapped.replayed
        for x in inputs:
            both(x)
        return wrapped.replayed - before

    x = randn(3, 6)
    assert replays(x, x, x, x) == 1
    assert replays(randn(2, 6), randn(2, 6)) == 0  # another shape: a plan of its own
    assert replays(randn(2, 6), x) == 2
    assert replays(randn(6, 3).t()) == 0  # another layout
    model[0].weight.requires_grad_(False)
    assert replays(x) == 0
    model[0].weight.requires_grad_(True)
    assert replays(x) == 1
    handle = model[0].weight.register_hook(lambda grad: grad * 2)
    assert replays(x) == 0
    handle.remove()
    assert replays(x) == 1
    with torch.autograd.forward_ad.dual_level():
        assert replays(x) == 0
    model[0].weight.data = randn(5, 6)
    assert replays(x) == 1  # the plan takes what the tensor has
    model[0].weight.data = randn(6, 5).t()
    assert replays(x) == 0


def test_a_second_thread_runs_the_step_as_it_is_written():
    """A plan's memory serves one call at a time; the machine lets other threads run meanwhile."""
    x = torch.linspace(-1, 1, 200_000)

    def step(scale):
        value = x * scale
        for _ in range(8):
            value = torch.tanh(value) + x
        return value.sum().item()

    wrapped = torch.replay(step)
    wanted = {scale: step(torch.tensor(scale)) for scale in (0.5, 2.0)}
    for scale in (0.5, 2.0, 0.5):
        wrapped(torch.tensor(scale))
    found = []

    def work(scale):
        for _ in range(20):
            found.append((scale, wrapped(torch.tensor(scale))))

    threads = [threading.Thread(target=work, args=(scale,)) for scale in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40 and wrapped.replayed + wrapped.ordinary >= 40
    for scale, value in found:
        assert value == pytest.approx(wanted[scale], rel=1e-5, abs=1e-2)


def test_a_plan_that_is_running_is_left_alone():
    weight = torch.ones(3)

    def step(x):
        return (x * weight).sum().item()

    wrapped = torch.replay(step)
    for _ in range(3):
        wrapped(torch.ones(3))
    (plan,) = wrapped.plans
    plan.busy = True
    assert wrapped(torch.full((3,), 2.0)) == 6
    plan.busy = False
    assert (wrapped.replayed, wrapped.ordinary) == (1, 1)
    assert wrapped(torch.full((3,), 2.0)) == 6 and wrapped.replayed == 2
