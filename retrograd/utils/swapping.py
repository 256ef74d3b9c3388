"""`swap_tensors`: two tensors exchange what they are, and whoever holds one holds the other."""

from __future__ import annotations

import gc
import weakref

from retrograd.engine.node import Node
from retrograd.engine.views import ViewInfo
from retrograd.tensor import Tensor

_FACTS = tuple(name for name in Tensor.__slots__ if not name.startswith("__"))


def _is_followed(tensor: Tensor) -> bool:
    """Whether a program has weak references to it; cuts note theirs, in tuples: no matter."""
    found = weakref.getweakrefs(tensor)
    holders = [[each for each in gc.get_referrers(ref) if each is not found] for ref in found]
    return any(not each or any(type(h) is not tuple for h in each) for each in holders)


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange the contents of two tensors, with class, gradient and attributes.

    Views of them, and graphs that would give them gradients, know them by identity: while there
    are any, the exchange is refused.

    >>> a, b = torch.zeros(1), torch.ones(2)
    >>> torch.utils.swap_tensors(a, b)
    >>> a
    tensor([1., 1.])
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if _is_followed(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
        holders = sum(map(_knows_by_identity, gc.get_referrers(tensor)))
        if holders:
            raise RuntimeError(
                f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node but got "
                f"{1 + holders} make sure you are not holding references to the tensor in "
                "other places."
            )
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for name in _FACTS:
        first, second = getattr(t1, name), getattr(t2, name)
        setattr(t1, name, second)
        setattr(t2, name, first)


def _knows_by_identity(holder: object) -> bool:
    """Whether something that refers to a tensor is a view of it, or a node that saved it."""
    if type(holder) is tuple:  # perhaps the saved values of a node
        return any(isinstance(other, Node) for other in gc.get_referrers(holder))
    return isinstance(holder, (Node, ViewInfo))
