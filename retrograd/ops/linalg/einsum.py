"""`einsum`: sums of products written with subscripts, computed as products of matrices.

An operand is a tensor and one label per dimension. Labels are letters, or negative numbers for the
dimensions that an ellipsis stands for, counted from its right end. Operands are multiplied from
left to right; each step is a batched product of matrices over the labels that are not needed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from retrograd.engine.state import STATE
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.linalg.products import type_name
from retrograd.ops.registry import RECORDED, function_only, table_entry
from retrograd.samples import COMPLEX, FLOATS, Sample, T
from retrograd.signatures import forms
from retrograd.tensor import Tensor

Label = str | int
_ELLIPSIS: Label = "..."
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


# ------------------------------------------------------------------------------------- parsing


def _subscripts(text: str, start: int, place: str) -> list[Label]:
    """The labels of one term; `start` is its place in the equation, for messages."""
    labels: list[Label] = []
    index = 0
    while index < len(text):
        letter = text[index]
        if letter == ".":
            output = place == "output"
            if _ELLIPSIS in labels:
                known = "but an ellipsis (...) was already found"
                raise RuntimeError(
                    f"einsum(): found '.' for {place} "
                    f"{known if output else 'for which an ellipsis was already found'}"
                )
            if text[index : index + 3] != "...":
                raise RuntimeError(
                    f"einsum(): found '.' for {place} that is not part of any ellipsis"
                    f"{' (...)' if output else ''}"
                )
            labels.append(_ELLIPSIS)
            index += 2
        elif letter in _LETTERS:
            labels.append(letter)
        elif letter != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + index} in the equation "
                "string, subscripts must be in [a-zA-Z]"
            )
        index += 1
    return labels


def _parse(equation: str, count: int) -> tuple[list[list[Label]], list[Label] | None]:
    """The labels of each of `count` operands, and of the output if the equation has one."""
    left, arrow, right = equation.partition("->")
    terms: list[list[Label]] = []
    start = 0
    for text in left.split(","):
        terms.append(_subscripts(text, start, f"operand {len(terms)}"))
        start += len(text) + 1
    if len(terms) != count:
        fewer = "fewer" if count < len(terms) else "more"
        raise RuntimeError(
            f"einsum(): {fewer} operands were provided than specified in the equation"
        )
    return terms, _subscripts(right, len(left) + 2, "output") if arrow else None


def _sublist(labels: Sequence[Any]) -> str:
    """A list of numbers and Ellipsis as the text that would mean the same."""
    parts = []
    for label in labels:
        if label is Ellipsis:
            parts.append("...")
            continue
        if isinstance(label, float):
            raise TypeError("'float' object cannot be interpreted as an integer")
        if not 0 <= label < len(_LETTERS):
            raise ValueError(
                "einsum(): subscript in subscript list is not within the valid range [0, 52)"
            )
        parts.append(_LETTERS[label])
    return "".join(parts)


def _arguments(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    """The three ways to call it, as an equation and its operands."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    equation, operands = args[0], list(args[1:])
    if isinstance(equation, Tensor):
        pairs = len(args) // 2
        operands = [args[2 * i] for i in range(pairs)]
        equation = ",".join(_sublist(args[2 * i + 1]) for i in range(pairs))
        if len(args) % 2:
            equation += "->" + _sublist(args[-1])
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    if not isinstance(equation, str):
        raise errors.argument_type("einsum", "equation", 1, "str", equation)
    for place, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(
                f"expected Tensor as element {place} in argument 1, but got "
                f"{type(operand).__name__}"
            )
    return equation, operands


def _spread_ellipsis(labels: list[Label], ndim: int, place: int) -> list[Label]:
    """One label per dimension: the ellipsis becomes numbers -n ... -1."""
    named = len(labels) - (_ELLIPSIS in labels)
    if _ELLIPSIS not in labels:
        if named != ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the "
                f"number of dimensions ({ndim}) for operand {place} and no ellipsis was given"
            )
        return labels
    if named > ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) is more than the "
            f"number of dimensions ({ndim}) for operand {place}"
        )
    where = labels.index(_ELLIPSIS)
    return [*labels[:where], *range(named - ndim, 0), *labels[where + 1 :]]


