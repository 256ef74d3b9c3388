"""Views, writes through views and in-place view ops, told the same way by PyTorch and retrograd.

A scenario is a short program that takes the library as argument. Both libraries run it, and all
that can be seen of the tensors it returns is compared: values, strides, base, history, versions,
errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


# ------------------------------------------------------------------------------- what is seen


def chain_of(tensor: Any) -> list[str]:
    """Names of the nodes from a tensor's history along first edges."""
    names = []
    node = tensor.grad_fn
    while node is not None:
        names.append(type(node).__name__)
        following = node.next_functions
        node = following[0][0] if following else None
    return names


def seen(value: Any) -> Any:
    """Everything observable of a tensor; containers item by item, other values as they are."""
    if isinstance(value, dict):
        return {key: seen(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)) and not hasattr(value, "numel"):
        return [seen(item) for item in value]
    if not hasattr(value, "grad_fn"):
        return value
    return {
        "shape": tuple(value.shape),
        "stride": tuple(value.stride()),
        "requires_grad": value.requires_grad,
        "leaf": value.is_leaf,
        "history": chain_of(value),
        "output_nr": value.output_nr,
        "view": value._is_view(),
        "version": value._version,
        "contiguous": value.is_contiguous(),
        "values": np.asarray(value.detach().tolist()),
    }


def outcome(scenario: Any, library: Any) -> Any:
    try:
        return seen(scenario(library))
    except Exception as error:
        return (type(error).__name__, str(error).split("\n")[0])


def agree(scenario: Any) -> None:
    theirs = outcome(scenario, torch)
    failed = isinstance(theirs, tuple)
    assert not failed or theirs[0] not in ("AttributeError", "NameError", "TypeError"), (
        "not a program"
    )
    ours = outcome(scenario, retrograd)
    np.testing.assert_equal(ours, theirs)


def start(lib: Any, *shape: int, grad: bool = True) -> Any:
    """A leaf with the values 1, 2, 3 ..."""
    values = np.arange(1.0, 1.0 + int(np.prod(shape))).reshape(shape)
    return lib.tensor(values.tolist(), dtype=lib.float64, requires_grad=grad)


def weights(lib: Any, like: Any) -> Any:
    """Different weights for every element, so that a misplaced gradient shows."""
    return (lib.arange(like.numel(), dtype=lib.float64) + 1).reshape(like.shape)


def gradient(lib: Any, output: Any, leaf: Any) -> Any:
    (found,) = lib.autograd.grad((output * weights(lib, output)).sum(), leaf)
    return found.tolist()


# --------------------------------------------------------------------------------- view ops

