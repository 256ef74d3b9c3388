"""The generated functions leave behind exactly what the general path does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.engine.node import dressed
from retrograd.ops.calling.dispatch import dispatch
from retrograd.ops.registry import OPS
from retrograd.tensor import Tensor, VersionCell

Inputs = Callable[[Any], list[Any]]


def _leaf(*shape: int, dtype: Any = torch.float32, grad: bool = True) -> Tensor:
    values = torch.arange(float(np.prod(shape))).reshape(*shape).to(dtype)
    return values.requires_grad_(grad)


def _plain(dtype: Any) -> list[Any]:
    return [_leaf(4, 3, dtype=dtype), _leaf(4, 3, dtype=dtype, grad=False)]


def _computed(dtype: Any) -> list[Any]:
    return [_leaf(4, 3, dtype=dtype) * 2, _leaf(4, 3, dtype=dtype).unbind(0)[2].expand(4, 3)]


def _views(dtype: Any) -> list[Any]:
    base = _leaf(8, 3, dtype=dtype) * 1
    return [base[:4], base.split(4)[1]]


def _written_views(dtype: Any) -> list[Any]:
    base = _leaf(8, 3, dtype=dtype) * 1
    view = base[4:]
    base.mul_(2)
    return [view, base.narrow(0, 0, 4)]


def _views_of_leaf(dtype: Any) -> list[Any]:
    leaf = _leaf(8, 3, dtype=dtype)
    with torch.no_grad():
        hidden = leaf[:4]
    return [hidden, leaf[4:]]


def _without(dtype: Any) -> list[Any]:
    return [_leaf(4, 3, dtype=dtype).detach(), _leaf(4, 3, dtype=dtype, grad=False)]


INPUTS: list[Inputs] = [_plain, _computed, _views, _written_views, _views_of_leaf, _without]

# op name -> arguments after the first tensor; a list op gets both inputs as its list
CASES: dict[str, tuple[Any, ...]] = {
    "cat": (0,),
    "stack": (1,),
    "_block_diag": (),
    "unbind": (0,),
    "_split": (2, 0),
    "_split_with_sizes": ((1, 3), 0),
    "max": (1, False),
    "min": (0, True),
    "aminmax": (1, False),
    "sort": (1, True),
    "topk": (2, 1, True, True),
    "std_mean": (1, 1, False),
    "frexp": (),
    "_unique2": (),
    "view": ((12,),),
    "select": (0, 1),
    "slice": (0, 1, 3, 1),
    "unsqueeze": (1,),
    "t": (),
    "expand": ((2, 4, 3),),
    "clone": (),
    "softmax": (1,),
    "index_select": (0, torch.tensor([0, 2])),
}


def _facts(value: Any, known: dict[int, str]) -> Any:
    """What can be compared between two runs: tensors by content, known objects by name."""
    if id(value) in known:
        return known[id(value)]
    if isinstance(value, Tensor):
        value = value._array
    if isinstance(value, np.ndarray):
        return ("array", value.shape, value.dtype.str, value.strides, value.tolist())
    if isinstance(value, VersionCell):
        return ("cell", value.version)
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, [_facts(item, known) for item in value])
    return value


def _node_facts(node: Any, known: dict[int, str]) -> Any:
    if node is None:
        return None
    edges = [None if edge is None else (edge.name(), edge.sequence) for edge in node.edges]
    return (
        type(dressed(node)).__name__,
        edges,
        node.edge_numbers,
        _facts(node.shape, known),
        _facts(node.dtype, known),
        _facts(node.saved, known),
        node.extra,
        node.freed,
    )


def _tensor_facts(tensor: Tensor, known: dict[int, str]) -> Any:
    view = tensor._view
    cut = tensor._cut
    return (
        _facts(tensor._array, {}),
        tensor._requires_grad,
        tensor._output_nr,
        tensor._meta,
        None if tensor._cell is None else ("cell", tensor._cell.version),
        None if cut is None else (cut.kind, cut.operation),
        _node_facts(tensor._grad_fn, known),
        None
        if view is None
        else (
            known.get(id(view.base)),
            [(step.op.name, step.options, step.number) for step in view.chain],
            view.at,
            view.creation,
            view.own,
        ),
    )


def _outcome(run: Callable[[], Any], inputs: list[Any]) -> Any:
    known = {id(x): f"input {number}" for number, x in enumerate(inputs)}
    for number, x in enumerate(inputs):
        if x._view is not None:
            known.setdefault(id(x._view.base), f"base of input {number}")
    try:
        found = run()
    except Exception as error:
        return type(error), str(error)
    outputs = list(found) if isinstance(found, tuple) else [found]
    return type(found), [_tensor_facts(output, known) for output in outputs]


@pytest.mark.parametrize("mode", ["grad", "no_grad"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64", "int64", "bool"])
@pytest.mark.parametrize("inputs", INPUTS, ids=lambda f: f.__name__.strip("_"))
@pytest.mark.parametrize("name", CASES)
def test_generated_functions_agree_with_the_general_path(
    name: str, inputs: Inputs, dtype: str, mode: str
) -> None:
    op = OPS[name]
    kind = getattr(torch, dtype)
    if not (kind.is_floating_point or kind.is_complex):
        made = [x.detach().to(kind) for x in inputs(torch.float32)]
    else:
        made = inputs(kind)
    first: Any = made if op.plan.edges is None else made[0]
    arguments = (first, *CASES[name])
    with torch.set_grad_enabled(mode == "grad"):
        general = _outcome(lambda: dispatch(op, arguments), made)
        names = [parameter.name for parameter in op.plan.parameters[1:]]
        options = dict(zip(names, CASES[name], strict=True))
        generated = _outcome(lambda: op.function(first, **options), made)
    assert generated == general


def test_generated_source_can_be_read():
    from retrograd.ops.calling.lazy import source_of

    text = source_of(torch.mul)
    assert text.startswith("def mul(input, other")
    assert "forward_mul" in text
