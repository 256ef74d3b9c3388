"""`rearrange`: dimensions reordered, split and joined as a pattern says."""

from __future__ import annotations

import math
import re

from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor

_ELLIPSIS = "…"  # one character for "..."

# One entry of a pattern is a group of names that share a dimension; the ellipsis stands alone.
Group = list[str] | str


class DimensionBindError(Exception):
    """A size that a pattern asks for does not fit the tensor."""


def rearrange(tensor: Tensor, pattern: str, **axes_lengths: int) -> Tensor:
    """The elements of a tensor (or of a list of tensors, stacked) in another arrangement.

    Names in brackets share a dimension; sizes that cannot be worked out are given by name.

    >>> torch.func.rearrange(torch.arange(6), "(a b) -> b a", a=2)
    tensor([[0, 3],
            [1, 4],
            [2, 5]])
    """
    if not isinstance(tensor, Tensor):
        tensor = RECORDED.stack(list(tensor))
    left, right = _sides(pattern, axes_lengths)
    count = _checked_rank(left, tensor.ndim)
    hidden = [f"{_ELLIPSIS}{number}" for number in range(count)]
    names: list[str] = []  # of the dimensions once all groups are split
    sizes: list[int] = []
    groups = _spread(left, hidden)
    for group, size in zip(groups, tensor.shape, strict=True):
        if not group and size != 1:
            raise DimensionBindError(
                f"a dimension of size {size} cannot be matched with the axis 1 of {pattern!r}"
            )
        sizes += _split_sizes(group, size, axes_lengths, len(names))
        names += group
    places = [names.index(name) for group in _spread(right, hidden) for name in group]
    shape = [
        math.prod([sizes[names.index(name)] for name in group]) for group in _spread(right, hidden)
    ]
    whole: Tensor = tensor.reshape(tuple(sizes)).permute(tuple(places)).reshape(tuple(shape))
    return whole


def _sides(pattern: str, lengths: dict[str, int]) -> tuple[list[Group], list[Group]]:
    """Both sides of a pattern, checked."""
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = _parsed(sides[0]), _parsed(sides[1])
    if _ELLIPSIS not in _names(left) and _ELLIPSIS in _names(right):
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if any(isinstance(group, list) and _ELLIPSIS in group for group in left):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    for length in lengths.values():
        if type(length) is not int:
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")
    if any(name.isdecimal() for name in (*_names(left), *_names(right))):
        raise ValueError("rearrange only supports unnamed axes of size 1")
    difference = set(_names(left)) ^ set(_names(right))
    if difference:
        raise ValueError(
            "Identifiers only on one side of rearrange expression (should be on both): "
            f"{difference}"
        )
    unknown = lengths.keys() - set(_names(left))
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")
    return left, right


def _names(groups: list[Group]) -> list[str]:
    return [name for group in groups for name in group]


def _parsed(side: str) -> list[Group]:
    """One side of a pattern as groups of names; an axis 1 is an empty group."""
    if "." in side:
        if "..." not in side:
            raise ValueError("Expression may contain dots only inside ellipsis (...)")
        if side.count("...") != 1 or side.count(".") != 3:
            raise ValueError(
                "Expression may contain dots only inside ellipsis (...); only one ellipsis for "
                "tensor "
            )
        side = side.replace("...", _ELLIPSIS)
    groups: list[Group] = []
    seen: set[str] = set()
    inside: list[str] | None = None
    for token in re.findall(rf"[()]|[\w{_ELLIPSIS}]+|[^\s]", side):
        if token == "(":
            if inside is not None:
                raise ValueError(
                    "Axis composition is one-level (brackets inside brackets not allowed)"
                )
            inside = []
        elif token == ")":
            if inside is None:
                raise ValueError("Brackets are not balanced")
            groups.append(inside)
            inside = None
        else:
            _check_name(token, seen)
            seen.add(token)
            found = [] if token == "1" else [token]
            if inside is not None:
                inside += found
            else:
                groups.append(token if token == _ELLIPSIS else found)
    if inside is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{side}'")
    return groups


def _check_name(token: str, seen: set[str]) -> None:
    if token == "1":
        return
    if not re.fullmatch(rf"[\w{_ELLIPSIS}]+", token):
        raise ValueError(f"Unknown character '{token}'")
    if token in seen:
        raise ValueError(f"Indexing expression contains duplicate dimension '{token}'")
    if token == _ELLIPSIS or token.isdecimal():
        return
    reason = ""
    if not token.isidentifier():
        reason = "not a valid python identifier"
    elif token[0] == "_" or token[-1] == "_":
        reason = "axis name should should not start or end with underscore"
    if reason:
        raise ValueError(f"Invalid axis identifier: {token}\n{reason}")


def _checked_rank(left: list[Group], rank: int) -> int:
    """How many dimensions the ellipsis stands for."""
    if _ELLIPSIS not in left:
        if len(left) != rank:
            raise ValueError(
                f"Number of dimensions in pattern ({len(left)}) must be equal to the number of "
                f"dimensions in the tensor ({rank})"
            )
        return 0
    if len(left) - 1 > rank:
        raise ValueError(
            f"Number of dimensions in pattern ({len(left) - 1}) must be less than or equal to the "
            f"number of dimensions in the tensor ({rank})"
        )
    return rank - (len(left) - 1)


def _spread(groups: list[Group], hidden: list[str]) -> list[list[str]]:
    """The groups with the ellipsis replaced by the dimensions it stands for."""
    found: list[list[str]] = []
    for group in groups:
        if group == _ELLIPSIS:
            found += [[name] for name in hidden]
        else:
            found.append([n for name in group for n in (hidden if name == _ELLIPSIS else [name])])
    return found


def _split_sizes(group: list[str], size: int, lengths: dict[str, int], start: int) -> list[int]:
    """The sizes of the names that share a dimension; one of them may be worked out."""
    given = [lengths.get(name) for name in group]
    known = math.prod([length for length in given if length is not None])
    missing = [place for place, length in enumerate(given) if length is None]
    pack = [f"d{start + place}" for place in range(len(group))]
    if len(missing) > 1:
        raise DimensionBindError(
            f"cannot infer the sizes of two dimensions at once {pack[missing[0]]} and "
            f"{pack[missing[1]]}"
        )
    if not missing:
        if known != size:
            listed = ", ".join(pack) + ("," if len(pack) == 1 else "")
            raise DimensionBindError(
                f"Dimension sizes to do not match ({size} != {known}) when matching dimension pack "
                f"({listed})"
            )
        return [length for length in given if length is not None]
    if known == 0 or size % known:
        parts = tuple(["?" if length is None else length for length in given])
        raise DimensionBindError(
            f"inferred dimension does not evenly fit into larger dimension: {size} vs {parts}"
        )
    return [size // known if length is None else length for length in given]