VIEWS = {
    "view": lambda x: x.view(4, 6),
    "view -1": lambda x: x.view(-1),
    "view ones": lambda x: x.view(2, 1, 3, 1, 4),
    "view of transposed": lambda x: x.transpose(0, 1).view(3, 2, 2, 2),
    "view refused": lambda x: x.transpose(0, 2).view(24),
    "reshape": lambda x: x.reshape(6, 4),
    "reshape copies": lambda x: x.transpose(0, 2).reshape(24),
    "flatten": lambda x: x.flatten(1),
    "flatten nothing": lambda x: x.flatten(1, 1),
    "ravel": lambda x: x.ravel(),
    "ravel copies": lambda x: x.transpose(0, 1).ravel(),
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, 2),
    "T": lambda x: x[0].T,
    "mT": lambda x: x.mT,
    "H": lambda x: x[0].H,
    "mH": lambda x: x.mH,
    "t": lambda x: x[0].t(),
    "movedim": lambda x: x.movedim(0, 2),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "squeeze": lambda x: x[:1].squeeze(),
    "squeeze dim": lambda x: x[:1].squeeze(0),
    "squeeze dims": lambda x: x[:1, :, :1].squeeze((0, 2)),
    "squeeze nothing": lambda x: x.squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "unsqueeze last": lambda x: x.transpose(0, 2).unsqueeze(-1),
    "expand": lambda x: x[:, :1].expand(2, 3, 4),
    "expand more": lambda x: x.expand(2, 2, 3, 4),
    "expand same": lambda x: x.expand(-1, -1, -1),
    "expand_as": lambda x: x[0].expand_as(x),
    "select": lambda x: x.select(1, 2),
    "narrow": lambda x: x.narrow(2, 1, 2),
    "slice": lambda x: x[:, ::2],
    "diagonal": lambda x: x.diagonal(1, 1, 2),
    "unfold": lambda x: x.unfold(2, 2, 1),
    "as_strided": lambda x: x.as_strided((2, 2), (3, 5), 1),
    "as_strided of view": lambda x: x[1].as_strided((2, 2), (3, 5)),
    "unbind": lambda x: x.unbind(1)[1],
    "split": lambda x: x.split(2, 1)[1],
    "split sizes": lambda x: x.split([1, 2], 1)[0],
    "chunk": lambda x: x.chunk(2, 2)[1],
    "tensor_split": lambda x: x.tensor_split(3, 2)[0],
    "hsplit": lambda x: x.hsplit(3)[1],
    "view_as": lambda x: x.view_as(x),
    "iteration": lambda x: list(x)[1],
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("kind", ["leaf", "recorded", "plain", "no_grad"])
def test_view(name, kind):
    def scenario(lib):
        leaf = start(lib, 2, 3, 4, grad=kind != "plain")
        source = leaf * 1 if kind == "recorded" else leaf
        if kind == "no_grad":
            with lib.no_grad():
                view = VIEWS[name](source)
        else:
            view = VIEWS[name](source)
        distance = view.data_ptr() - source.data_ptr() if view._base is source else None
        return view, view._base is source, distance

    agree(scenario)


@pytest.mark.parametrize("name", VIEWS)
def test_gradient(name):
    def scenario(lib):
        leaf = start(lib, 2, 3, 4)
        return gradient(lib, VIEWS[name](leaf * 1), leaf)

    agree(scenario)


@pytest.mark.parametrize("name", [name for name in VIEWS if name != "unfold"])
@pytest.mark.parametrize("kind", ["recorded", "leaf", "plain", "operand"])
def test_write_through_view(name, kind):
    """The view is multiplied in place; view, base and the gradient all follow.

    Not with overlapping windows: what such a write does is left open.
    """

    def scenario(lib):
        leaf = start(lib, 2, 3, 4, grad=kind in ("recorded", "leaf"))
        base = leaf * 1 if kind in ("recorded", "operand") else leaf
        view = VIEWS[name](base)
        factor = lib.full(
            tuple(view.shape), 3.0, dtype=lib.float64, requires_grad=kind == "operand"
        )
        view.mul_(factor)
        found = [view, base, view._base is base]
        if kind == "recorded":
            found.append(gradient(lib, base, leaf))
        if kind == "operand" and base.requires_grad:
            found.append(gradient(lib, base, factor))
        return found

    agree(scenario)


@pytest.mark.parametrize("name", VIEWS)
def test_write_to_base(name):
    """The base is written; the view finds its history anew at its next use."""

    def scenario(lib):
        leaf = start(lib, 2, 3, 4)
        base = leaf * 1
        view = VIEWS[name](base)
        base.mul_(leaf)
        return view, gradient(lib, view, leaf)

    agree(scenario)


@pytest.mark.parametrize("first", ["view", "transpose", "narrow", "diagonal", "as_strided"])
@pytest.mark.parametrize("second", ["flatten", "select", "unsqueeze", "slice", "t"])
def test_view_of_view(first, second):
    steps = {
        "flatten": lambda v: v.reshape(-1),
        "select": lambda v: v.select(0, 0),
        "unsqueeze": lambda v: v.unsqueeze(0),
        "slice": lambda v: v[1:],
        "t": lambda v: v.transpose(0, -1),
    }

    def scenario(lib):
        leaf = start(lib, 2, 3, 4)
        base = leaf * 1
        between = VIEWS[first](base)
        view = steps[second](between)
        view.mul_(2)
        return view, between, base, view._base is base, gradient(lib, base, leaf)

    agree(scenario)


