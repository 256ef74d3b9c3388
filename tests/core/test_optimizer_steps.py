"""Optimizer steps by the compiled core and by Python: the same bits, the same facts.

The Python function behind a shortcut is its attribute `python`, so both run in one process.
"""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import random
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd import core
from retrograd.optim import Optimizer

pytestmark = pytest.mark.skipif(not core.AVAILABLE, reason="needs the compiled core")

Maker = Callable[[list[Any]], Any]


def options(name: str, chance: random.Random) -> dict[str, Any]:
    """Random options of an optimizer, those that only Python follows among them."""
    rate = chance.choice([0.1, 1e-3, 1, 0.0, np.float64(0.05)])
    decay = chance.choice([0, 0, 0.01, 0.5])
    found: dict[str, Any] = {"lr": rate, "weight_decay": decay}
    if chance.random() < 0.15:
        found["maximize"] = True
    if name == "SGD":
        found["momentum"] = chance.choice([0, 0.9, 0.5])
        found["nesterov"] = bool(found["momentum"]) and chance.random() < 0.5
        if not found["nesterov"]:
            found["dampening"] = chance.choice([0, 0, 0.3])
    elif name in ("Adam", "AdamW", "NAdam", "RAdam", "Adamax"):
        betas = [(0.9, 0.999), (0.5, 0.9), (0.0, 0.99), (0.3, 0.0)]
        found["betas"] = chance.choice(betas)
        found["eps"] = chance.choice([1e-8, 1e-3, 0.0])
        found["foreach"] = chance.choice([None, True, False])
        if name.startswith("Adam") and name != "Adamax":
            found["amsgrad"] = chance.random() < 0.4
        if name in ("NAdam", "RAdam"):
            found["decoupled_weight_decay"] = chance.random() < 0.5
        if name == "NAdam":
            found["momentum_decay"] = chance.choice([4e-3, 0, 0.5])
    elif name == "RMSprop":
        found["alpha"] = chance.choice([0.99, 0.9, 0.3])
        found["momentum"] = chance.choice([0, 0.9])
        found["centered"] = chance.random() < 0.5
        found["eps"] = chance.choice([1e-8, 1e-2])
    elif name == "Adagrad":
        found["lr_decay"] = chance.choice([0, 0.1])
        found["initial_accumulator_value"] = chance.choice([0, 0.5])
    elif name == "Adadelta":
        found["rho"] = chance.choice([0.9, 0.5, 1, 0.0])
        found["eps"] = chance.choice([1e-6, 1e-2])
    elif name == "ASGD":
        found["lambd"] = chance.choice([1e-4, 0.1, 0])
        found["alpha"] = chance.choice([0.75, 1, 0.5])
        found["t0"] = chance.choice([1e6, 1, 0.0])
    elif name == "Rprop":
        del found["weight_decay"]
        found["etas"] = chance.choice([(0.5, 1.2), (0.1, 3.0)])
        found["step_sizes"] = chance.choice([(1e-6, 50), (0.01, 0.2), (0.0, 1e9)])
    return found


def parameters(kinds: list[str]) -> list[Any]:
    """Parameters of many forms, the same at every call."""
    generator = np.random.default_rng(7)
    made = []
    for kind in kinds:
        shape = {"scalar": (), "empty": (0, 3), "row": (17,), "one": (1,)}.get(kind, (5, 7))
        dtype = {"double": np.float64, "half": np.float16}.get(kind, np.float32)
        array = generator.standard_normal(shape).astype(dtype)
        if kind == "columns":
            array = np.asfortranarray(array)
        if kind == "strided":
            array = np.repeat(array, 2, axis=1)[:, ::2]
        made.append(torch.nn.Parameter(torch.from_numpy(array)))
    return made


PLAIN = ["matrix", "row", "scalar", "empty", "one", "double", "columns", "row"]


