"""Parameter and Buffer: tensors that a Module registers when they are assigned as attributes.

Their uninitialized forms have no shape yet: a lazy module gives them one at its first call.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NoReturn

import numpy as np

from retrograd import core, dtypes
from retrograd.autograd.attributes import mark_like
from retrograd.engine.inference import flag_leaf
from retrograd.engine.lineage import cut_at, cut_of
from retrograd.engine.state import HOT
from retrograd.notices import runtime_error
from retrograd.ops.making.construction import as_class
from retrograd.ops.making.creation import empty
from retrograd.tensor import Array, Tensor, cell_of, wrap
from retrograd.tensor.size import Device
from retrograd.tensors.printing import format_parameter


class _ParameterMeta(type):
    """Tensors of other classes count as parameters once `Parameter` has marked them."""

    def __instancecheck__(cls, instance: Tensor) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return (
            cls is Parameter
            and isinstance(instance, Tensor)
            and bool(instance.__dict__.get("_is_param", False))
        )


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A leaf tensor that requires grad and belongs to a module.

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
            raise runtime_error(
                "Only Tensors of floating point and complex dtype can require gradients",
                code="RG111",
            )
        made = object.__new__(cls)
        made._array = data._array
        made._requires_grad = False
        made._grad_fn = None
        made._output_nr = 0
        made._cell = cell_of(data)  # a write through either is seen by both
        made._view = None
        made._cut = None if data._grad_fn is None else cut_of("copy", "nn.Parameter", data)
        made._meta = None
        if data._meta is not None and data._meta.inference:
            mark_like(made, data)
            made.requires_grad = requires_grad  # not allowed outside inference mode
        else:
            flag_leaf(made, bool(requires_grad))
        return made

    def __init__(self, *args: object, **options: object) -> None:
        """Nothing is left to do: `__new__` made it, which subclasses give other arguments."""

    def __repr__(self) -> str:
        text = Tensor.__repr__(self)
        return format_parameter(text if type(self) is Parameter else f"Parameter({text})")

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """A parameter with memory of its own, without the gradient, as in PyTorch."""
        if id(self) in memo:
            found: Parameter = memo[id(self)]
            return found
        made = type(self)(wrap(self._array.copy(order="K")), self.requires_grad)
        if self._requires_grad:
            made._cut = cut_at("copy", "copy.deepcopy", *_site_of_copy(), self)
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        return (_rebuild, (wrap(self._array), self.requires_grad, dict(self.__dict__)))


def _site_of_copy() -> tuple[CodeType | None, int]:
    """The line that calls `copy.deepcopy`, which calls itself on the way here."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename == copy.__file__:
        frame = frame.f_back
    return (None, 0) if frame is None else (frame.f_code, frame.f_lasti)


class _BufferMeta(type):
    """Buffers are plain tensors that `Buffer` has marked."""

    def __instancecheck__(cls, instance: Tensor) -> bool:
        if cls is not Buffer:
            return type.__instancecheck__(cls, instance)
        return isinstance(instance, Tensor) and bool(instance.__dict__.get("_is_buffer", False))


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module keeps with its state but does not train.

    persistent  whether `state_dict` contains it

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


class UninitializedTensorMixin:
    """A tensor whose dtype is known and whose shape is not: it can be converted, not computed with.

    Every computation begins by reading the array, so that is where it is refused.
    """

    __slots__ = ()
    cls_to_become: Any
    requires_grad: bool

    def materialize(
        self, shape: object, device: Device = None, dtype: dtypes.dtype | None = None
    ) -> None:
        """Give it a shape: it becomes an ordinary tensor whose values are not set."""
        kind = self.dtype if dtype is None else dtype
        _ARRAY.__set__(self, empty(shape, device=device, dtype=kind)._array)
        self.__class__ = self.cls_to_become

    @property
    def dtype(self) -> dtypes.dtype:
        """The type that the elements will have."""
        return dtypes.from_numpy_dtype(_ARRAY.__get__(self).dtype)

    @property
    def ndim(self) -> int:
        """That of a tensor of no elements, which stands in for it."""
        return 1

    @property
    def data(self) -> Tensor:
        """A tensor of no elements; assigning one changes the dtype."""
        return wrap(_ARRAY.__get__(self))

    @data.setter
    def data(self, tensor: Tensor) -> None:
        _ARRAY.__set__(self, tensor.detach().data._array)

    @property
    def _array(self) -> Array:
        raise self._refused(sys._getframe(1).f_code.co_name)

    @_array.setter
    def _array(self, array: Array) -> None:
        _ARRAY.__set__(self, array)

    def _refused(self, function: str) -> ValueError:
        return ValueError(
            f"Attempted to use an uninitialized parameter in {function}. This error happens when "
            "you are using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torch "
            "functions"
        )

    @property
    def shape(self) -> NoReturn:
        """Refused: there is none yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def share_memory_(self) -> NoReturn:
        """Refused: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict[int, object]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self._remade(self.dtype)
        return memo[id(self)]

    def __copy__(self) -> Any:
        return self._remade(self.dtype)

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        return (_remade, (type(self), self.requires_grad, self.dtype, dict(self.__dict__)))

    def _remade(self, kind: dtypes.dtype) -> Any:
        return _remade(type(self), self.requires_grad, kind, dict(self.__dict__))