@pytest.mark.parametrize(
    "name", ["view of transposed", "as_strided", "diagonal", "select", "unfold"]
)
def test_second_order_after_write(name):
    def scenario(lib):
        leaf = start(lib, 2, 3, 4)
        base = leaf * leaf
        view = VIEWS[name](base)
        if name != "unfold":
            view.mul_(2)
        total = (base * base * weights(lib, base)).sum() + (view**2).sum()
        (first,) = lib.autograd.grad(total, leaf, create_graph=True)
        return gradient(lib, first, leaf)

    agree(scenario)


def test_base_in_other_memory_order():
    """A view that only the base's strides allow, written: its gradient needs the same strides."""

    def scenario(lib):
        leaf = start(lib, 3, 4)
        base = leaf.t().clone()  # keeps the order of memory
        view = base.t().view(12)
        view.mul_(2)
        first = gradient(lib, base, leaf)
        graph = lib.autograd.grad((base * base).sum(), leaf, create_graph=True)[0]
        return base, view, first, gradient(lib, graph, leaf)

    agree(scenario)


# ------------------------------------------------------------------------------ what is refused


def test_write_to_expanded():
    agree(lambda lib: start(lib, 3, grad=False).expand(2, 3).mul_(2))
    agree(lambda lib: start(lib, 3, grad=False).expand(2, 3).detach().add_(2))
    agree(lambda lib: start(lib, 3, grad=False).expand(1, 3).mul_(2))
    agree(lambda lib: start(lib, 3, grad=False).expand(2, 3).copy_(lib.ones(2, 3)))


SEVERAL = {
    "unbind": lambda x: x.unbind()[0],
    "split": lambda x: x.split(1)[0],
    "split sizes": lambda x: x.split([1, 1])[1],
    "chunk": lambda x: x.chunk(2)[1],
    "tensor_split": lambda x: x.tensor_split(2)[1],
    "iteration": lambda x: next(iter(x)),
}


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize(
    "case", ["write", "write view of it", "base written", "operand", "no_grad"]
)
def test_views_of_one_function(name, case):
    def scenario(lib):
        leaf = start(lib, 2, 3)
        base = leaf * 1 if case != "operand" else start(lib, 2, 3, grad=False)
        view = SEVERAL[name](base)
        if case == "write":
            view.mul_(2)
        elif case == "write view of it":
            view[..., 0].mul_(2)
        elif case == "base written":
            base.mul_(2)
        elif case == "operand":
            view.mul_(SEVERAL[name](leaf) * 1)
        else:
            with lib.no_grad():
                view.mul_(2)
        return view, base

    agree(scenario)


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
@pytest.mark.parametrize("case", ["use", "write", "write inside", "base", "write view of it"])
def test_view_made_in_mode(mode, case):
    def scenario(lib):
        base = start(lib, 2, 3) * 1
        with getattr(lib, mode)():
            view = base.view(3, 2)
            if case == "write inside":
                view.mul_(2)
        if case == "use":
            return (view * 2).grad_fn.next_functions[0][0], view.requires_grad, view.is_leaf
        if case == "write":
            view.mul_(2)
        if case == "base":
            base.mul_(2)
        if case == "write view of it":
            view[0].mul_(2)
        return view.grad_fn

    agree(scenario)


def test_leaf_and_its_views():
    agree(lambda lib: start(lib, 2, 3).mul_(2))
    agree(lambda lib: start(lib, 2, 3)[0].mul_(2))
    agree(lambda lib: start(lib, 2, 3)[0][1].mul_(2))


def test_plain_view_that_requires_grad():
    def scenario(lib):
        base = start(lib, 2, 3, grad=False)
        view = base[0].requires_grad_()
        (view * 2).sum().backward()
        return view, base, view.grad.tolist()

    agree(scenario)
    agree(lambda lib: start(lib, 2, 3, grad=False)[0].requires_grad_().mul_(2))


def test_detach_shares_memory_and_version():
    def scenario(lib):
        base = start(lib, 2, 3) * 1
        other = base.detach()
        other.mul_(2)
        return base, other, other._base is None, other[0]._base is other

    agree(scenario)


