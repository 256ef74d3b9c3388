"""`autograd.functional.jacobian` and `hessian`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.autograd import forward_ad
from retrograd.autograd.functional_arguments import (
    Tensors,
    as_tuple,
    check_dependence,
    detached,
    gradients,
    outputs_of,
    prepared,
    scalar_of,
    unpacked,
    unpacked_table,
)
from retrograd.engine.grad_mode import enable_grad
from retrograd.notices import runtime_error
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.transforms.basis import layouts_of, standard_basis
from retrograd.transforms.batched import batch
from retrograd.transforms.vmap import vmap_level, with_batch_at

_STRATEGIES = ("forward-mode", "reverse-mode")


def jacobian(
    func: Callable[..., object],
    inputs: object,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func`; a tuple of tuples where outputs and inputs are tuples.

    create_graph  the result can be differentiated again
    strict        raise where an output does not depend on an input, instead of giving zeros
    vectorize     compute all rows in one batched call
    strategy      "reverse-mode", or "forward-mode" (needs ``vectorize=True``)

    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in _STRATEGIES:
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        several, given = as_tuple(inputs, "inputs", "jacobian")
        given = prepared(given, create_graph, need_graph=True)
        outputs_several, outputs = outputs_of(func, given, "jacobian", strict)
        if vectorize:
            if strict:
                raise runtime_error(
                    "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` "
                    "are not supported together. Please either set `strict=False` or "
                    "`vectorize=False`.",
                    code="RG613",
                )
            rows = _batched_rows(outputs, given, create_graph)
        else:
            rows = [
                _rows_of(index, output, given, create_graph, strict)
                for index, output in enumerate(outputs)
            ]
        return unpacked_table(detached(tuple(rows), create_graph), outputs_several, several)


def _rows_of(
    number: int, output: Tensor, inputs: Tensors, create_graph: bool, strict: bool
) -> Tensors:
    """The Jacobian of one output with respect to every input, one backward call per element."""
    columns: list[list[Tensor]] = [[] for _ in inputs]
    for element in output.reshape(-1):
        found = gradients((element,), inputs, create_graph=create_graph, retain_graph=True)
        for index, (column, gradient) in enumerate(zip(columns, found, strict=True)):
            if gradient is None:
                if strict:
                    raise runtime_error(
                        f"Output {number} of the user-provided function is independent of "
                        f"input {index}. This is not allowed in strict mode.",
                        code="RG613",
                    )
                gradient = RECORDED.zeros_like(inputs[index])
            elif strict and create_graph and not gradient.requires_grad:
                raise runtime_error(
                    "The jacobian of the user-provided function is independent of input "
                    f"{number}. This is not allowed in strict mode when create_graph=True.",
                    code="RG613",
                )
            assert gradient is not None
            column.append(gradient)
    return tuple(
        [
            RECORDED.stack(column, 0).reshape((*output.shape, *tensor.shape))
            for column, tensor in zip(columns, inputs, strict=True)
        ]
    )


def _batched_rows(outputs: Tensors, inputs: Tensors, create_graph: bool) -> list[Tensors]:
    """The same for all outputs in one batched backward call."""
    sizes = [output.numel() for output in outputs]
    [basis] = standard_basis(layouts_of(outputs), None)
    found = gradients(outputs, inputs, tuple(basis), create_graph=create_graph, batched=True)
    columns = []
    for tensor, gradient in zip(inputs, found, strict=True):
        if gradient is None:
            gradient = RECORDED.zeros_like(tensor).expand((sum(sizes), *tensor.shape))
        parts = gradient.split(sizes, 0)
        columns.append(
            [
                part.reshape((*output.shape, *tensor.shape))
                for part, output in zip(parts, outputs, strict=True)
            ]
        )
    return list(zip(*columns, strict=True))


def _forward_jacobian(
    func: Callable[..., object], inputs: object, create_graph: bool, strict: bool, vectorize: bool
) -> Any:
    if create_graph:
        raise NotImplementedError(
            "torch.autograd.functional.jacobian: `create_graph=True` and "
            '`strategy="forward-mode"` are not supported together (yet). Please either set '
            '`create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise runtime_error(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` '
            "are not supported together (yet). Please either set `strict=False` or "
            '`strategy="reverse-mode"`.',
            code="RG613",
        )
    several, given = as_tuple(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
            "implemented for `vectorize=True`."
        )
    outputs_several, shapes, columns = _columns(func, given)
    sizes = [tensor.numel() for tensor in given]
    rows = []
    for column, shape in zip(columns, shapes, strict=True):
        parts = column.movedim(0, -1).split(sizes, len(shape))
        blocks = zip(parts, given, strict=True)
        rows.append([part.reshape((*shape, *tensor.shape)) for part, tensor in blocks])
    if several:  # lists, as in PyTorch
        return unpacked(rows, outputs_several)
    return unpacked_table(rows, outputs_several, several)


def _columns(func: Any, inputs: Tensors) -> tuple[bool, list[tuple[int, ...]], list[Tensor]]:
    """All columns of the Jacobian, stacked, from one call of `func` with a batch of tangents.

    Also whether the outputs are a tuple, and their shapes. This is not `vmap`, inside of which
    users may not call `requires_grad_`, as `hessian` does.
    """
    [basis] = standard_basis(layouts_of(inputs), None)
    size = basis[0].shape[0]
    with vmap_level(size, "error", direct=True) as level, forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(tensor, batch(tangents, 0, level))
            for tensor, tangents in zip(inputs, basis, strict=True)
        ]
        several, outputs = as_tuple(func(*duals), "outputs", None)
        columns, shapes = [], []
        for output in outputs:
            primal, tangent = forward_ad.unpack_dual(output)
            found = RECORDED.zeros_like(primal) if tangent is None else tangent
            columns.append(with_batch_at(found, 0, level, size))
            shapes.append(tuple(primal.shape))
    return several, shapes, columns


def hessian(
    func: Callable[..., object],
    inputs: object,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function that returns one element; a tuple of tuples for a tuple of inputs.

    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    several, given = as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in _STRATEGIES:
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def single(*values: Tensor) -> Tensor:
        return scalar_of(func, values, "hessian", strict)[0].squeeze()

    def first(*values: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            values = tuple([value.requires_grad_(True) for value in values])
        found = jacobian(single, values, create_graph=True)
        if strict:
            check_dependence(found, "jacobian")
        return found

    table = jacobian(
        first,
        given,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return table if several else unpacked_table(table, several, several)