def _remade(
    cls: Any, requires_grad: bool, kind: dtypes.dtype, attributes: dict[str, object]
) -> Any:
    """An uninitialized tensor from its pickle."""
    made = cls(requires_grad, None, kind)
    made.__dict__.update(attributes)
    return made


def _allowed(name: str) -> Callable[..., object]:
    """A method that works without a shape: it acts on the tensor of no elements."""

    def method(self: Any, *args: Any, **kwargs: object) -> Any:
        before = self.data.requires_grad_(self.requires_grad)
        result = getattr(before, name)(*args, **kwargs)
        if result is before:
            return self
        # a Parameter becomes a plain tensor by conversion, as initialized ones do
        if isinstance(result, Tensor) and not isinstance(self, Parameter):
            return self._remade(result.dtype)
        return result

    method.__name__ = name
    return method


def _refusing(name: str) -> Callable[..., object]:
    def method(self: Any, *args: Any, **kwargs: object) -> Any:
        raise self._refused(name)

    method.__name__ = name
    return method


for _name in (
    *("size", "copy_", "is_complex", "is_floating_point", "get_device", "to", "cpu", "cuda"),
    *("half", "float", "double", "char", "short", "int", "long"),
):
    setattr(UninitializedTensorMixin, _name, _allowed(_name))
for _name in (  # these read no array, or not at first
    *("requires_grad_", "backward", "register_hook", "register_post_accumulate_grad_hook"),
    *("type", "bfloat16", "numpy", "zero_", "fill_"),
):
    setattr(UninitializedTensorMixin, _name, _refusing(_name))


def is_lazy(param: Tensor) -> bool:
    """Whether it is an `UninitializedParameter` or an `UninitializedBuffer`.

    >>> torch.nn.parameter.is_lazy(torch.nn.LazyLinear(3).weight)
    True
    """
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter without a shape: `materialize` makes it a `Parameter`.

    >>> weight = torch.nn.UninitializedParameter()
    >>> weight
    <UninitializedParameter>
    >>> weight.materialize((2, 3))
    >>> type(weight).__name__, weight.shape
    ('Parameter', torch.Size([2, 3]))
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Device = None, dtype: dtypes.dtype | None = None
    ) -> UninitializedParameter:
        made: Any = as_class(empty(0, device=device, dtype=dtype), cls)
        made._requires_grad = requires_grad
        found: UninitializedParameter = made
        return found

    def __init__(
        self, requires_grad: bool = True, device: Device = None, dtype: dtypes.dtype | None = None
    ) -> None:
        pass


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer without a shape: `materialize` makes it an ordinary tensor.

    >>> torch.nn.UninitializedBuffer().double().dtype
    torch.float64
    """

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Device = None,
        dtype: dtypes.dtype | None = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        made: Any = as_class(empty(0, device=device, dtype=dtype), cls)
        made._requires_grad = requires_grad
        made.__dict__["persistent"] = persistent
        made.__dict__["_is_buffer"] = True
        found: UninitializedBuffer = made
        return found

    def __init__(
        self,
        requires_grad: bool = False,
        device: Device = None,
        dtype: dtypes.dtype | None = None,
        persistent: bool = True,
    ) -> None:
        pass


_ARRAY: Any = Tensor.__dict__["_array"]  # where the array really is


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The options with which a layer creates its tensors: device, dtype, memory_format.

    A key ``factory_kwargs`` may hold them too, where a layer has such an argument of its own.

    >>> factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": None}})
    {'dtype': None, 'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    known = ("device", "dtype", "memory_format")
    strange = kwargs.keys() - {*known, "factory_kwargs"}
    if strange:
        raise TypeError(f"unexpected kwargs {strange}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in known:
        if name in kwargs:
            if name in found:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            found[name] = kwargs[name]
    return found


def _empty() -> Tensor:
    return wrap(np.empty(0, dtypes.get_default_dtype().numpy))


def _marked(data: Tensor, requires_grad: bool) -> Parameter:
    """A parameter of the data's own class."""
    made: Any = as_class(data.detach(), type(data)).requires_grad_(requires_grad)
    made.__dict__["_is_param"] = True
    found: Parameter = made
    return found


def _rebuild(
    data: Tensor, requires_grad: bool, attributes: dict[str, object] | None = None
) -> Parameter:
    made = Parameter(data, requires_grad)
    made.__dict__.update(attributes or {})
    return made


HOT["Parameter"] = Parameter
core.use_parameter(Parameter)
