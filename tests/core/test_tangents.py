"""Forward mode in C and in Python: the same results, tangents and graphs, for every op."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import forward_ad
from retrograd.ops.registry import OPS
from retrograd.transforms.forward import active_levels
from tests.core.both import needs_core, switched
from tests.core.facts import array_facts
from tests.core.test_rules import nodes_behind
from tests.ops.compare import build, cases, flatten, function_of, is_tensor

pytestmark = [needs_core, pytest.mark.filterwarnings("ignore::UserWarning")]

CASES: dict[str, list[Any]] = {}
for _name, _sample in cases():
    if _sample.error is None and _sample.grad and _name in OPS:
        CASES.setdefault(_name, []).append(_sample)


def moving(values: Any, limit: int, layout: str) -> Any:
    """The arguments with tangents for up to `limit` of the tensors among them."""
    left = limit

    def move(value: Any) -> Any:
        nonlocal left
        if isinstance(value, (list, tuple)):
            return type(value)([move(item) for item in value])
        if not is_tensor(value) or not value.is_floating_point() or not left:
            return value
        left -= 1
        tangent = torch.linspace(-1, 2, value.numel(), dtype=value.dtype).reshape(value.shape)
        if layout == "columns" and value.ndim > 1:
            value = value.mT.contiguous().mT
        return forward_ad.make_dual(value, tangent)

    return move(values)


def facts(results: Any) -> list[Any]:
    found = []
    for result in flatten(results):
        if is_tensor(result):
            tangent = forward_ad.unpack_dual(result).tangent
            found += [None if x is None else tensor_facts(x) for x in (result, tangent)]
    return found


def tensor_facts(tensor: Any) -> Any:
    names = [node.name() for node in nodes_behind(tensor)]
    cut = tensor._cut and (tensor._cut.kind, tensor._cut.operation)
    return array_facts(tensor._array), tensor.requires_grad, tensor._version, cut, names


def outcome(name: str, sample: Any, dtype: str, recorded: bool, limit: int, layout: str) -> Any:
    args, kwargs, _ = build(sample, torch, dtype, False, recorded)
    torch.manual_seed(0)
    try:
        with forward_ad.dual_level():
            results = function_of(name, torch)(*moving(args, limit, layout), **kwargs)
            return facts(results)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", CASES)
def test_every_op(name: str) -> None:
    for sample in CASES[name]:
        for dtype in {"float32", "float64"}.intersection(sample.dtypes):
            for limit, recorded, layout in ((9, False, ""), (1, False, "columns"), (1, True, "")):
                how = (name, sample, dtype, recorded, limit, layout)
                with switched(True):
                    compiled = outcome(*how)
                with switched(False):
                    assert compiled == outcome(*how), how


def pushed(x: Any, tangent: Any) -> Any:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual((forward_ad.make_dual(x, tangent) * 3).exp()).tangent


def test_the_tangent_is_made_in_c() -> None:
    """Else the comparison above would be of Python with itself."""
    from retrograd.transforms import forward_elementwise

    calls: list[Any] = []
    before = forward_elementwise.call_generated
    forward_elementwise.call_generated = lambda *args: calls.append(args) or before(*args)
    try:
        pushed(torch.zeros(2), torch.ones(2))
        assert not calls
        with switched(False):
            pushed(torch.zeros(2), torch.ones(2))
        assert len(calls) == 2
    finally:
        forward_elementwise.call_generated = before


def test_tangents_can_be_switched_off() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.zeros(2), torch.ones(2))
        with forward_ad._set_fwd_grad_enabled(False):
            y = x * 2
        assert forward_ad.unpack_dual(y).tangent is None
        assert forward_ad.unpack_dual(x * 2).tangent.tolist() == [2, 2]


def test_a_tangent_is_memory_of_its_own() -> None:
    with forward_ad.dual_level():
        tangent = torch.ones(3)
        x = forward_ad.make_dual(torch.zeros(3), tangent)
        y = x + 1
        y.mul_(5)
        assert forward_ad.unpack_dual(y).tangent.tolist() == [5, 5, 5]
        assert tangent.tolist() == [1, 1, 1]


def test_closing_the_level_lets_go_of_tangents() -> None:
    with forward_ad.dual_level():
        y = forward_ad.make_dual(torch.zeros(3), torch.ones(3)) * 2
        assert len(y._meta.tangents) == 1
    assert len(y._meta.tangents) == 0
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(y * 2).tangent is None


def test_levels_of_two_threads() -> None:
    """While another thread has a level too, and after it is closed, tangents are right here."""
    opened, close = threading.Event(), threading.Event()
    found: list[Any] = []

    def other() -> None:
        def cubed(values: Any) -> Any:
            opened.set()
            close.wait(10)
            return values * values * values

        found.append(torch.func.jvp(cubed, (torch.ones(2),), (torch.ones(2),))[1].tolist())

    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.zeros(2), torch.ones(2))
        thread = threading.Thread(target=other)
        thread.start()
        opened.wait(10)
        together = forward_ad.unpack_dual(x * 2).tangent.tolist()
        close.set()
        thread.join()
        alone = forward_ad.unpack_dual(x * 3).tangent.tolist()
    assert (together, alone) == ([2, 2], [3, 3])
    assert found == [[3, 3]]
    assert not active_levels()


def test_a_thread_without_a_level_has_no_tangents_to_pass_on() -> None:
    with forward_ad.dual_level():
        x = torch.ones(2, requires_grad=True)
        result: list[Any] = []
        thread = threading.Thread(target=lambda: result.append((x * 2).sum()))
        thread.start()
        thread.join()
    result[0].backward()
    assert x.grad.tolist() == [2, 2]
