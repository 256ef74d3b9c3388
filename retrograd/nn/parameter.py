"""Parameter: a tensor that a Module registers when it is assigned as an attribute."""

from __future__ import annotations

from typing import Any

from retrograd.autograd.attributes import mark_like
from retrograd.autograd.state import HOT
from retrograd.printing import format_parameter
from retrograd.tensor import Tensor, meta_of, wrap


class Parameter(Tensor):
    """A leaf tensor that requires grad and belongs to a module.

    >>> import retrograd as torch
    >>> torch.nn.Parameter(torch.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            import numpy as np

            from retrograd.dtypes import get_default_dtype

            data = wrap(np.empty(0, get_default_dtype().numpy))
        made = object.__new__(cls)
        made._array = data._array
        made._requires_grad = False
        made._grad_fn = None
        made._output_nr = 0
        made._cell = None
        made._view = None
        made._cut = None
        made._meta = None
        if data.is_inference():
            mark_like(made, made)
        made.requires_grad = requires_grad
        return made

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        pass

    def __repr__(self) -> str:
        return format_parameter(Tensor.__repr__(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) in memo:
            found: Parameter = memo[id(self)]
            return found
        made = type(self)(wrap(self._array.copy(order="K")), self.requires_grad)
        memo[id(self)] = made
        if self._meta is not None and self._meta.grad is not None:
            from copy import deepcopy

            meta_of(made).grad = deepcopy(self._meta.grad, memo)
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return (_rebuild, (wrap(self._array), self.requires_grad))


def _rebuild(data: Tensor, requires_grad: bool) -> Parameter:
    return Parameter(data, requires_grad)


HOT["Parameter"] = Parameter
