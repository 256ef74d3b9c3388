"""`backward` and `grad`: arguments checked in PyTorch's order, then handed to the engine."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.autograd import failures
from retrograd.autograd.engine import Edge, run_backward
from retrograd.autograd.hooks import HookTable, RemovableHandle
from retrograd.autograd.node import BackwardCall, extra_of
from retrograd.autograd.state import STATE, Cut
from retrograd.autograd.views import edge_of, forget_history, refresh
from retrograd.backend.kernels import filled
from retrograd.lifecycle.site import user_site
from retrograd.notices import explained
from retrograd.tensor import Tensor, cell_of, meta_of, tensor_method, wrap


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Accumulate the gradients of `tensors` into the `.grad` of the leaves they came from.

    >>> import retrograd as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.backward(x * x)
    >>> x.grad
    tensor(6.)
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        grad_tensors = grad_variables
    if inputs is not None and not isinstance(inputs, Tensor) and len(inputs) == 0:
        raise explained(RuntimeError("`inputs` argument to `backward()` cannot be empty."))
    roots = _as_tuple(tensors)
    targets = None if inputs is None else _as_tuple(inputs)
    gradients = _start_gradients(roots, _as_gradients(grad_tensors, len(roots)))
    edges = _root_edges(roots)
    retain = create_graph if retain_graph is None else bool(retain_graph)
    call = BackwardCall("backward", retain, bool(create_graph), *user_site(2))
    wanted: list[Edge | None] | None = None
    if targets is not None:
        wanted = []
        for target in targets:
            if target.grad_fn is not None or not target.requires_grad:
                target.retain_grad()
            node = edge_of(target)
            wanted.append(None if node is None else (node, target._output_nr))
    run_backward(edges, gradients, call, wanted)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `outputs` with respect to `inputs`, without touching any `.grad`.

    >>> import retrograd as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use "
            "torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    names = list(inputs) if isinstance(inputs, dict) else None
    targets = _as_tuple(list(inputs.values()) if isinstance(inputs, dict) else inputs)
    if not targets:
        raise explained(RuntimeError("`inputs` argument to `grad()` cannot be empty."))
    roots = _as_tuple(outputs)
    given = _as_gradients(grad_outputs, len(roots))
    if is_grads_batched:
        return _batched(roots, targets, given, retain_graph, create_graph, allow_unused)
    gradients = _start_gradients(roots, given)
    edges = _root_edges(roots)
    wanted: list[Edge | None] = []
    for target in targets:
        if not target.requires_grad:
            raise explained(RuntimeError("One of the differentiated Tensors does not require grad"))
        node = edge_of(target)
        wanted.append(None if node is None else (node, target._output_nr))
    retain = create_graph if retain_graph is None else bool(retain_graph)
    call = BackwardCall("grad", retain, bool(create_graph), *user_site(2))
    found: list[Any] = run_backward(edges, gradients, call, wanted)
    cut = None if create_graph else Cut("grad", "autograd.grad", call.code, call.lasti)
    for index, result in enumerate(found):
        if result is not None:
            result._cut = cut
            continue
        if not allow_unused:
            raise failures.unused_input(index, call)
        if materialize_grads:
            like = targets[index]._array
            zeros = wrap(np.zeros(like.shape, like.dtype))
            if create_graph:
                zeros.requires_grad = True
            found[index] = zeros
    if names is not None:
        return dict(zip(names, found, strict=True))  # type: ignore[return-value]
    return tuple(found)


def _batched(
    roots: tuple[Tensor, ...],
    targets: tuple[Tensor, ...],
    given: list[Tensor | None],
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool,
) -> tuple[Any, ...]:
    """One run per entry of the gradients' first dimension, results stacked."""
    first = next((g for g in given if g is not None), None)
    if first is None:
        raise RuntimeError("is_grads_batched=True needs grad_outputs with a batch dimension")
    rows = []
    for row in range(first._array.shape[0]):
        rows.append(
            grad(
                roots,
                targets,
                tuple(None if g is None else g[row] for g in given),
                True if row < first._array.shape[0] - 1 else retain_graph,
                create_graph,
                allow_unused=allow_unused,
            )
        )
    from retrograd.ops.registry import RECORDED

    return tuple(
        None if column[0] is None else RECORDED.stack(list(column))
        for column in zip(*rows, strict=True)
    )


