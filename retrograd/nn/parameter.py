"""Parameter and Buffer: tensors that a Module registers when they are assigned as attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.autograd.attributes import mark_like
from retrograd.autograd.state import HOT
from retrograd.construction import as_class
from retrograd.notices import explained
from retrograd.printing import format_parameter
from retrograd.tensor import Tensor, wrap


class _ParameterMeta(type):
    """Tensors of other classes count as parameters once `Parameter` has marked them."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return (
            cls is Parameter
            and isinstance(instance, Tensor)
            and bool(instance.__dict__.get("_is_param", False))
        )


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A leaf tensor that requires grad and belongs to a module.

    >>> import retrograd as torch
    >>> torch.nn.Parameter(torch.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = _empty()
        kind = type(data)
        if kind is not Tensor and not issubclass(kind, Parameter):
            return _marked(data, requires_grad)
        if requires_grad and data._array.dtype not in dtypes.DIFFERENTIABLE:
            raise explained(
                RuntimeError(
                    "Only Tensors of floating point and complex dtype can require gradients"
                )
            )
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
        """A parameter with memory of its own, without the gradient, as in PyTorch."""
        if id(self) in memo:
            found: Parameter = memo[id(self)]
            return found
        made = type(self)(wrap(self._array.copy(order="K")), self.requires_grad)
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return (_rebuild, (wrap(self._array), self.requires_grad, dict(self.__dict__)))


class _BufferMeta(type):
    """Buffers are plain tensors that `Buffer` has marked."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is not Buffer:
            return type.__instancecheck__(cls, instance)
        return isinstance(instance, Tensor) and bool(instance.__dict__.get("_is_buffer", False))


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module keeps with its state but does not train.

    persistent  whether `state_dict` contains it

    >>> import retrograd as torch
    >>> module = torch.nn.Module()
    >>> module.mean = torch.nn.Buffer(torch.zeros(2))
    >>> list(module.state_dict())
    ['mean']
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Tensor:  # type: ignore[misc]
        if data is None:
            data = _empty()
        made: Tensor = data.detach().requires_grad_(data.requires_grad)
        made.__dict__["persistent"] = persistent
        made.__dict__["_is_buffer"] = True
        return made


def _empty() -> Tensor:
    return wrap(np.empty(0, dtypes.get_default_dtype().numpy))


def _marked(data: Any, requires_grad: bool) -> Parameter:
    """A parameter of the data's own class."""
    made: Any = as_class(data.detach(), type(data)).requires_grad_(requires_grad)
    made.__dict__["_is_param"] = True
    found: Parameter = made
    return found


def _rebuild(
    data: Tensor, requires_grad: bool, attributes: dict[str, Any] | None = None
) -> Parameter:
    made = Parameter(data, requires_grad)
    made.__dict__.update(attributes or {})
    return made


HOT["Parameter"] = Parameter
