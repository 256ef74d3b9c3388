"""Forward mode beside PyTorch's: packing, levels, views, in-place ops, conversions, printing."""

from __future__ import annotations

import copy
import gc
import importlib
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    # PyTorch's own, from compiling what its forward mode is made of
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]


class Library:
    """One of the two libraries and short names for the tests."""

    def __init__(self, module: Any) -> None:
        self.torch = module
        self.ad = importlib.import_module(f"{module.__name__}.autograd.forward_ad")

    def range(self, count: int = 4) -> Any:
        return self.torch.arange(1.0, count + 1.0)

    def dual(self, count: int = 4) -> Any:
        return self.ad.make_dual(self.range(count), self.torch.ones(count))

    def tensor(self, values: Any, **options: Any) -> Any:
        return self.torch.tensor(values, **options)

    def both(self, *tensors: Any) -> list[Any]:
        return [tuple(self.ad.unpack_dual(tensor)) for tensor in tensors]


CASES: dict[str, Callable[[Library], Any]] = {}


def case(function: Callable[[Library], Any]) -> Callable[[Library], Any]:
    CASES[function.__name__] = function
    return function


# ------------------------------------------------------------------------- packing, unpacking


@case
def packing(lib: Library) -> Any:
    value, tangent = lib.range(), lib.torch.ones(4)
    dual = lib.ad.make_dual(value, tangent)
    primal, found = lib.ad.unpack_dual(dual)
    facts = [found is tangent, dual._is_view(), dual._base is value, value._version]
    value.add_(1)
    return [*facts, dual._version, primal._version, lib.both(dual, value, primal), repr(dual)]


@case
def same_object_or_copy(lib: Library) -> Any:
    make_dual, unpack_dual = lib.ad.make_dual, lib.ad.unpack_dual
    found = []
    turned = lib.range(6).view(2, 3).t()
    for value, tangent in (
        (lib.range(2), lib.torch.ones(3)[1:]),
        (lib.range(3)[1:], lib.torch.ones(3)[1:]),
        (lib.range(2), lib.torch.ones(3)[:2]),
        (lib.range(3), lib.torch.ones(1).expand(3)),
        (turned, lib.torch.ones(3, 2)),
        (turned, lib.torch.ones(2, 3).t()),
        (lib.range(3), lib.torch.ones(3).double()),
    ):
        kept = unpack_dual(make_dual(value, tangent)).tangent
        found.append((kept is tangent, kept.stride(), str(kept.dtype)))
    return found


@case
def wrong_size(lib: Library) -> Any:
    return lib.ad.make_dual(lib.range(2), lib.range(3))


@case
def wrong_primal(lib: Library) -> Any:
    return lib.ad.make_dual(lib.range(2).long(), lib.range(2))


@case
def wrong_tangent(lib: Library) -> Any:
    return lib.ad.make_dual(lib.range(2), lib.range(2).long())


@case
def dual_of_dual(lib: Library) -> Any:
    return lib.ad.make_dual(lib.dual(), lib.range())


@case
def tangent_is_dual(lib: Library) -> Any:
    return lib.ad.make_dual(lib.range(), lib.dual())


@case
def nested(lib: Library) -> Any:
    return lib.ad.enter_dual_level()


@case
def wrong_levels(lib: Library) -> Any:
    found = []
    for call in (
        lambda: lib.ad.unpack_dual(lib.dual(), level=1),
        lambda: lib.ad.make_dual(lib.range(), lib.range(), level=3),
        lambda: lib.ad.exit_dual_level(level=1),
        lambda: lib.ad.unpack_dual(3.0),
    ):
        try:
            found.append(call())
        except (RuntimeError, TypeError) as error:
            found.append((type(error).__name__, str(error)))
    return found


@case
def history_of_dual(lib: Library) -> Any:
    value = lib.range().requires_grad_()
    tangent = lib.torch.ones(4).requires_grad_()
    dual = lib.ad.make_dual(value, tangent)
    primal, found = lib.ad.unpack_dual(dual)
    names = [x.grad_fn.name().split("::")[-1] for x in (dual, primal)]
    grad = lib.torch.autograd.grad
    of_primal = grad(primal.sum(), (value, tangent), allow_unused=True)
    of_tangent = grad((found * 2).sum(), (value, tangent), allow_unused=True)
    return [names, of_primal, of_tangent, found is tangent]