# ----------------------------------------------------------------------------------- arguments


def _as_tuple(tensors: Any) -> tuple[Tensor, ...]:
    if isinstance(tensors, Tensor):
        return (tensors,)
    found = tuple(tensors)
    for item in found:
        if not isinstance(item, Tensor):
            raise TypeError(
                f"expected Tensor or sequence of Tensors, but got {type(item).__name__}"
            )
    return found


def _as_gradients(given: Any, count: int) -> list[Tensor | None]:
    if given is None:
        return [None] * count
    found = [given] if isinstance(given, Tensor) else list(given)
    if len(found) != count:
        raise RuntimeError(f"got {count} tensors and {len(found)} gradients")
    return found


def _start_gradients(roots: tuple[Tensor, ...], given: list[Tensor | None]) -> list[Tensor]:
    """The gradient to start from at every root: checked if given, one if it is a scalar."""
    started: list[Tensor] = []
    for root, gradient in zip(roots, given, strict=True):
        array = root._array
        if gradient is None:
            if root.requires_grad:
                if array.size != 1:
                    raise failures.not_scalar(root)
                if array.dtype in dtypes.COMPLEX_TYPES:
                    raise failures.complex_root(root)
            gradient = wrap(filled(array.shape, 1, array.dtype))
        elif not isinstance(gradient, Tensor):
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(gradient).__name__}"
            )
        else:
            _check_gradient(root, gradient, len(started))
        started.append(gradient)
    return started


def _check_gradient(root: Tensor, gradient: Tensor, index: int) -> None:
    if gradient._array.shape != root._array.shape:
        raise failures.mismatched_gradient(index, gradient, root)
    if (gradient._array.dtype in dtypes.COMPLEX_TYPES) != (
        root._array.dtype in dtypes.COMPLEX_TYPES
    ):
        raise failures.mismatched_complex(index, gradient, root)


def _root_edges(roots: tuple[Tensor, ...]) -> list[Edge]:
    edges: list[Edge] = []
    for index, root in enumerate(roots):
        node = None
        if root.requires_grad:
            if root._view is not None:
                refresh(root)
            node = edge_of(root)
        if node is None:
            raise failures.no_history(index, root)
        edges.append((node, root._output_nr))
    return edges


# ------------------------------------------------------------------------------- Tensor methods


@tensor_method
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set `requires_grad` in place and return the tensor."""
    if requires_grad and self._array.dtype not in dtypes.DIFFERENTIABLE:
        raise failures.nonfloat_flag(method=True)
    self.requires_grad = requires_grad
    return self


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Accumulate this tensor's gradients into the leaves it was computed from.

    gradient       the gradient of some further value with respect to this tensor; may be left
                   out for a single element
    retain_graph   keep the saved values, so that the graph can be walked again
    create_graph   record the gradient computation itself, for higher orders
    inputs         accumulate only into these
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


_backward.__name__ = "backward"
tensor_method(_backward)


@tensor_method
def detach(self: Tensor) -> Tensor:
    """The same elements without history; memory and version counter are shared."""
    made = wrap(self._array)
    made._cell = cell_of(self)
    if self.requires_grad:
        made._cut = Cut.here("detach", "detach")
    else:
        made._cut = self._cut
    if self.is_inference():
        meta_of(made).inference = True
    return made


@tensor_method
def detach_(self: Tensor) -> Tensor:
    """Drop this tensor's own history: it becomes a leaf that requires no gradient."""
    if self._view is not None:
        raise explained(
            RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
                "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
                "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
                "function in torch/optim/optimizer.py as the solution."
            )
        )
    had_grad = self.requires_grad
    forget_history(self)
    if had_grad:
        self._cut = Cut.here("detach", "detach_")
    return self