def give_gradients(made: list[Any], seed: int, missing: float, values: str = "normal") -> None:
    generator = np.random.default_rng(seed)
    for parameter in made:
        array = parameter.detach().numpy()
        gradient = np.empty_like(array)
        gradient[...] = generator.standard_normal(array.shape)
        if values == "odd" and gradient.size:
            flat = gradient.reshape(-1)
            flat[:: max(1, flat.size // 3)] = generator.choice([np.nan, np.inf, -np.inf, 0, -0.0])
        absent = generator.random() < missing
        parameter.grad = None if absent else torch.from_numpy(gradient)


def facts(made: list[Any], optimizer: Any) -> list[Any]:
    """Everything that a step changes, comparable."""
    found: list[Any] = []
    for parameter in made:
        cell = parameter._cell
        found.append((parameter._version, None if cell is None else (cell.writer, cell.code)))
        found.append(plain(parameter))
        state = optimizer.state.get(parameter)
        if state is not None:
            found.append({key: plain(value) for key, value in state.items()})
    return found


def plain(value: Any) -> Any:
    array = value.detach().numpy()
    # all nans alike: which of two operands' signs a nan gets is the processor's affair
    array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return (array.dtype.str, array.shape, array.tobytes())


def both_ways(make: Maker, kinds: list[str], steps: int, **gradients: Any) -> None:
    ours, theirs = parameters(kinds), parameters(kinds)
    fast, slow = make(ours), make(theirs)
    for step in range(steps):
        give_gradients(ours, step, **gradients)
        give_gradients(theirs, step, **gradients)
        for optimizer in (fast, slow):
            one = Optimizer.step if optimizer is fast else Optimizer.step.python  # type: ignore[attr-defined]
            assert one(optimizer) is None
        assert facts(ours, fast) == facts(theirs, slow)
    assert list(fast.state_dict()) == list(slow.state_dict())
    assert fast.state_dict()["param_groups"] == slow.state_dict()["param_groups"]


@pytest.fixture(params=core._core.builds() if core.AVAILABLE else [])
def build(request: Any) -> Any:
    """Each build of the loops that this processor can run."""
    before = core._core.use_build(request.param)
    yield request.param
    core._core.use_build(before)


NAMES = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"]
NAMES += ["NAdam", "RAdam", "Adamax", "Adadelta", "ASGD", "Rprop"]


@pytest.mark.parametrize("name", NAMES)
def test_random_options(name: str, build: str) -> None:
    chance = random.Random(name)
    for _ in range(25):
        kinds = chance.choices(PLAIN, k=5)
        if chance.random() < 0.2:
            kinds.append(chance.choice(["half", "strided"]))
        given = options(name, chance)
        both_ways(
            lambda made, given=given: getattr(torch.optim, name)(made, **given),
            kinds,
            steps=4,
            missing=chance.choice([0.0, 0.3]),
            values=chance.choice(["normal", "odd"]),
        )


@pytest.mark.parametrize("name", NAMES)
def test_many_steps(name: str, build: str) -> None:
    both_ways(lambda made: getattr(torch.optim, name)(made, lr=0.01), PLAIN, steps=120, missing=0.0)


def test_large_parameters(build: str) -> None:
    def large() -> list[Any]:
        return [torch.nn.Parameter(torch.linspace(-1, 1, 70_001))]

    for name in NAMES:
        ours, theirs = large(), large()
        fast = getattr(torch.optim, name)(ours, lr=0.01)
        slow = getattr(torch.optim, name)(theirs, lr=0.01)
        for _ in range(3):
            ours[0].grad, theirs[0].grad = ours[0].detach() * 2, theirs[0].detach() * 2
            fast.step()
            Optimizer.step.python(slow)  # type: ignore[attr-defined]
        assert plain(ours[0]) == plain(theirs[0])


# ----------------------------------------------------------------------------- which way is taken


class Ways:
    """Counts the steps that Python does."""

    def __init__(self, monkeypatch: Any) -> None:
        self.python = 0
        original = Optimizer._count_writes

        def counted(*given: Any) -> None:
            self.python += 1
            original(*given)

        monkeypatch.setattr(Optimizer, "_count_writes", counted)

    def of(self, optimizer: Any) -> str:
        before = self.python
        optimizer.step()
        return "compiled" if self.python == before else "python"


@pytest.fixture
def ways(monkeypatch: Any) -> Ways:
    return Ways(monkeypatch)


def ready(
    name: str = "Adam", kinds: list[str] | None = None, **given: Any
) -> tuple[Any, list[Any]]:
    """An optimizer whose state exists, with gradients for the next step."""
    made = parameters(kinds or ["matrix", "row"])
    optimizer = getattr(torch.optim, name)(made, **{"lr": 0.01, **given})
    give_gradients(made, 0, 0.0)
    optimizer.step()
    return optimizer, made


@pytest.mark.parametrize("name", NAMES)
def test_the_common_step_is_compiled(name: str, ways: Ways) -> None:
    for given in ({}, {"weight_decay": 0.1}, {"foreach": True}, {"foreach": False}):
        if name == "Rprop" and "weight_decay" in given:
            continue
        optimizer, _ = ready(name, PLAIN, **given)
        assert ways.of(optimizer) == "compiled"


def test_options_of_one_kind_are_compiled(ways: Ways) -> None:
    for name, given in (
        ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("SGD", {"momentum": 0.9, "dampening": 0.1}),
        ("SGD", {"fused": True}),
        ("Adam", {"amsgrad": True, "betas": (0.5, 0.9)}),
        ("AdamW", {"fused": True}),
        ("RMSprop", {"centered": True, "momentum": 0.9}),
        ("Adagrad", {"lr_decay": 0.1}),
        ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
        ("RAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
        ("Adadelta", {"rho": 0.5}),
        ("ASGD", {"t0": 1}),
        ("Rprop", {"etas": (0.3, 2.0)}),
    ):
        assert ways.of(ready(name, **given)[0]) == "compiled", (name, given)


def test_what_is_unusual_goes_to_python(ways: Ways) -> None:
    assert ways.of(ready(maximize=True)[0]) == "python"
    assert ways.of(ready(lr=torch.tensor(0.1))[0]) == "python"
    assert ways.of(ready(kinds=["matrix", "half"])[0]) == "python"
    assert ways.of(ready(kinds=["matrix", "strided"])[0]) == "python"
    made = parameters(["row"])
    give_gradients(made, 0, 0.0)
    assert ways.of(torch.optim.Adam(made)) == "python"  # the first step makes the state
    optimizer, made = ready()
    made[0].grad = torch.zeros(5, 7).to_sparse()
    with pytest.raises(RuntimeError):
        optimizer.step()
    optimizer, made = ready()
    del optimizer.state[made[1]]
    assert ways.of(optimizer) == "python"
    assert ways.of(optimizer) == "compiled"


def test_a_subclass_may_compute_something_else() -> None:
    class Other(torch.optim.Adam):
        def _change(self, group: Any, state: Any, value: Any, g: Any) -> None:
            value[...] = 42

    made = parameters(["row"])
    optimizer = Other(made)
    for _ in range(2):
        give_gradients(made, 0, 0.0)
        optimizer.step()
        assert (made[0] == 42).all()


def test_hooks_are_called() -> None:
    optimizer, _ = ready("SGD")
    seen: list[str] = []
    handles = [
        optimizer.register_step_pre_hook(lambda *given: seen.append("before")),
        optimizer.register_step_post_hook(lambda *given: seen.append("after")),
        torch.optim.optimizer.register_optimizer_step_post_hook(
            lambda *given: seen.append("after all")
        ),
    ]
    optimizer.step()
    assert seen == ["before", "after", "after all"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(seen) == 3


def test_a_closure_and_a_scheduler() -> None:
    optimizer, made = ready("SGD")
    calls = []
    assert optimizer.step(lambda: calls.append(1) or 3.0) == 3.0
    assert calls == [1]
    assert optimizer.step(None) is None
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    version = made[0]._version
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
        scheduler.step()
    assert made[0]._version == version + 1
    assert optimizer.param_groups[0]["lr"] == 0.005


# ----------------------------------------------------------------------------- memory shared


@pytest.mark.parametrize("name", NAMES)
def test_shared_memory(name: str) -> None:
    """Parameters that share their memory, and gradients in it, as Python's order has it."""

    def shared() -> list[Any]:
        whole = torch.linspace(-1, 1, 12)
        first, second = torch.nn.Parameter(whole[:8]), torch.nn.Parameter(whole[4:])
        first.grad, second.grad = whole[:8], whole[:8]
        return [first, second]

    ours, theirs = shared(), shared()
    given = {"lr": 0.1} if name == "Rprop" else {"lr": 0.1, "weight_decay": 0.1}
    fast, slow = (getattr(torch.optim, name)(made, **given) for made in (ours, theirs))
    for _ in range(4):
        fast.step()
        Optimizer.step.python(slow)  # type: ignore[attr-defined]
        assert facts(ours, fast)[1::3] == facts(theirs, slow)[1::3]
        assert plain(ours[0]) == plain(theirs[0])


def test_a_parameter_twice_in_its_group() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both_ways(
            lambda made: torch.optim.Adam([*made, *made], lr=0.1), ["row"], steps=3, missing=0.0
        )


def test_groups_with_options_of_their_own() -> None:
    def make(made: list[Any]) -> Any:
        groups = [{"params": made[:2], "lr": 0.5}, {"params": made[2:], "weight_decay": 0.3}]
        return torch.optim.AdamW(groups, lr=0.01)

    both_ways(make, PLAIN, steps=4, missing=0.3)


def test_state_after_loading_and_copying(ways: Ways) -> None:
    optimizer, made = ready("Adam", PLAIN)
    stored = pickle.loads(pickle.dumps(optimizer.state_dict()))
    other = torch.optim.Adam(made, lr=0.01)
    other.load_state_dict(stored)
    assert ways.of(other) == "compiled"
    copied = copy.deepcopy(optimizer)
    give_gradients(copied.param_groups[0]["params"], 1, 0.0)
    assert ways.of(copied) == "compiled"


# ----------------------------------------------------------------------------- nothing half done


def test_nothing_is_changed_before_all_is_looked_at(ways: Ways) -> None:
    optimizer, made = ready(kinds=["matrix", "row", "half"])
    made[2].grad = None
    assert ways.of(optimizer) == "compiled"
    made[0].grad = torch.ones(5, 7)
    group = optimizer.param_groups[0]
    optimizer.add_param_group({"params": parameters(["one"]), "capturable": True})
    optimizer.param_groups[1]["params"][0].grad = torch.ones(1)
    before = plain(made[0])
    with pytest.raises(AssertionError, match="capturable"):
        optimizer.step()
    assert group["capturable"] is False
    assert plain(made[0]) != before  # the first group, as in PyTorch


def test_missing_options_raise_what_python_raises() -> None:
    optimizer, _ = ready("SGD")
    del optimizer.param_groups[0]["momentum"]
    with pytest.raises(KeyError, match="momentum"):
        optimizer.step()


def test_the_line_of_the_step_is_remembered() -> None:
    optimizer, made = ready("SGD")
    optimizer.step()
    cell = made[0]._cell
    assert cell.writer == "SGD.step"
    assert cell.code is sys._getframe().f_code
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    loss = (weight * weight).sum()
    weight.grad = torch.ones(2)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


# ----------------------------------------------------------------------------- life


def test_references_stay_as_they_are() -> None:
    optimizer, made = ready("Adam", PLAIN)
    state = optimizer.state[made[0]]
    watched = [made[0], made[0]._array, made[0].grad, state["step"]._array, state, optimizer]
    optimizer.step()
    before = [sys.getrefcount(item) for item in watched]
    gc.collect()
    count = len(gc.get_objects())
    for _ in range(500):
        optimizer.step()
    assert [sys.getrefcount(item) for item in watched] == before
    for _ in range(200):
        for parameter in made:
            parameter.grad = torch.zeros_like(parameter)
        optimizer.zero_grad()
    gc.collect()
    assert len(gc.get_objects()) - count < 50


def test_threads_step_optimizers_of_their_own() -> None:
    def train(found: list[Any]) -> None:
        made = [torch.nn.Parameter(torch.linspace(-1, 1, 40_000)) for _ in range(2)]
        optimizer = torch.optim.Adam(made, lr=0.01)
        for _ in range(10):
            for parameter in made:
                parameter.grad = parameter.detach() * 2
            optimizer.step()
        found.append(plain(made[0]))

    alone: list[Any] = []
    train(alone)
    together: list[Any] = []
    threads = [threading.Thread(target=train, args=(together,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone * 4


def test_a_shortcut_is_like_its_function() -> None:
    step: Any = Optimizer.step
    assert step.__name__ == "step" and "closure" in step.__doc__
    assert list(inspect.signature(step).parameters) == ["self", "closure"]
    assert pickle.loads(pickle.dumps(step)) is step
    assert copy.deepcopy(step) is step
    optimizer, _ = ready("SGD")
    assert optimizer.step.__func__ is step
    step.marked = 1
    assert step.python.marked == 1
    del step.marked
    with pytest.raises(AttributeError):
        _ = step.marked
    with pytest.raises(IndexError):  # what the function raises
        step()


# ----------------------------------------------------------------------------- clearing


def test_zero_grad() -> None:
    for arguments, keywords in (((), {}), ((True,), {}), ((), {"set_to_none": True})):
        optimizer, made = ready("SGD", PLAIN)
        assert optimizer.zero_grad(*arguments, **keywords) is None
        assert all(parameter.grad is None for parameter in made)
    optimizer, made = ready("SGD", PLAIN)
    optimizer.zero_grad(False)
    assert all((parameter.grad == 0).all() for parameter in made)
    with pytest.raises(TypeError):
        optimizer.zero_grad(True, True)
    with pytest.raises(TypeError):
        optimizer.zero_grad(none=True)


def test_zero_grad_lets_gradients_go() -> None:
    """What the end of a gradient sets off may even change the groups."""
    import weakref

    optimizer, made = ready("SGD", PLAIN)
    gone = []

    def ended(_: Any) -> None:
        gone.append(1)
        optimizer.param_groups[0]["params"].clear()

    references = [weakref.ref(parameter.grad, ended) for parameter in made]
    optimizer.zero_grad()
    assert all(reference() is None for reference in references)
    assert all(parameter.grad is None for parameter in made)
    assert len(gone) == len(made)
