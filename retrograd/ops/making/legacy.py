"""Old ways to make tensors: ``Tensor(2, 3)``, ``FloatTensor([1, 2])``, ``Variable(x)``.

They call uninitialised memory with sizes, and copy data given as a sequence.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.backend import backend_of
from retrograd.engine.walk import ENGINE
from retrograd.lifecycle.site import user_level
from retrograd.notices import runtime_error, warn_once
from retrograd.ops.determinism import uninitialized
from retrograd.ops.errors import argument_type
from retrograd.ops.making.arguments import invalid_combination, size_argument
from retrograd.ops.making.construction import array_from, as_class, fresh, is_sequence
from retrograd.ops.registry import RECORDED
from retrograd.ops.shapes.copying import cast_array
from retrograd.signatures import forms
from retrograd.tensor import Array, Tensor, tensor_member, tensor_method, wrap
from retrograd.tensor.size import Device, Size
from retrograd.tensor.size import device as _device


def _legacy_array(args: tuple[object, ...], kind: dtypes.dtype) -> Array:
    """The elements that a legacy constructor's arguments ask for."""
    if not args:
        return np.empty(0, kind.numpy)
    first = args[0]
    if len(args) == 1:
        if isinstance(first, Size):
            return uninitialized(np.empty(first, kind.numpy))
        if isinstance(first, np.ndarray) and first.ndim:
            copied: Array = cast_array(first, kind.numpy)
            return copied
        if isinstance(first, str):
            raise TypeError(f"new(): invalid data type '{type(first).__name__}'")
        if is_sequence(first) or isinstance(first, bytes):
            return array_from(first, kind)
        if isinstance(first, bool) or not isinstance(first, (int, np.integer)):
            raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
    return uninitialized(np.empty(size_argument("new", args, {}), kind.numpy))


def _with_size(args: tuple[object, ...], size: object) -> tuple[object, ...]:
    """The arguments, with sizes that were given by name in their place."""
    if size is None:
        return args
    if args:
        raise invalid_combination("new", args, _NEW_FORMS, size=size)
    return (Size(size_argument("new", (size,), {})),)


def _require(kind: str, where: Device) -> None:
    """Refuse a ``device=`` of another type than that of what is made."""
    given = kind if where is None else _device(where).type
    if given != kind:
        raise runtime_error(
            f"legacy constructor expects device type: {kind} but device type: {given} was passed",
            code="RG302",
        )


_NEW_FORMS = """*, torch.device device = None
torch.Storage storage
Tensor other
tuple of ints size, *, torch.device device = None
object data, *, torch.device device = None"""


@forms(
    "(cls, *args: Any, device: Device = None) -> Self",
    "(cls, *, size: Sequence[int], device: Device = None) -> Self",
)
def _new_tensor(
    cls: type[Tensor], *args: object, size: object = None, device: Device = None
) -> Tensor:
    """``Tensor(...)`` and its subclasses: sizes or data, in the default dtype."""
    _require("cpu", device)
    args = _with_size(args, size)
    if len(args) == 1 and isinstance(args[0], Tensor):
        made: Tensor = RECORDED._alias(args[0])
    else:
        made = fresh(_legacy_array(args, dtypes.get_default_dtype()))
    return as_class(made, cls)


tensor_member("__new__", staticmethod(_new_tensor))


@tensor_method
def as_subclass(self: Tensor, cls: type[Tensor]) -> Tensor:
    """A view of the whole tensor that is an instance of a subclass of Tensor."""
    _require_subclass(cls)
    made: Tensor = RECORDED._alias(self)
    return as_class(made, cls)


def _require_subclass(cls: object) -> None:
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
            "possible. Make sure your class inherits from Tensor."
        )


