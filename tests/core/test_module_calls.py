"""Calls of modules by the compiled core: what is called, what is read, what an error says."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
from typing import Any

import pytest

import retrograd as torch
from retrograd import core

nn = torch.nn
Call: Any = nn.Module.__call__

pytestmark = pytest.mark.skipif(not core.AVAILABLE, reason="needs the compiled core")


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.register_buffer("table", torch.zeros(3))
        self.inner = nn.Linear(2, 2)
        self.missing = nn.ReLU()
        self.missing = None
        self.number = 7

    def forward(self, x: Any, scale: float = 1.0) -> Any:
        return x * self.weight * scale


def frames() -> list[str]:
    frame, found = sys._getframe(1), []
    while frame is not None:
        found.append(frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    return found


class Looks(nn.Module):
    def forward(self) -> list[str]:
        return frames()


def is_compiled(module: Any, *given: Any) -> bool:
    """Whether a call has no frame of `Module.__call__`."""
    found = module(*given)
    return "__call__" not in found[: found.index("is_compiled")]


def test_the_common_call_has_no_frame() -> None:
    assert is_compiled(Looks())
    assert not is_compiled(lambda: Call.python(Looks()))


def test_arguments_pass_through() -> None:
    module, x = Plain(), torch.ones(2)
    assert module(x).tolist() == [1, 1]
    assert module(x, 2.0).tolist() == module(x, scale=2.0).tolist() == [2, 2]
    assert module(x=x, scale=3.0).tolist() == [3, 3]
    assert Call(module, x, scale=4.0).tolist() == [4, 4]
    for wrong in ((), (x, 1.0, 2.0)):
        with pytest.raises(TypeError) as ours:
            module(*wrong)
        with pytest.raises(TypeError) as python:
            Call.python(module, *wrong)
        assert str(ours.value) == str(python.value)
    with pytest.raises(TypeError):
        nn.Module.__call__()  # type: ignore[call-arg]


def test_hooks_of_every_kind_go_to_python() -> None:
    module = Looks()
    for add in (
        lambda: module.register_forward_pre_hook(lambda *given: None),
        lambda: module.register_forward_hook(lambda *given: None),
        lambda: nn.modules.module.register_module_forward_pre_hook(lambda *given: None),
        lambda: nn.modules.module.register_module_forward_hook(lambda *given: None),
    ):
        handle = add()
        assert not is_compiled(module)
        handle.remove()
        assert is_compiled(module)
    seen = []
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda *given: seen.append(1))
    layer(torch.ones(2, requires_grad=True)).sum().backward()
    assert seen == [1]


def test_a_forward_of_another_kind_goes_to_python() -> None:
    module = Looks()
    module.forward = lambda: "the instance's"  # type: ignore[method-assign, assignment]
    assert module() == "the instance's"

    class Wrapped(nn.Module):
        @torch.no_grad()
        def forward(self, x: Any) -> Any:
            return x * 2

    assert not Wrapped()(torch.ones(1, requires_grad=True)).requires_grad

    class Static(nn.Module):
        @staticmethod
        def forward(x: Any) -> Any:
            return x

    assert Static()(3) == 3
    with pytest.raises(NotImplementedError, match="missing the required"):
        nn.Module()(1)


def test_a_call_replaced_later() -> None:
    class Own(Looks):
        pass

    module = Own()
    assert is_compiled(module)
    Own.__call__ = lambda self: "another"  # type: ignore[method-assign, assignment]
    assert module() == "another"
    del Own.__call__
    assert is_compiled(module)
    Own.forward = lambda self: "other forward"  # type: ignore[method-assign, assignment]
    assert module() == "other forward"


def test_without_the_constructor() -> None:
    class Early(nn.Module):
        def __init__(self) -> None:
            pass

        def forward(self) -> int:
            return 1

    with pytest.raises(AttributeError, match="_backward_hooks"):
        Early()()


# ----------------------------------------------------------------------------- attributes


def test_parts_are_found() -> None:
    module = Plain()
    module(torch.ones(2))  # from here on the class finds them by compiled code
    assert module.weight is module._parameters["weight"]
    assert module.table is module._buffers["table"]
    assert module.inner is module._modules["inner"]
    assert module.missing is None
    assert module.number == 7 and module.training is True
    assert module.forward.__self__ is module
    with pytest.raises(AttributeError, match="'Plain' object has no attribute 'nothing'"):
        _ = module.nothing
    assert getattr(module, "nothing", 5) == 5
    assert not hasattr(module, "nothing")
    module.__dict__["weight"] = "in front"
    assert module.weight == "in front"
    del module.__dict__["weight"]
    del module.weight
    assert not hasattr(module, "weight")


def test_what_a_class_says_of_attributes_holds() -> None:
    class Own(Plain):
        @property
        def shown(self) -> Any:
            return "property"

        def __getattr__(self, name: str) -> Any:
            return "own" if name == "special" else super().__getattr__(name)

        def forward(self) -> Any:
            return self.shown, self.special, self.table

    module = Own()
    module._parameters["shown"] = module.weight
    for _ in range(2):
        assert module()[:2] == ("property", "own")
        assert module()[2] is module._buffers["table"]


def test_attributes_changed_later() -> None:
    class Base(Plain):
        pass

    class Derived(Base):
        pass

    module = Derived()
    module(torch.ones(2))
    weight = module.weight
    Base.__getattr__ = lambda self, name: f"base's {name}"  # type: ignore[method-assign]
    assert module.weight == "base's weight"
    module(2, 1)
    assert module.weight == "base's weight"
    del Base.__getattr__
    assert module.weight is weight
    Derived.weight = "class"  # type: ignore[assignment]
    assert module.weight == "class"
    del Derived.weight
    assert module.weight is weight
    Derived.__getattribute__ = (  # type: ignore[method-assign]
        lambda self, name: 1 if name == "weight" else object.__getattribute__(self, name)
    )
    assert module.weight == 1
    del Derived.__getattribute__
    module(torch.ones(2))
    assert module.weight is weight


def test_copies_and_pickles() -> None:
    module = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    x = torch.ones(1, 2)
    expected = module(x).tolist()
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert other(x).tolist() == expected


# ----------------------------------------------------------------------------- errors


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(3, 4)])
        self.own = Raises()

    def forward(self, x: Any, own: bool = False) -> Any:
        if own:
            return self.own(x)
        for layer in self.layers:
            x = layer(x)
        return x


class Raises(nn.Module):
    def forward(self, x: Any) -> Any:
        raise KeyError("mine")


def test_errors_name_the_layer() -> None:
    net = Net()

    def through(call: Any) -> list[str]:
        told = []
        for own in (True, False):
            try:
                call(net, torch.ones(1, 4), own)
            except (KeyError, RuntimeError) as error:
                facts = getattr(getattr(error, "report", None), "facts", {})
                told += [facts.get("inside"), *getattr(error, "__notes__", [])]
        return [text for text in told if text]

    compiled = through(lambda net, x, own: net(x, own))
    assert any("net.own (Raises())" in text for text in compiled)
    assert any("net.layers[1] (Linear(in_features=3" in text for text in compiled)


def test_other_exceptions_pass() -> None:
    class Stops(nn.Module):
        def forward(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        Stops()()
    assert not getattr(caught.value, "__notes__", [])


def test_nothing_is_left() -> None:
    module, x = Plain(), torch.ones(2)
    raising = Raises()

    def all_ways() -> None:
        module(x, scale=2.0)
        _ = module.weight, module.inner, getattr(module, "nothing", None)
        with pytest.raises(KeyError):
            raising(x)

    all_ways()
    gc.collect()
    objects = len(gc.get_objects())
    watched = [module, x, module.weight, Plain, Plain.forward, raising]
    before = [sys.getrefcount(item) for item in watched]
    for _ in range(300):
        all_ways()
    gc.collect()
    assert [sys.getrefcount(item) for item in watched] == before
    assert len(gc.get_objects()) - objects < 50