# ------------------------------------------------------------------------------ views, writes


@case
def write_dual(lib: Library) -> Any:
    value, tangent = lib.range(), lib.torch.ones(4)
    dual = lib.ad.make_dual(value, tangent)
    dual *= 2
    seen = [lib.both(value, dual), tangent.clone()]
    primal, found = lib.ad.unpack_dual(dual)
    primal *= 2
    seen += lib.both(dual, primal)
    found *= 2
    return [*seen, *lib.both(dual)]


@case
def write_view_of_dual(lib: Library) -> Any:
    dual = lib.dual()
    view = dual.narrow(0, 0, 2)
    view *= 3
    return lib.both(dual, view, dual.view(2, 2), view[1])


@case
def write_dual_into_view(lib: Library) -> Any:
    base = lib.range()
    view, other = base[1:3], base.view(2, 2)
    view.add_(lib.dual(2))
    return lib.both(base, view, other, other[0])


@case
def write_dual_into_base(lib: Library) -> Any:
    base = lib.range()
    view, wide = base[1:3], base.expand(2, 4)
    base.mul_(lib.dual())
    return lib.both(base, view, wide)


@case
def write_item(lib: Library) -> Any:
    base = lib.range()
    base[0] = lib.dual()[1] * 3
    base[1:3] = lib.dual(2)
    return lib.both(base)


@case
def write_transposed(lib: Library) -> Any:
    base = lib.torch.zeros(2, 3)
    turned = base.t()
    turned[0] = lib.dual(2)
    base.mul_(3)
    return lib.both(base, turned, turned[0])


@case
def write_detached(lib: Library) -> Any:
    base = lib.range()
    view = base.detach()
    view += lib.dual()
    return lib.both(base, view)


@case
def write_views_of_views(lib: Library) -> Any:
    dual = lib.dual()
    view = dual.view(2, 2)
    dual.mul_(2)
    view.add_(1)
    row = view[0]
    row.mul_(5)
    return lib.both(dual, view, row)


@case
def write_parts(lib: Library) -> Any:
    dual = lib.dual()
    first, second = dual.split(2)
    first.mul_(3)
    return lib.both(dual, first, second)


@case
def write_real_part(lib: Library) -> Any:
    dual = lib.ad.make_dual(lib.tensor([1 + 2j]), lib.tensor([3 + 4j]))
    dual.real.mul_(2)
    return lib.both(dual, dual.real, dual.abs())


@case
def change_geometry(lib: Library) -> Any:
    dual = lib.ad.make_dual(lib.range(6).view(2, 3), lib.range(6).view(2, 3))
    row = dual[0]
    dual.t_()
    turned = plain(lib.both(dual, dual * 2, row))  # PyTorch turns the tangent itself, later too
    dual.unsqueeze_(0)
    return [turned, lib.both(dual, dual[0, 1])]


@case
def overwrite(lib: Library) -> Any:
    tensor = lib.torch.tensor
    mask = tensor([True, False, True, False])
    return lib.both(
        lib.dual().zero_(),
        lib.dual().fill_(3.0),
        lib.range().fill_(lib.dual()[1] * 3),
        lib.range().copy_(lib.dual() * 3),
        lib.dual().copy_(lib.range()),
        lib.torch.zeros(2, 4).copy_(lib.dual()),
        lib.dual().masked_fill_(mask, 5.0),
        lib.dual().index_put_((tensor([0, 2]),), tensor([7.0, 8.0])),
        lib.range().index_add_(0, tensor([0, 2]), lib.dual(2)),
        lib.ad.make_dual(tensor([-1.0, 2.0]), tensor([1.0, 1.0])).relu_().mul_(3).add_(1),
    )


@case
def overwrite_with_noise(lib: Library) -> Any:
    return [lib.ad.unpack_dual(lib.dual().normal_()).tangent]


@case
def resize(lib: Library) -> Any:
    return lib.dual().resize_(2)


@case
def write_without_grad_mode(lib: Library) -> Any:
    dual = lib.dual()
    with lib.torch.no_grad():
        dual.mul_(2)
        other = dual * 3
    return lib.both(dual, other)


