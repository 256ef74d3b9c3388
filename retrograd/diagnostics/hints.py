"""Advice that depends on the numbers of a case, beyond the catalogue's fixed sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .report import Fix, advice


def hints(code: str, facts: Mapping[str, object]) -> tuple[Fix, ...]:
    """What the facts of a case suggest; they go before the general advice.

    >>> hints("RG202", {"rows": "2", "a": "3", "b": "5", "columns": "3"})[0].text
    'the right operand would fit transposed: use .T'
    """
    function = _HINTS.get(code)
    return () if function is None else tuple(advice(text) for text in function(facts))


def _broadcast(facts: Mapping[str, Any]) -> list[str]:
    """A change of one operand after which the two shapes fit, if there is only one such change."""
    operands = facts.get("operands", ())
    if len(operands) != 2 or "a" not in facts:
        return []
    found: list[str] = []
    for operand, other in (operands, operands[::-1]):
        name = f"`{operand['name']}`" if operand["name"] else operand["parameter"]
        shape, target = list(operand["shape"]), other["shape"]
        if len(shape) < len(target):
            for place in range(1, len(shape) + 1):
                longer = [*shape[:place], 1, *shape[place:]]
                if _fits(longer, target):
                    found.append(f"{name} fits as {longer}: add a dimension, .unsqueeze({place})")
        elif len(shape) == len(target) == 2 and shape[0] != shape[1] and _fits(shape[::-1], target):
            found.append(f"{name} fits transposed, as {shape[::-1]}: use .T")
    if len(found) == 2 and all(".T" in text for text in found):
        return ["they fit if one of the two is transposed: use .T"]
    return found if len(found) == 1 else []


def _fits(shape: Sequence[int], other: Sequence[int]) -> bool:
    pairs = zip(reversed(shape), reversed(other), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def _product(facts: Mapping[str, object]) -> list[str]:
    if facts.get("of_layer") and "rows" in facts and "columns" in facts:
        return [
            f"this layer takes {facts['b']} features and got {facts['a']}: its first size "
            f"(in_features) must be the last size of the input, {facts['a']}"
        ]
    if facts.get("columns") and facts["a"] == facts["columns"]:
        return ["the right operand would fit transposed: use .T"]
    if facts.get("rows") and facts.get("columns") and facts["rows"] == facts["b"]:
        return ["the left operand would fit transposed: use .T"]
    return []


def _view(facts: Mapping[str, Any]) -> list[str]:
    sizes = [int(size) for size in re.findall(r"-?\d+", str(facts.get("want", "")))]
    count = int(facts.get("got", 0))
    known = math.prod(size for size in sizes if size >= 0)
    if not sizes or not known or count % known == 0:
        return []
    return [f"the given sizes multiply to {known}, which does not divide {count}"]


def _gradcheck(facts: Mapping[str, object]) -> list[str]:
    """What the wrong Jacobian looks like, by the numbers in it."""
    return [str(facts["looks"])] if facts.get("looks") else []


_HINTS: dict[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "RG201": _broadcast,
    "RG202": _product,
    "RG203": _view,
    "RG614": _gradcheck,
}
