"""`torch.autograd.functional`: products with Jacobians and Hessians, by ordinary backward calls.

The forward products (`jvp`, `hvp`) differentiate twice: the gradient of ``u -> u @ J`` with respect
to ``u``, whatever ``u`` is, gives ``J @ v``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.autograd.functional_arguments import (
    Tensors,
    as_tuple,
    check_dependence,
    detached,
    filled,
    gradients,
    input_vector,
    outputs_of,
    prepared,
    prepared_vector,
    scalar_of,
    unpacked,
)
from retrograd.autograd.functional_jacobian import hessian as hessian
from retrograd.autograd.functional_jacobian import jacobian as jacobian
from retrograd.engine.grad_mode import enable_grad, set_grad_enabled
from retrograd.engine.state import STATE
from retrograd.notices import runtime_error
from retrograd.ops.registry import RECORDED

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def vjp(
    func: Callable[..., object],
    inputs: object,
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The outputs of `func` and the product of `v` with its Jacobian.

    create_graph  the results can be differentiated again
    strict        raise where an output does not depend on an input, instead of giving zeros

    >>> torch.autograd.functional.vjp(lambda x: x * x, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        several, given = as_tuple(inputs, "inputs", "vjp")
        given = prepared(given, create_graph, need_graph=True)
        outputs_several, outputs = outputs_of(func, given, "vjp", strict)
        vector: Tensors | None = None
        if v is not None:
            vector = prepared_vector(v, "vjp", outputs, outputs_several, create_graph)
        elif len(outputs) != 1 or outputs[0].numel() != 1:
            raise runtime_error(
                "The vector v can only be None if the user-provided function returns a single "
                "Tensor with a single element.",
                code="RG607",
            )
    with set_grad_enabled(create_graph or STATE.grad_enabled):
        found = gradients(outputs, given, vector, create_graph=create_graph)
        product = filled(found, given, "back", strict, create_graph)
    return _results(outputs, outputs_several, product, several, create_graph)


def jvp(
    func: Callable[..., object],
    inputs: object,
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The outputs of `func` and the product of its Jacobian with `v`.

    >>> torch.autograd.functional.jvp(lambda x: x * x, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        several, given = as_tuple(inputs, "inputs", "jvp")
        given = prepared(given, create_graph, need_graph=True)
        vector = input_vector(v, "jvp", given, several, create_graph)
        outputs_several, outputs = outputs_of(func, given, "jvp", strict)
        sent = tuple([RECORDED.zeros_like(out).requires_grad_() for out in outputs])
        back = gradients(outputs, given, sent, create_graph=True)
        if strict:
            check_dependence(back, "grad_inputs")
    with set_grad_enabled(create_graph or STATE.grad_enabled):
        found = gradients(back, sent, vector, create_graph=create_graph)
        product = filled(found, outputs, "back_trick", strict, create_graph)
    return _results(outputs, outputs_several, product, outputs_several, create_graph)


def vhp(
    func: Callable[..., object],
    inputs: object,
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The value of a scalar function and the product of `v` with its Hessian.

    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), x, torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        several, given = as_tuple(inputs, "inputs", "vhp")
        given = prepared(given, create_graph, need_graph=True)
        vector = input_vector(v, "vhp", given, several, create_graph)
        outputs = scalar_of(func, given, "vhp", strict)
        first = gradients(outputs, given, create_graph=True)
        if strict:
            check_dependence(first, "jacobian")
    with set_grad_enabled(create_graph or STATE.grad_enabled):
        found = gradients(first, given, vector, create_graph=create_graph)
        product = filled(found, given, "double_back", strict, create_graph)
    return _results(outputs, False, product, several, create_graph)


def hvp(
    func: Callable[..., object],
    inputs: object,
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The value of a scalar function and the product of its Hessian with `v`.

    The Hessian is symmetric, so `vhp` gives the same numbers, for one backward pass less.

    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), x, torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        several, given = as_tuple(inputs, "inputs", "hvp")
        given = prepared(given, create_graph, need_graph=True)
        vector = input_vector(v, "hvp", given, several, create_graph)
        outputs = scalar_of(func, given, "hvp", strict)
        first = gradients(outputs, given, create_graph=True)
        if strict:
            check_dependence(first, "jacobian")
        sent = tuple([RECORDED.zeros_like(tensor).requires_grad_() for tensor in given])
        second = gradients(first, given, sent, create_graph=True)
        if strict:
            check_dependence(first, "hessian")
    with set_grad_enabled(create_graph or STATE.grad_enabled):
        found = gradients(second, sent, vector, create_graph=create_graph)
        product = filled(found, given, "double_back_trick", strict, create_graph)
    return _results(outputs, False, product, several, create_graph)


def _results(
    outputs: Tensors, outputs_several: bool, product: Tensors, several: bool, create_graph: bool
) -> tuple[Any, Any]:
    return (
        unpacked(detached(outputs, create_graph), outputs_several),
        unpacked(detached(product, create_graph), several),
    )