@tensor_method
def retain_grad(self: Tensor) -> None:
    """Ask for the gradient of a non-leaf: it appears in `.grad` after backward."""
    if not self.requires_grad:
        raise explained(RuntimeError("can't retain_grad on Tensor that has requires_grad=False"))
    if self.is_leaf or self.retains_grad:
        return
    node = self.grad_fn
    assert node is not None
    reference = weakref.ref(self)  # weak: the node must not keep its output alive

    def keep(gradient: Tensor | None) -> None:
        tensor = reference()
        if tensor is None or gradient is None:
            return
        meta = meta_of(tensor)
        if meta.grad is None:
            if STATE.grad_enabled and gradient.requires_grad:
                meta.grad = gradient.clone()
            else:
                meta.grad = wrap(gradient._array.copy())
        else:
            meta.grad = meta.grad + gradient

    extra = extra_of(node)
    if extra.retains is None:
        extra.retains = {}
    extra.retains[self._output_nr] = keep
    meta = meta_of(self)
    meta.retains_grad = True
    meta.retains_number = self._output_nr


@tensor_method
def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Call ``hook(grad)`` when this tensor's gradient is ready; it may return another one."""
    if not self.requires_grad:
        raise explained(
            RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        )
    meta = meta_of(self)
    if meta.hooks is None:
        meta.hooks = HookTable()
        node = self.grad_fn
        if node is not None:  # a leaf's hooks are found through its accumulator
            extra = extra_of(node)
            if extra.tensor_pre is None:
                extra.tensor_pre = []
            extra.tensor_pre.append((self._output_nr, meta.hooks))
    table: HookTable = meta.hooks
    return table.add(hook)


@tensor_method
def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], Any]
) -> RemovableHandle:
    """Call ``hook(tensor)`` after a leaf's `.grad` was updated."""
    if not self.requires_grad:
        raise explained(
            RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        )
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    meta = meta_of(self)
    if meta.post_accumulate_hooks is None:
        meta.post_accumulate_hooks = HookTable()
    table: HookTable = meta.post_accumulate_hooks
    return table.add(hook)


# ----------------------------------------------------------------------------- grad and data


def _get_grad(self: Tensor) -> Tensor | None:
    """The accumulated gradient of a leaf (or of a non-leaf after `retain_grad()`)."""
    meta = self._meta
    found = None if meta is None else meta.grad
    if found is None and self.requires_grad and self.grad_fn is not None and not self.retains_grad:
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
                f'"{type(gradient).__name__}"'
            )
        )
    if gradient is self:
        raise explained(RuntimeError("can't assign Variable as its own grad"))
    if gradient._array.dtype is not self._array.dtype:
        raise failures.assigned_dtype(gradient, self)
    if gradient._array.shape != self._array.shape:
        raise failures.assigned_shape(gradient, self)
    meta_of(self).grad = gradient


def _delete_grad(self: Tensor) -> None:
    _set_grad(self, None)


def _get_data(self: Tensor) -> Tensor:
    """The same elements without history, with a version counter of its own."""
    made = wrap(self._array)
    if self.requires_grad:
        made._cut = Cut.here("data", ".data")
    else:
        made._cut = self._cut
    return made


def _set_data(self: Tensor, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if self._requires_grad and value._array.dtype not in dtypes.DIFFERENTIABLE:
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype"
        )
    meta = self._meta
    if meta is not None and value._array.dtype is not self._array.dtype:
        meta.accumulator = None  # old graphs keep feeding the old accumulator
    self._array = value._array
    if meta is not None and meta.accumulator is not None:
        node = meta.accumulator()
        if node is not None:
            node.shape = value._array.shape


Tensor.grad = property(_get_grad, _set_grad, _delete_grad)  # type: ignore[assignment]
Tensor.data = property(_get_data, _set_data)  # type: ignore[assignment]