def _output_labels(written: list[Label] | None, terms: list[list[Label]]) -> list[Label]:
    """The labels of the result, in order; without ``->`` those that occur once, sorted."""
    every = [label for term in terms for label in term]
    dots: list[Label] = sorted({x for x in every if isinstance(x, int)})
    if written is None:
        letters = sorted(x for x in every if isinstance(x, str) and every.count(x) == 1)
        return [*dots, *letters]
    for label in written:
        if label != _ELLIPSIS and label not in every:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any "
                "input operand"
            )
        if written.count(label) > 1:
            raise RuntimeError(
                f"einsum(): output subscript {label} appears more than once in the output"
            )
    if _ELLIPSIS in written:
        where = written.index(_ELLIPSIS)
        return [*written[:where], *dots, *written[where + 1 :]]
    return written


# ----------------------------------------------------------------------------------- contraction


class _Operand:
    """A tensor and the labels of its dimensions."""

    __slots__ = ("labels", "tensor")

    def __init__(self, tensor: Tensor, labels: list[Label]) -> None:
        self.tensor = tensor
        self.labels = labels

    def size(self, label: Label) -> int:
        return int(self.tensor._array.shape[self.labels.index(label)])

    def sizes(self, labels: Sequence[Label]) -> tuple[int, ...]:
        return tuple(self.size(label) for label in labels)

    def arranged(self, labels: Sequence[Label]) -> Tensor:
        """The tensor with its dimensions in the order of `labels`."""
        if self.labels == list(labels):
            return self.tensor
        return RECORDED.permute(self.tensor, tuple(self.labels.index(x) for x in labels))

    def summed(self, kept: set[Label]) -> _Operand:
        """Without the labels that are not in `kept`: summed over them."""
        dims = tuple(i for i, label in enumerate(self.labels) if label not in kept)
        if not dims:
            return self
        labels = [label for label in self.labels if label in kept]
        return _Operand(RECORDED.sum(self.tensor, dims, False), labels)

    def without(self, label: Label) -> _Operand:
        """Without a dimension of size one."""
        place = self.labels.index(label)
        rest = [x for x in self.labels if x != label]
        return _Operand(RECORDED.squeeze(self.tensor, place), rest)


def _take_diagonals(operand: _Operand, place: int) -> _Operand:
    """A label that occurs twice in one operand means its diagonal."""
    for label in [x for i, x in enumerate(operand.labels) if x in operand.labels[:i]]:
        first = operand.labels.index(label)
        second = operand.labels.index(label, first + 1)
        shape = operand.tensor._array.shape
        if shape[first] != shape[second]:
            raise RuntimeError(
                f"einsum(): subscript {label} is repeated for operand {place} but the sizes don't "
                f"match, {shape[second]} != {shape[first]}"
            )
        labels = [x for i, x in enumerate(operand.labels) if i not in (first, second)]
        diagonal = RECORDED.diagonal(operand.tensor, 0, first, second)
        operand = _Operand(diagonal, [*labels, label])
    return operand


def _check_sizes(operands: Sequence[_Operand]) -> None:
    seen: dict[Label, int] = {}
    for place, operand in enumerate(operands):
        for label in operand.labels:
            size = operand.size(label)
            known = seen.get(label, 1)
            if size not in (1, known) and known != 1:
                name = label if isinstance(label, str) else _ELLIPSIS
                raise errors.runtime_error(
                    f"einsum(): subscript {name} has size {size} for operand {place} which "
                    f"does not broadcast with previously seen size {known}",
                    code="RG202",
                )
            seen[label] = size if known == 1 else known