@case
def write_dual_of_leaf(lib: Library) -> Any:
    return lib.ad.make_dual(lib.range().requires_grad_(), lib.range()).mul_(2)


@case
def into_out(lib: Library) -> Any:
    return lib.torch.add(lib.range(), lib.range(), out=lib.dual())


@case
def into_out_of_plain(lib: Library) -> Any:
    return lib.torch.add(lib.dual(), lib.range(), out=lib.range())


# ----------------------------------------------------------------- conversions, copies, modes


@case
def conversions(lib: Library) -> Any:
    dual = lib.dual()
    return lib.both(
        dual.to(lib.torch.float64),
        dual.double().float(),
        dual.long(),
        dual.contiguous(),
        dual.clone(),
        dual.requires_grad_(),
        dual.detach(),
        dual.data,
        dual.clone().detach_(),
        lib.torch.as_tensor(dual),
        lib.torch.tensor(dual),
        dual.new_tensor(dual),
        copy.deepcopy(lib.dual()),
        lib.torch.zeros_like(dual),
        dual > 2,
        dual.argmax(),
    )


@case
def dtypes(lib: Library) -> Any:
    half = lib.ad.make_dual(lib.range().half(), lib.torch.ones(4).half())
    brain = lib.ad.make_dual(lib.range().bfloat16(), lib.torch.ones(4).bfloat16())
    return lib.both(
        half * 2,
        half.exp(),
        brain.sigmoid(),
        lib.dual() * lib.torch.ones(4).double(),
        lib.dual() * lib.tensor([1, 2, 3, 4]),
        lib.ad.make_dual(lib.range(), lib.torch.ones(4).double()) * 2,
        lib.ad.make_dual(lib.tensor(2.0), lib.tensor(1.0)) ** 2,
        lib.torch.cat([lib.dual(2), lib.range(2), lib.dual(1)]),
    )


@case
def inference(lib: Library) -> Any:
    dual = lib.dual()
    with lib.torch.inference_mode():
        inside = lib.both(dual, dual * 2, lib.dual())
    return [inside, lib.both(dual)]


@case
def switched_off(lib: Library) -> Any:
    dual = lib.dual()
    with lib.ad._set_fwd_grad_enabled(False):
        other = dual * 2
        seen = [lib.ad._is_fwd_grad_enabled(), lib.both(dual)]
    return [*seen, lib.ad._is_fwd_grad_enabled(), lib.both(dual, other)]


@case
def printed(lib: Library) -> Any:
    matrix = lib.ad.make_dual(lib.range(6).view(2, 3), lib.range(6).view(2, 3))
    wanted = lib.ad.make_dual(lib.range().requires_grad_(), lib.range())
    complex_one = lib.ad.make_dual(lib.tensor([1j]), lib.tensor([2.0 + 1j]))
    shown = (lib.dual(), lib.dual() * 2, matrix, wanted, complex_one)
    return [str(x) for x in (*shown, lib.ad.unpack_dual(matrix))]


# ------------------------------------------------------------------------------ both modes


@case
def both_orders(lib: Library) -> Any:
    value = lib.range().requires_grad_()
    direction = lib.torch.ones(4).requires_grad_()
    dual = lib.ad.make_dual(value, direction)
    result = dual.exp().mul(dual).sin().sum()
    tangent = lib.ad.unpack_dual(result).tangent
    grad = lib.torch.autograd.grad
    slopes = grad(tangent, (value, direction), retain_graph=True)
    (gradient,) = grad(result, value)
    return [[x.detach() for x in slopes], lib.both(gradient)]


@case
def both_orders_in_place(lib: Library) -> Any:
    value = lib.range().requires_grad_()
    direction = lib.torch.ones(4).requires_grad_()
    dual = lib.ad.make_dual(value, direction).clone()
    dual[1:3].sin_()
    dual[0] = dual[2] * 2
    dual[2:].mul_(dual[:2].clone())
    dual.exp_()
    tangent = lib.ad.unpack_dual(dual).tangent
    grad = lib.torch.autograd.grad
    slopes = grad(tangent.sum(), (value, direction), retain_graph=True)
    (gradient,) = grad(dual.sum(), value)
    return [[x.detach() for x in slopes], lib.both(gradient)]


