"""The families that `torch` and `torch.Tensor` are divided into: one page of the reference each.

An op's family is the folder of its declaration, so nothing is listed by hand.
"""

from __future__ import annotations

from functools import cache

from retrograd.core import python_function
from retrograd.ops.registry import OPS

FAMILIES = {
    "elementwise": "elementwise: arithmetic, comparison, functions of each element",
    "reduction": "reductions: sums, extremes, statistics, sorting, counting",
    "shapes": "shapes: views, joining, splitting, rearranging",
    "indexing": "indexing: gather, scatter, masks",
    "making": "making and asking: tensors from data, ranges, types, memory",
    "linalg": "products and linear algebra",
    "neural": "neural networks: convolution, pooling, activation, normalization",
    "random": "random numbers",
    "signals": "signals and spectra",
    "other": "gradients, modes, settings and the rest",
}
"""The families in their order, with what a heading says of them."""


@cache
def _by_name() -> dict[str, str]:
    found = {}
    for op in OPS.values():
        room = op.kernel.__module__.split(".")
        if room[:2] == ["retrograd", "ops"] and room[2] in FAMILIES:
            found[op.name] = room[2]
    return found


def family_of(name: str, value: object) -> str:
    """The family of a name of `torch` or `torch.Tensor`.

    >>> import retrograd as torch
    >>> family_of("exp_", torch.exp_), family_of("no_grad", torch.no_grad)
    ('elementwise', 'other')
    """
    known = _by_name().get(name) or _by_name().get(name.removesuffix("_"))
    if known is not None:
        return known
    target = value.fget if isinstance(value, property) else value
    room = (getattr(python_function(target), "__module__", None) or "").split(".")
    if room[:2] == ["retrograd", "ops"] and len(room) > 2 and room[2] in FAMILIES:
        return room[2]
    return "random" if room[:2] == ["retrograd", "random"] else "other"