def _contract(a: _Operand, b: _Operand, needed: set[Label]) -> _Operand:
    """The product of two operands, summed over the labels that are not in `needed`."""
    for label in [x for x in a.labels if x in b.labels]:
        one, two = a.size(label), b.size(label)
        if one != two:  # size one broadcasts: the other operand alone has the label
            a, b = (a.without(label), b) if one == 1 else (a, b.without(label))
    a = a.summed(needed | set(b.labels))
    b = b.summed(needed | set(a.labels))
    shared = [x for x in a.labels if x in b.labels]
    over = [x for x in shared if x not in needed]
    if not over:
        return _multiplied(a, b)
    if a.tensor._array.dtype is not b.tensor._array.dtype and STATE.autocast is None:
        raise errors.runtime_error(
            f"expected scalar type {type_name(a.tensor._array)} but found "
            f"{type_name(b.tensor._array)}",
            code="RG301",
        )
    batch = [x for x in shared if x in needed]
    left = [x for x in a.labels if x not in shared]
    right = [x for x in b.labels if x not in shared]
    rows, inner, columns = a.sizes(left), prod(a.sizes(over)), b.sizes(right)
    lead = a.sizes(batch)
    first: tuple[int, ...] = (prod(rows), inner)
    second: tuple[int, ...] = (inner, prod(columns))
    product = RECORDED.mm
    if batch:
        first, second = (prod(lead), *first), (prod(lead), *second)
        product = RECORDED.bmm
    matrix_a = RECORDED.reshape(a.arranged(batch + left + over), first)
    matrix_b = RECORDED.reshape(b.arranged(batch + over + right), second)
    result = RECORDED.view(product(matrix_a, matrix_b), lead + rows + columns)
    return _Operand(result, batch + left + right)


def _multiplied(a: _Operand, b: _Operand) -> _Operand:
    """The product over all labels of both, with nothing to sum."""
    labels = [*a.labels, *(x for x in b.labels if x not in a.labels)]
    tensor_b = b.arranged([x for x in labels if x in b.labels])
    sizes = iter(tensor_b._array.shape)
    shape = tuple(next(sizes) if x in b.labels else 1 for x in labels)
    extra = len(labels) - len(a.labels)
    tensor_a = RECORDED.reshape(a.tensor, a.tensor._array.shape + (1,) * extra)
    return _Operand(RECORDED.mul(tensor_a, RECORDED.reshape(tensor_b, shape)), labels)


def _einsum(equation: str, *tensors: Tensor) -> Tensor:
    terms, written = _parse(equation, len(tensors))
    operands = []
    for place, (tensor, labels) in enumerate(zip(tensors, terms, strict=True)):
        terms[place] = _spread_ellipsis(labels, tensor._array.ndim, place)
    output = _output_labels(written, terms)
    for place, (tensor, labels) in enumerate(zip(tensors, terms, strict=True)):
        operands.append(_take_diagonals(_Operand(tensor, labels), place))
    _check_sizes(operands)
    result = operands[0]
    for place, operand in enumerate(operands[1:], 1):
        later = {label for other in operands[place + 1 :] for label in other.labels}
        result = _contract(result, operand, later.union(output))
    result = result.summed(set(output))
    found: Tensor = result.arranged(output)
    if len(tensors) == 1 and found is tensors[0]:
        found = RECORDED.permute(found, tuple(range(found._array.ndim)))
    return found


def _raw_einsum(xp: Namespace, equation: str, *arrays: Array) -> Array:
    return xp.einsum(equation, *arrays, optimize=True)


table_entry("einsum", _raw_einsum, _einsum)