def _make_subclass(cls: type[Tensor], data: Tensor, require_grad: bool = False) -> Tensor:
    """A leaf of a subclass of Tensor that has the elements of `data`, and not its history."""
    _require_subclass(cls)
    if not isinstance(data, Tensor):
        raise argument_type("_make_subclass", "data", 2, "Tensor", data)
    if require_grad and not (data.is_floating_point() or data.is_complex()):
        raise runtime_error(
            "Only Tensors of floating point and complex dtype can require gradients",
            code="RG111",
        )
    made = as_class(data.detach(), cls)
    made.requires_grad_(require_grad)
    return made


tensor_member("_make_subclass", staticmethod(_make_subclass))


@tensor_method
def new(self: Tensor, *args: object, size: object = None, device: Device = None) -> Tensor:
    """A tensor of this dtype from sizes or data, on this tensor's device."""
    _require(self.device.type, device)
    made = _legacy_array(_with_size(args, size), self.dtype)
    return fresh(backend_of(self._array).from_numpy(made))


class _TypedTensor(type):
    """The type of `FloatTensor` and its relatives: a dtype that can be called and asked."""

    dtype: dtypes.dtype

    def __call__(cls, *args: Any, size: Any = None, device: Any = None) -> Tensor:
        _require("cpu", device)
        args = _with_size(args, size)
        if len(args) == 1 and isinstance(args[0], Tensor):
            if args[0].is_cuda:
                raise TypeError(f"expected a torch.{cls.__name__} (got {args[0].type()})")
            if args[0].dtype is not cls.dtype:
                raise TypeError(
                    f"expected a tensor of {cls.dtype!r} (got one of {args[0].dtype!r})"
                )
            return RECORDED._alias(args[0])
        return fresh(_legacy_array(args, cls.dtype))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.is_cpu and instance.dtype is cls.dtype


def _typed(kind: dtypes.dtype) -> _TypedTensor:
    doc = f"Tensors of {kind!r}: makes them from sizes or data, and `isinstance` recognises them."
    return _TypedTensor(
        f"{kind.type_name}Tensor", (), {"dtype": kind, "__module__": "torch", "__doc__": doc}
    )


TYPED_TENSORS = {
    f"{kind.type_name}Tensor": _typed(kind) for kind in dtypes.ALL if not kind.is_complex
}


def set_default_tensor_type(t: object) -> None:
    """Deprecated: make the dtype of a legacy type the default floating dtype."""
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives.",
        user_level(),
    )
    kind = dtypes.by_type_name(t) if isinstance(t, str) else getattr(t, "dtype", None)
    if not isinstance(kind, dtypes.dtype):
        raise TypeError(
            "invalid type object: only floating-point types are supported as the default type"
        )
    dtypes.set_default_dtype(kind)


def _get_volatile(self: Tensor) -> bool:
    """Deprecated: what `torch.no_grad()` replaced; always False."""
    warnings.warn(
        "volatile was removed (Variable.volatile is always False)", stacklevel=user_level()
    )
    return False


def _set_volatile(self: Tensor, value: object) -> None:
    _warn_volatile()


def _warn_volatile() -> None:
    warnings.warn(
        "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
        stacklevel=user_level(),
    )


tensor_member("volatile", property(_get_volatile, _set_volatile))


class VariableMeta(type):
    """The class of `Variable`: what makes every Tensor an instance of it."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)

    def __call__(
        cls,
        data: Tensor | Array | None = None,
        requires_grad: bool = False,
        volatile: object = None,
    ) -> Tensor:
        if volatile:
            _warn_volatile()
        if data is None:
            return fresh(np.empty(0, dtypes.get_default_dtype().numpy), requires_grad)
        if not isinstance(data, Tensor):
            name = type(data).__name__
            name = f"numpy.{name}" if isinstance(data, (np.ndarray, np.generic)) else name
            raise TypeError(f"Variable data has to be a tensor, but got {name}")
        made = wrap(data._array)
        if requires_grad:
            made.requires_grad_(True)
        return made


class Variable(metaclass=VariableMeta):
    """The old name of a tensor with history: every Tensor is one.

    >>> torch.autograd.Variable(torch.ones(1), requires_grad=True)
    tensor([1.], requires_grad=True)
    """

    _execution_engine = ENGINE
