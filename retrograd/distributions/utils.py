"""Helpers shared by the distributions: broadcasting, logits and probabilities, triangles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, Generic, TypeVar, overload

from retrograd import dtypes
from retrograd.engine.grad_mode import enable_grad
from retrograd.engine.state import STATE
from retrograd.ops.making.construction import tensor
from retrograd.ops.making.creation import empty
from retrograd.ops.making.ranges import arange
from retrograd.ops.shapes.broadcasting import broadcast_tensors
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device, Size

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Tensor | float | None) -> tuple[Tensor, ...]:
    """Tensors of one shape from tensors and numbers; numbers take the first tensor's dtype.

    >>> from retrograd.distributions.utils import broadcast_all
    >>> broadcast_all(torch.tensor([1.0, 2.0]), 3)
    (tensor([1., 2.]), tensor([3., 3.]))
    """
    if not all(isinstance(value, (Tensor, int, float)) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, "
            "torch.Tensor or objects implementing __torch_function__."
        )
    given = next((value for value in values if isinstance(value, Tensor)), None)
    kind = dtypes.get_default_dtype() if given is None else given.dtype
    place = None if given is None else given.device
    tensors = [v if isinstance(v, Tensor) else tensor(v, dtype=kind, device=place) for v in values]
    return tuple(broadcast_tensors(*tensors))


def _standard_normal(shape: Sequence[int], dtype: dtypes.dtype | None, device: Device) -> Tensor:
    return empty(tuple(shape), dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dimensions."""
    if dim == 0:
        return value
    return value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities: the sigmoid of log odds, or the softmax over the last dimension.

    >>> from retrograd.distributions.utils import logits_to_probs
    >>> logits_to_probs(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1 by the dtype's `eps`.

    >>> from retrograd.distributions.utils import clamp_probs
    >>> clamp_probs(torch.tensor([0.0, 0.5]))
    tensor([1.1921e-07, 5.0000e-01])
    """
    eps = dtypes.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logits: log odds of binary events, or log probabilities; probabilities are clamped.

    >>> from retrograd.distributions.utils import probs_to_logits
    >>> probs_to_logits(torch.tensor([0.5, 0.25]), is_binary=True)
    tensor([ 0.0000, -1.0986])
    """
    clamped = clamp_probs(probs)
    if is_binary:
        return clamped.log() - (-clamped).log1p()
    return clamped.log()


Owner = TypeVar("Owner", contravariant=True)
Value = TypeVar("Value", covariant=True)


class lazy_property(Generic[Owner, Value]):
    """An attribute computed at the first reading and then kept in the instance.

    It is computed with gradients enabled, whatever mode the first reader is in.

    >>> from retrograd.distributions.utils import lazy_property
    >>> class Circle:
    ...     @lazy_property
    ...     def area(self):
    ...         print("computing")
    ...         return 3.14
    >>> circle = Circle()
    >>> circle.area
    computing
    3.14
    >>> circle.area
    3.14
    """

    def __init__(self, wrapped: Callable[[Owner], Value]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, obj_type: type | None = None) -> Any: ...
    @overload
    def __get__(self, instance: Owner, obj_type: type | None = None) -> Value: ...
    def __get__(self, instance: Any, obj_type: type | None = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        if STATE.grad_enabled:
            value = self.wrapped(instance)
        else:
            with enable_grad():
                value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property[Any, Any], property):
    """A lazy property read from its class: a property to `help`, a lazy one to validation."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def _lower_triangle(count: int, diag: int) -> Tensor:
    """A square mask that is true up to the diagonal number `diag`."""
    places = arange(count)
    return places < places.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of the lower triangle of square matrices, row by row.

    >>> from retrograd.distributions.utils import tril_matrix_to_vec
    >>> tril_matrix_to_vec(torch.tensor([[1, 9], [2, 3]]))
    tensor([1, 2, 3])
    """
    count = mat.shape[-1]
    if not -count <= diag < count:
        raise ValueError(f"diag ({diag}) provided is outside [{-count}, {count - 1}].")
    return mat[..., _lower_triangle(count, diag)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Lower triangular matrices filled row by row.

    >>> from retrograd.distributions.utils import vec_to_tril_matrix
    >>> vec_to_tril_matrix(torch.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    # The triangle below and on diagonal `diag` of an n x n matrix has as many elements as the
    # vector when n is the positive root of n*n + (1 + 2*diag)*n - |diag|*(diag + 1) - 2*length.
    slope = 1 + 2 * diag
    discriminant = slope**2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)
    root = (-slope + discriminant**0.5) / 2
    count = round(root)
    if count - root > dtypes.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    matrix: Tensor = vec.new_zeros(vec.shape[:-1] + Size((count, count)))
    matrix[..., _lower_triangle(count, diag)] = vec
    return matrix