def test_view_dtype():
    def scenario(lib):
        base = start(lib, 2, 4, grad=False)
        same = base.view(lib.int64)
        same.add_(1)
        return base, same, same._base is None, base.view(lib.int32).shape

    agree(scenario)
    agree(lambda lib: start(lib, 2, 4).view(lib.int64))


# --------------------------------------------------------------------------- in-place view ops

GEOMETRY = {
    "t_": lambda x: x.t_(),
    "transpose_": lambda x: x.transpose_(0, 1),
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "swapdims_": lambda x: x.swapdims_(0, 1),
    "squeeze_": lambda x: x.squeeze_(),
    "squeeze_ dim": lambda x: x.squeeze_(0),
    "squeeze_ dims": lambda x: x.squeeze_((0, 1)),
    "unsqueeze_": lambda x: x.unsqueeze_(1),
    "as_strided_": lambda x: x.as_strided_((2, 2), (1, 1)),
}
PLACES = ["recorded", "leaf", "leaf in no_grad", "plain", "view", "view of leaf", "view in no_grad"]


@pytest.mark.parametrize("name", GEOMETRY)
@pytest.mark.parametrize("place", PLACES)
def test_geometry_in_place(name, place):
    def scenario(lib):
        leaf = start(lib, 2, 1, 3, grad=place != "plain")
        base = leaf * 1 if place in ("recorded", "view", "view in no_grad") else leaf
        target = base[0] if place != "leaf" and place != "leaf in no_grad" else base
        if place == "recorded":
            base = target = leaf[0] * 1
        if place.endswith("no_grad"):
            with lib.no_grad():
                result = GEOMETRY[name](target)
        else:
            result = GEOMETRY[name](target)
        found = [result is target, target, base, target.data_ptr() - base.data_ptr()]
        if place in ("recorded", "view"):
            found.append(gradient(lib, target, leaf))
            found.append(gradient(lib, base, leaf))
        return found

    agree(scenario)


@pytest.mark.parametrize("name", GEOMETRY)
def test_write_after_geometry(name):
    def scenario(lib):
        leaf = start(lib, 2, 1, 3)
        base = leaf * 1
        view = base[0]
        GEOMETRY[name](view)
        if name != "as_strided_":  # its elements share memory
            view.mul_(weights(lib, view))
        return view, base, gradient(lib, base, leaf), gradient(lib, view, leaf)

    agree(scenario)


@pytest.mark.parametrize("name", ["t_", "transpose_", "squeeze_", "unsqueeze_"])
@pytest.mark.parametrize("write", ["none", "base", "view", "view of view"])
def test_base_changes_its_geometry(name, write):
    """Views made before find their elements again."""

    def scenario(lib):
        leaf = start(lib, 2, 3)
        base = leaf * 1
        row, column = base[0], base[:, 1]
        inner = row[1:]
        GEOMETRY[name](base)
        if write == "base":
            base.mul_(2)
        elif write == "view":
            column.mul_(leaf[:, 0])
        elif write == "view of view":
            inner.mul_(2)
            row[:1].mul_(3)
        found = [base, row, column, inner]
        return [*found, *(gradient(lib, tensor, leaf) for tensor in found)]

    agree(scenario)


def test_plain_base_changes_its_geometry():
    def scenario(lib):
        leaf = start(lib, 3)
        base = start(lib, 2, 3, grad=False)
        row = base[0]
        base.t_()
        row.mul_(leaf)
        return row, base, base[0], gradient(lib, base, leaf)

    agree(scenario)


def test_geometry_and_hooks():
    def scenario(lib):
        leaf = start(lib, 2, 3)
        middle = leaf * 1
        middle.retain_grad()
        shapes: list[Any] = []
        middle.register_hook(lambda g: shapes.append(tuple(g.shape)))
        middle.t_()
        (middle * weights(lib, middle)).sum().backward()
        return middle.grad.tolist(), leaf.grad.tolist(), shapes

    agree(scenario)


def test_saved_value_changed_its_geometry():
    def scenario(lib):
        middle = start(lib, 2, 3) * 1
        square = middle * middle
        middle.t_()
        square.sum().backward()

    agree(scenario)