@case
def hooks_see_tangents(lib: Library) -> Any:
    value = lib.range().requires_grad_()
    seen: list[Any] = []
    value.register_hook(lambda gradient: seen.extend(lib.both(gradient)))
    (lib.ad.make_dual(value, lib.torch.ones(4)) ** 3).sum().backward()
    return seen


# ---------------------------------------------------------------------------- the comparison


def outcome(function: Callable[[Library], Any], module: Any) -> Any:
    lib = Library(module)
    module.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with lib.ad.dual_level():
                return plain(function(lib))
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0]


def plain(value: Any) -> Any:
    """Tensors as dtype and rounded numbers, which both libraries share."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "grad_fn"):
        detached = value.detach()
        numbers = (
            detached.to(detached.float().dtype) if "bfloat16" in str(value.dtype) else detached
        )
        array = numbers.numpy(force=True)
        return str(value.dtype), array.shape, [f"{x:.4g}" for x in array.reshape(-1).tolist()]
    return value


@pytest.mark.parametrize("name", CASES)
def test_as_in_torch(name: str) -> None:
    assert outcome(CASES[name], retrograd) == outcome(CASES[name], torch)


@pytest.mark.parametrize("call", ["make_dual", "unpack_dual", "exit_dual_level"])
def test_outside_of_levels(call: str) -> None:
    found = []
    for module in (retrograd, torch):
        lib = Library(module)
        arguments = {"make_dual": (lib.range(), lib.range()), "unpack_dual": (lib.range(),)}
        try:
            found.append(plain(getattr(lib.ad, call)(*arguments.get(call, ()))))
        except RuntimeError as error:
            found.append(str(error))
    assert found[0] == found[1]


# --------------------------------------------------------------------------------- lifetimes

fwad = retrograd.autograd.forward_ad


def test_levels_forget() -> None:
    with fwad.dual_level():
        dual = fwad.make_dual(retrograd.ones(2), retrograd.ones(2))
        other = dual * 2
        view = other[1:]
        assert fwad._current_level == 0
    assert fwad._current_level == -1
    with fwad.dual_level():
        for tensor in (dual, other, view):
            assert fwad.unpack_dual(tensor).tangent is None


def test_level_holds_no_tensor() -> None:
    gc.disable()  # reference counts alone must do
    try:
        with fwad.dual_level():
            tangent = retrograd.ones(2)
            dual = fwad.make_dual(retrograd.ones(2), tangent)
            result = dual.exp() * 2
            references = [weakref.ref(x) for x in (tangent, dual, result)]
            del tangent
            assert references[0]() is not None
            del dual, result
            assert [reference() for reference in references] == [None, None, None]
    finally:
        gc.enable()


def test_closing_releases_tangents_in_graphs() -> None:
    value = retrograd.ones(2, requires_grad=True)
    with fwad.dual_level():
        tangent = retrograd.ones(2)
        reference = weakref.ref(tangent)
        result = fwad.make_dual(value, tangent).exp().exp()  # outputs are saved with tangents
        del tangent
        assert reference() is not None
    assert reference() is None
    (gradient,) = retrograd.autograd.grad(result.sum(), value)
    np.testing.assert_allclose(gradient.numpy(), np.exp(np.e) * np.e * np.ones(2), rtol=1e-6)


def test_decorator_enters_at_every_call() -> None:
    @fwad.dual_level()
    def slope(x: float) -> float:
        dual = fwad.make_dual(retrograd.tensor(x), retrograd.tensor(1.0))
        return float(fwad.unpack_dual(dual**2).tangent)

    assert [slope(1.0), slope(2.0)] == [2.0, 4.0]


def test_switch_belongs_to_a_thread() -> None:
    seen: list[Any] = []
    with fwad.dual_level():
        dual = fwad.make_dual(retrograd.ones(1), retrograd.ones(1))
        with fwad._set_fwd_grad_enabled(False):
            worker = threading.Thread(
                target=lambda: seen.append(fwad.unpack_dual(dual * 3).tangent)
            )
            worker.start()
            worker.join()
            assert fwad.unpack_dual(dual * 3).tangent is None
    assert seen[0].tolist() == [3.0]
