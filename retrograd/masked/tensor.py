"""`MaskedTensor`: elements, and a mask that says which of them count.

It is a Tensor whose `_array` has no elements (see `engine.sparse_array`), so that nothing dense
computes with it by mistake: functions come to `masked.dispatch`. The elements are an ordinary
tensor with an ordinary graph, which is the graph of the masked one too.
"""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any, Self, TypeGuard

from retrograd import dtypes
from retrograd.engine.sparse_array import STRANGERS, SparseArray
from retrograd.lifecycle.site import user_level
from retrograd.ops import errors
from retrograd.ops.making.construction import as_class
from retrograd.tensor import Array, Tensor, wrap
from retrograd.tensor.size import strided

_DTYPES = (
    *(dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bool_),
    *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
)


class MaskedArray(SparseArray):
    """The shape and dtype of a masked tensor, in the place of its elements."""

    __slots__ = ()

    without_elements = (
        "a MaskedTensor has no array of elements{more}; get_data() and to_tensor(value) make one"
    )

    def __init__(self, values: Array) -> None:
        super().__init__(strided, (), values, values.shape, True)


STRANGERS.add(MaskedArray)


class MaskedTensor(Tensor):
    """A tensor some of whose elements are masked out: functions pass over them.

    data, mask     tensors of one shape; where the mask is False, the element does not count
    requires_grad  gradients are masked tensors with the same mask

    >>> x = torch.masked.masked_tensor(torch.arange(3.0), torch.tensor([True, False, True]))
    >>> x + 1
    MaskedTensor(
      [  1.0000,       --,   3.0000]
    )
    >>> x.sum()
    MaskedTensor(  2.0000, True)
    """

    _masked_data: Tensor
    _masked_mask: Tensor

    @staticmethod
    def __new__(
        cls: type[MaskedTensor], data: Any, mask: Any, requires_grad: bool = False
    ) -> MaskedTensor:
        for name, value in (("data", data), ("mask", mask)):
            if isinstance(value, MaskedTensor) or not isinstance(value, Tensor):
                raise TypeError(f"{name} must be a Tensor")
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. "
                "To avoid this, you can use data.detach().clone()",
                UserWarning,
                stacklevel=user_level(),
            )
        check_parts(data, mask)
        leaf = data.detach().clone()
        leaf.requires_grad_(requires_grad)
        return masked(leaf, mask.clone(), cls)

    # ------------------------------------------------------------------------------- its parts

    def get_data(self) -> Tensor:
        """All elements, those that are masked out too; gradients flow through it.

        >>> torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False])).get_data()
        tensor([1., 1.])
        """
        data: Tensor = self._masked_data.view_as(self._masked_data)
        return data

    def get_mask(self) -> Tensor:
        """Which elements count."""
        return self._masked_mask

    def to_tensor(self, value: float) -> Tensor:
        """An ordinary tensor with `value` in the places that are masked out.

        >>> torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False])).to_tensor(7)
        tensor([1., 7.])
        """
        return self.get_data().masked_fill(~self._masked_mask, value)

    def __repr__(self, *, tensor_contents: object = None) -> str:
        from retrograd.masked.printing import text_of

        return text_of(self._masked_data, self._masked_mask)

    __str__ = __repr__

    def __format__(self, format_spec: str) -> str:
        return format(repr(self), format_spec)

    # ------------------------------------------------------------------------------- the graph

    @property
    def requires_grad(self) -> bool:
        """Whether gradients of it are wanted."""
        return self._masked_data.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._masked_data.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say whether gradients of it are wanted."""
        self._masked_data.requires_grad_(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no operation made it, or none that is recorded."""
        return self._masked_data.is_leaf

    @property
    def grad_fn(self) -> Any:
        """The node of the operation that made its elements."""
        return self._masked_data.grad_fn

    @property
    def grad(self) -> MaskedTensor | None:
        """The gradient, with the same mask."""
        found = self._masked_data.grad
        return None if found is None else masked(found, self._masked_mask)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        self._masked_data.grad = value.get_data() if isinstance(value, MaskedTensor) else value

    def retain_grad(self) -> None:
        """Keep the gradient although this is no leaf."""
        self._masked_data.retain_grad()

    def backward(self, gradient: Tensor | None = None, *args: Any, **options: Any) -> None:
        """Gradients of everything that it was computed from."""
        given = gradient.get_data() if isinstance(gradient, MaskedTensor) else gradient
        self._masked_data.backward(given, *args, **options)

    def detach(self) -> MaskedTensor:
        """The same elements and mask, without history."""
        return masked(self._masked_data.detach(), self._masked_mask)

    @property
    def data(self) -> MaskedTensor:
        """The same elements and mask, outside of the graph."""
        return masked(self._masked_data.data, self._masked_mask)

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, MaskedTensor):
            raise TypeError("the data of a MaskedTensor is a MaskedTensor")
        self._masked_data.data = value.get_data()
        self._masked_mask = value.get_mask()

    def __deepcopy__(self, memo: dict[int, Any]) -> MaskedTensor:
        return masked(deepcopy(self._masked_data, memo), deepcopy(self._masked_mask, memo))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return masked, (self._masked_data, self._masked_mask)

    # ------------------------------------------------------------------------------- reading it

    def __getitem__(self, index: Any) -> MaskedTensor:
        if isinstance(index, MaskedTensor):
            index = index.get_data()
        return masked(self._masked_data[index], self._masked_mask[index])

    def item(self) -> Any:
        """The only element, which must not be masked out."""
        if not self._masked_mask.item():
            raise ValueError("__torch_dispatch__, aten._local_scalar_dense: expected a mask tensor")
        return self._masked_data.item()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def is_contiguous(self, *args: Any, **options: Any) -> bool:
        """Whether the elements fill memory in the order of their places."""
        return bool(self._masked_data.is_contiguous(*args, **options))

    def stride(self, *args: Any) -> Any:
        """The strides of the elements."""
        return self._masked_data.stride(*args)

    def contiguous(self, *args: Any, **options: Any) -> MaskedTensor:
        """With elements and mask in the order of their places."""
        return masked(self._masked_data.contiguous(), self._masked_mask.contiguous())

    def is_sparse_coo(self) -> bool:
        """Whether the layout is `torch.sparse_coo`: masked tensors are strided here."""
        return False


