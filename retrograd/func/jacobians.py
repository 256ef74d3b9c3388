"""`jacrev`, `jacfwd` and `hessian`: all rows or columns of a Jacobian in one batched call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from retrograd.func.arguments import Argnums, chosen, refuse_complex
from retrograd.func.forward import jvp_of
from retrograd.func.reverse import vjp_of
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.transforms.basis import Layout, layouts_of, standard_basis
from retrograd.transforms.trees import TreeSpec, flatten, unflatten
from retrograd.transforms.vmap import map_directions, map_rows


def jacrev(
    func: Callable[..., object],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that computes the Jacobian of `func` by reverse mode, one row per output element.

    has_aux     `func` returns ``(output, aux)``; the new function returns ``(jacobian, aux)``
    chunk_size  compute this many rows at a time, to save memory

    >>> torch.func.jacrev(lambda x: x * x)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def jacobian(*args: Tensor) -> Any:
        refuse_complex("jacrev", args, "inputs")
        output, pull_back, *aux = vjp_of(func, args, argnums, has_aux, results=False)
        outputs, outputs_spec = flatten(output)
        refuse_complex("jacrev", outputs, "outputs")
        layouts = layouts_of(outputs)
        del output, outputs  # nobody looks at the values: they are not held while the rows are made
        primals, primals_spec = flatten(chosen(args, argnums))
        rows = _rows(pull_back, layouts, outputs_spec, primals, chunk_size, _preallocate_and_copy)
        sizes = [layout.size for layout in layouts]
        by_primal = [
            [
                part.view((*layout.shape, *primal.shape))
                for part, layout in zip(_split(row, sizes, 0), layouts, strict=True)
            ]
            for row, primal in zip(rows, primals, strict=True)
        ]
        by_output = [unflatten(parts, primals_spec) for parts in zip(*by_primal, strict=True)]
        if isinstance(argnums, int):
            by_output = [parts[0] for parts in by_output]
        result = unflatten(by_output, outputs_spec)
        return (result, aux[0]) if has_aux else result

    return jacobian


def _rows(
    pull_back: Callable[..., object],
    layouts: list[Layout],
    spec: TreeSpec,
    primals: list[Tensor],
    chunk_size: int | None,
    preallocate: bool,
) -> list[Tensor]:
    """For every primal the gradients of all output elements, stacked."""
    total = sum([layout.size for layout in layouts])
    chunks: list[list[Tensor]] = []
    whole: list[Tensor] = []
    if preallocate and chunk_size is not None and chunk_size < total:
        whole = [primal.new_zeros((total, *primal.shape)) for primal in primals]
    start = 0

    def pull(gradients: list[Tensor]) -> list[Tensor]:
        return flatten(pull_back(unflatten(gradients, spec)))[0]

    for basis in standard_basis(layouts, chunk_size):
        count = basis[0]._array.shape[0]
        if chunk_size == 1:  # nothing to batch
            part = [row.unsqueeze(0) for row in pull([row[0] for row in basis])]
        else:
            part = map_rows(pull, basis)
        if whole:
            for target, row in zip(whole, part, strict=True):
                target[start : start + count].copy_(row)
        else:
            chunks.append(part)
        start += count
    if whole:
        return whole
    if len(chunks) == 1:
        return chunks[0]
    return [RECORDED.cat(list(parts), 0) for parts in zip(*chunks, strict=True)]


def jacfwd(
    func: Callable[..., object],
    argnums: Argnums | None = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """A function that computes the Jacobian of `func` by forward mode, a column per input element.

    randomness  how random numbers in `func` behave; see `vmap`

    >>> torch.func.jacfwd(lambda x: x * x)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Tensor) -> Any:
        refuse_complex("jacfwd", args, "inputs")
        primals, spec = flatten(args if argnums is None else chosen(args, argnums))
        [basis] = standard_basis(layouts_of(primals), None)

        def push(tangents: object) -> Any:
            value, tangent, *aux = jvp_of(func, args, tangents, argnums, has_aux=has_aux)
            refuse_complex("jacfwd", value, "outputs")
            return (tangent, aux[0]) if has_aux else tangent

        results = map_directions(push, unflatten(basis, spec), randomness)
        aux: object = None
        if has_aux:
            results, aux = results
            flat_aux, aux_spec = flatten(aux)
            aux = unflatten([value[0] for value in flat_aux], aux_spec)
        columns, output_spec = flatten(results)
        sizes = [primal._array.size for primal in primals]
        by_output = []
        for column in columns:
            shape = tuple(column.shape[1:])
            parts = _split(column.movedim(0, -1), sizes, len(shape))
            blocks = [
                part.view((*shape, *primal.shape))
                for part, primal in zip(parts, primals, strict=True)
            ]
            by_output.append(unflatten(blocks, spec))
        if isinstance(argnums, int):
            by_output = [blocks[0] for blocks in by_output]
        result = unflatten(by_output, output_spec)
        return (result, aux) if has_aux else result

    return jacobian


def _split(tensor: Tensor, sizes: list[int], dim: int) -> list[Tensor]:
    return [tensor] if len(sizes) == 1 else list(tensor.split(sizes, dim))


def hessian(func: Callable[..., object], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that computes the Hessian of `func`: forward mode over reverse mode.

    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
