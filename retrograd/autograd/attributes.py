"""What a tensor says of its gradient and its data: `.grad`, `.grad_dtype`, `.data`, `detach()`."""

from __future__ import annotations

from retrograd import core, dtypes
from retrograd.engine import failures
from retrograd.engine.accumulate import gradient_dtype
from retrograd.engine.inference import count_writes, mark_inference
from retrograd.engine.lineage import cut_of
from retrograd.engine.sparse_array import SPARSE_ARRAY
from retrograd.engine.state import STATE
from retrograd.engine.views import forget_history
from retrograd.notices import explained, runtime_error
from retrograd.tensor import (
    Tensor,
    cell_of,
    meta_of,
    tensor_member,
    tensor_method,
    wrap,
)


@tensor_method
@core.shortcut("detach")
def detach(self: Tensor) -> Tensor:
    """The same elements without history; memory and version counter are shared."""
    made = wrap(self._array)
    made._cell = cell_of(self)
    if self.requires_grad:
        made._cut = cut_of("detach", "detach", self)
    else:
        made._cut = self._cut
    if self.is_inference():
        mark_like(made, self)
    return made


def mark_like(made: Tensor, source: Tensor) -> None:
    """Make it an inference tensor as `source` is; outside of the mode its writes are counted."""
    mark_inference(made)
    if not STATE.inference:
        count_writes(made, source)


@tensor_method
def detach_(self: Tensor) -> Tensor:
    """Drop this tensor's own history: it becomes a leaf that requires no gradient.

    In inference mode, and to a tensor made there, nothing happens, as in PyTorch.
    """
    if STATE.inference or self.is_inference():
        return self
    if self._view is not None:
        raise runtime_error(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
            "function in torch/optim/optimizer.py as the solution.",
            code="RG110",
        )
    cut = cut_of("detach", "detach_", self) if self.requires_grad else None
    forget_history(self)
    if self._meta is not None:
        self._meta.tangents = None
    if cut is not None:
        self._cut = cut
    return self


# ----------------------------------------------------------------------------- grad and data


def _get_grad(self: Tensor) -> Tensor | None:
    """The accumulated gradient of a leaf (or of a non-leaf after `retain_grad()`)."""
    meta = self._meta
    found = None if meta is None else meta.grad
    # not `grad_fn`: of a view that cannot follow a write, asking for it raises
    if found is None and self.requires_grad and self._grad_fn is not None and not self.retains_grad:
        failures.warn_nonleaf_grad(self)
    return found


def _set_grad(self: Tensor, gradient: Tensor | None) -> None:
    if gradient is None:
        if self._meta is not None:
            self._meta.grad = None
        return
    if not isinstance(gradient, Tensor):
        raise explained(
            TypeError(
                "assigned grad expected to be a Tensor or None but got grad of type "
                f"{type(gradient).__name__}"
            ),
            code="RG108",
        )
    if gradient is self:
        raise runtime_error("can't assign Variable as its own grad", code="RG108")
    chosen = ... if self._meta is None else self._meta.grad_dtype
    if chosen is ...:
        chosen = self.dtype
    if chosen is not None and gradient.dtype is not chosen:
        raise failures.assigned_dtype(gradient, chosen)
    if gradient._array.shape != self._array.shape:
        raise failures.assigned_shape(gradient, self)
    meta_of(self).grad = gradient


def _delete_grad(self: Tensor) -> None:
    _set_grad(self, None)


def _get_grad_dtype(self: Tensor) -> dtypes.dtype | None:
    """The dtype that gradients of a leaf are cast to as they arrive; None leaves them as they are.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> x.grad_dtype
    torch.float32
    >>> x.grad_dtype = torch.float64
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.], dtype=torch.float64)
    """
    if self.grad_fn is not None:
        raise runtime_error("grad_dtype can only be accessed on leaf tensors.", code="RG108")
    chosen = ... if self._meta is None else self._meta.grad_dtype
    return self.dtype if chosen is ... else chosen


def _set_grad_dtype(self: Tensor, chosen: object) -> None:
    if chosen is not None and not isinstance(chosen, dtypes.dtype):
        raise runtime_error(
            f"grad_dtype must be a torch.dtype or None, but got {type(chosen).__name__}",
            code="RG108",
        )
    if chosen is not None and self.requires_grad and chosen.numpy not in dtypes.DIFFERENTIABLE:
        raise runtime_error(
            f"gradients cannot be of type {chosen}, so grad_dtype cannot", code="RG108"
        )
    meta = meta_of(self)
    if meta.grad is not None and chosen is not None and meta.grad.dtype is not chosen:
        raise failures.late_gradient_dtype(chosen, meta.grad)
    if self.grad_fn is not None:
        raise runtime_error("grad_dtype can only be set on leaf tensors.", code="RG108")
    meta.grad_dtype = chosen
    node = None if meta.accumulator is None else meta.accumulator()
    if node is not None:
        node.dtype = gradient_dtype(self)


@core.shortcut("data")
def _get_data(self: Tensor) -> Tensor:
    """The same elements without history, with a version counter of its own."""
    made = wrap(self._array)
    if self.is_inference():
        mark_like(made, made)
    if self.requires_grad:
        made._cut = cut_of("data", ".data", self)
    else:
        made._cut = self._cut
    return made


def _set_data(self: Tensor, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if self._requires_grad and value._array.dtype not in dtypes.DIFFERENTIABLE:
        raise runtime_error(
            "data set to a tensor that requires gradients must be floating point or complex dtype",
            code="RG301",
        )
    if (type(value._array) is SPARSE_ARRAY) != (type(self._array) is SPARSE_ARRAY):
        raise runtime_error(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
            "incompatible tensor type.",
            code="RG301",
        )
    meta = self._meta
    if meta is not None and value._array.dtype is not self._array.dtype:
        meta.accumulator = None  # old graphs keep feeding the old accumulator
    # of another shape: as in PyTorch, an accumulator that is in use keeps the shape it knows
    self._array = value._array


def _delete_data(self: Tensor) -> None:
    raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")


tensor_member("grad", property(_get_grad, _set_grad, _delete_grad))
tensor_member("_grad", property(_get_grad, _set_grad, _delete_grad))
tensor_member("data", property(_get_data, _set_data, _delete_data))
tensor_member("grad_dtype", property(_get_grad_dtype, _set_grad_dtype))
