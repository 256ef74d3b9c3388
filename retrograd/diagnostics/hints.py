"""Advice that depends on the numbers of a case, beyond the catalogue's fixed sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from .report import Help


def hints(code: str, facts: Mapping[str, Any]) -> tuple[Help, ...]:
    """What the facts of a case suggest; they go before the general advice.

    >>> hints("RG202", {"rows": "2", "a": "3", "b": "5", "columns": "3"})[0].text
    'the right operand would fit transposed: use .T'
    """
    function = _HINTS.get(code)
    return () if function is None else tuple(Help(text) for text in function(facts))


def _product(facts: Mapping[str, Any]) -> list[str]:
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


_HINTS: dict[str, Callable[[Mapping[str, Any]], list[str]]] = {"RG202": _product, "RG203": _view}