def _converting(name: str) -> Any:
    """A method that changes the dtype of the elements."""

    def convert(self: MaskedTensor, *args: Any, **options: Any) -> Any:
        found = getattr(self._masked_data, name)(*args, **options)
        return masked(found, self._masked_mask) if isinstance(found, Tensor) else found

    convert.__name__ = name
    convert.__qualname__ = f"MaskedTensor.{name}"
    convert.__doc__ = f"The same mask with the elements of `Tensor.{name}`."
    return convert


for _name in "to type float double half bool char short int long".split():
    setattr(MaskedTensor, _name, _converting(_name))


def check_parts(data: Tensor, mask: Tensor) -> None:
    """Raise where elements and mask do not go together."""
    if data.layout is not mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if data.layout is not strided:
        raise errors.unsupported(f"a MaskedTensor of layout {data.layout!r}")
    if type(data) is not type(mask):
        raise TypeError(
            f"data and mask must have the same type. Got {errors.class_text(data)} and "
            f"{errors.class_text(mask)}"
        )
    if mask.dtype is not dtypes.bool_:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")


def masked(data: Tensor, mask: Tensor, kind: type[MaskedTensor] = MaskedTensor) -> MaskedTensor:
    """A masked tensor of these very parts."""
    array: Any = MaskedArray(data._array)
    made = as_class(wrap(array), kind)
    assert isinstance(made, MaskedTensor)
    made._masked_data, made._masked_mask = data, mask
    return made


def is_masked_tensor(obj: object, /) -> TypeGuard[MaskedTensor]:
    """Whether a value is a `MaskedTensor`.

    >>> torch.masked.is_masked_tensor(torch.ones(1))
    False
    """
    return isinstance(obj, MaskedTensor)


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """A masked tensor, always a leaf, with copies of the elements and of the mask.

    >>> torch.masked.masked_tensor(torch.tensor([1, 2]), torch.tensor([True, False]))
    MaskedTensor(
      [1,       --]
    )
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A masked tensor that goes on with the history of `data`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.masked.as_masked_tensor(x * 3, torch.tensor([True, False])).sum().backward()
    >>> x.grad
    tensor([3., 0.])
    """
    for name, value in (("data", data), ("mask", mask)):
        if isinstance(value, MaskedTensor) or not isinstance(value, Tensor):
            raise TypeError(f"{name} must be a Tensor")
    check_parts(data, mask)
    return masked(data.clone(), mask.clone())