def _einsum_samples() -> list[Sample]:
    def many(equation: str, *shapes: tuple[int, ...], **more: Any) -> Sample:
        return Sample(equation, *(T(*shape) for shape in shapes), **more)

    fields = (*FLOATS, *COMPLEX)
    return [
        many("ij,jk->ik", (2, 3), (3, 4), dtypes=fields),
        many("ij,jk", (2, 3), (3, 4)),
        many("ij,jk->ki", (2, 3), (3, 4)),
        many("ji,jk->ik", (3, 2), (3, 4)),
        many("bij,bjk->bik", (5, 2, 3), (5, 3, 4), dtypes=fields),
        many("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
        many("bqhd,bkhd->bhqk", (2, 4, 3, 5), (2, 6, 3, 5)),
        many("ij->ij", (2, 3)),
        many("ij->ji", (2, 3)),
        many("ij->i", (2, 3)),
        many("ij->", (2, 3)),
        many("ba", (2, 3)),
        many("Ba", (2, 3)),
        many("ii->i", (3, 3)),
        many("ii", (3, 3)),
        many("iij->ij", (3, 3, 2)),
        many("ijij->ji", (2, 3, 2, 3)),
        many("iii->i", (3, 3, 3)),
        many("i,j->ij", (3,), (4,)),
        many("i,j->ji", (3,), (4,)),
        many("ij,ij->ij", (2, 3), (2, 3)),
        many("ij,ji->ij", (2, 3), (3, 2)),
        many("ij,ij->i", (2, 3), (2, 3)),
        many("i,i->", (3,), (3,), dtypes=fields),
        many("ij,j->i", (2, 3), (3,)),
        many("ij,kl->", (2, 3), (4, 5)),
        many("ijk,j->ik", (2, 3, 4), (3,)),
        many("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
        many("i,ij,j->", (2,), (2, 3), (3,)),
        many("i,ij,i->ij", (2,), (2, 3), (2,)),
        many("bn,anm,bm->ba", (2, 5), (3, 5, 4), (2, 4)),
        many("...ij,...jk->...ik", (2, 2, 3), (2, 3, 4)),
        many("...ij,jk->...ik", (5, 2, 2, 3), (3, 4)),
        many("...i,...i", (4, 1, 3), (5, 3)),
        many("i...->...i", (2, 3, 4)),
        many("i...->i", (2, 3, 4)),
        many("i...,...", (4, 3), (3,)),
        many("i->...i", (4,)),
        many("i->i...", (4,)),
        many("...", (2, 3)),
        many(",i", (), (2,)),
        many("", ()),
        many("->", ()),
        many(" i j , j k -> i k ", (4, 3), (3, 2)),
        many("ij,jk->ik", (2, 1), (3, 2)),
        many("i,ij->i", (1,), (3, 2)),
        many("i,i->i", (1,), (3,)),
        many("ij,jk->ik", (2, 0), (0, 2)),
        many("ij,jk->ik", (0, 3), (3, 2)),
        Sample("ij,jk->ik", [T(2, 3), T(3, 4)]),
        Sample(T(2, 3), [0, 1], T(3, 4), [1, 2], [0, 2]),
        Sample(T(2, 3), [Ellipsis, 1], [1, Ellipsis]),
        Sample(T(2, 3), [1, 0]),
        Sample("ij,jk", T(2, 3, dtype="int64"), T(3, 2, dtype="int64"), grad=False),
        Sample("i,i->i", T(2, dtype="int64"), T(2)),
        Sample("ij,jk", T(2, 3, dtype="int64"), T(3, 2), error=(RuntimeError, "expected scalar")),
        many("ij,jk", (2, 3), (4, 5), error=(RuntimeError, "einsum(): subscript j has size 4")),
        many("ij", (2, 3, 3), error=(RuntimeError, "einsum(): the number of subscripts in the")),
        many("i...j", (1,), error=(RuntimeError, "einsum(): the number of subscripts in the")),
        many("ij,", (2, 3), error=(RuntimeError, "einsum(): fewer operands were provided")),
        many("ij", (2, 3), (2, 3), error=(RuntimeError, "einsum(): more operands were provided")),
        many("ij->k", (2, 3), error=(RuntimeError, "einsum(): output subscript k does not")),
        many("ij->ii", (2, 3), error=(RuntimeError, "einsum(): output subscript i appears more")),
        many("i.j->ij", (2, 3), error=(RuntimeError, "einsum(): found '.' for operand 0 that")),
        many("i......", (2, 3), error=(RuntimeError, "einsum(): found '.' for operand 0 for")),
        many("ij->i.j", (2, 3), error=(RuntimeError, "einsum(): found '.' for output that is")),
        many("i1->i", (2, 3), error=(RuntimeError, "einsum(): invalid subscript given at index")),
        many("ii", (2, 3), error=(RuntimeError, "einsum(): subscript i is repeated for")),
        Sample("ij", error=(ValueError, "einsum(): must specify the equation string and at")),
        Sample(T(2, 3), [0, 53], [0], error=(ValueError, "einsum(): subscript in subscript")),
        Sample(3, T(2), error=(TypeError, "einsum(): argument 'equation' (position 1)")),
        Sample("i", 3, error=(TypeError, "expected Tensor as element 0 in argument 1")),
    ]


@function_only(samples=_einsum_samples)
@forms(
    "(equation: str, *operands: Tensor) -> Tensor",
    "(equation: str, operands: Sequence[Tensor], /) -> Tensor",
    "(operand: Tensor, sublist: Sequence[Any], /, *rest: Any) -> Tensor",
)
def einsum(*args: object) -> Tensor:
    """Sums of products, as subscripts say: labels missing after ``->`` are summed over.

    >>> torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
    equation, operands = _arguments(args)
    return _einsum(equation, *operands)
