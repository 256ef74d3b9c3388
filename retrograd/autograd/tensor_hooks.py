"""Hooks of tensors: `register_hook`, `retain_grad`, `register_post_accumulate_grad_hook`."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable

from retrograd.engine import failures
from retrograd.engine.hooks import RemovableHandle
from retrograd.engine.node import extra_of
from retrograd.engine.state import STATE
from retrograd.notices import runtime_error
from retrograd.tensor import Tensor, TensorHooks, meta_of, tensor_member, tensor_method, wrap


@tensor_method
def retain_grad(self: Tensor) -> None:
    """Ask for the gradient of a non-leaf: it appears in `.grad` after backward.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> y = x * 2
    >>> y.retain_grad()
    >>> (y * y).backward()
    >>> y.grad
    tensor(12.)
    """
    if not self.requires_grad:
        raise runtime_error(
            "can't retain_grad on Tensor that has requires_grad=False", code="RG114"
        )
    if STATE.transforms:
        raise failures.retained_in_transform()
    view = self._view
    if view is not None and view.creation is not None and self._grad_fn is None:
        return  # it never had a history, and cannot get one
    if self.retains_grad or self.is_leaf or self.grad_fn is None:
        return
    node = self._grad_fn
    assert node is not None
    reference = weakref.ref(self)  # weak: the node must not keep its output alive

    def keep(gradient: Tensor | None) -> None:
        tensor = reference()
        if tensor is None or gradient is None:
            return
        meta = meta_of(tensor)
        if meta.grad is None:
            recorded = STATE.grad_enabled and gradient.requires_grad
            meta.grad = gradient.clone() if recorded or _special(gradient) else _copy_of(gradient)
        else:
            meta.grad = meta.grad + gradient

    extra = extra_of(node)
    if extra.retains is None:
        extra.retains = {}
    extra.retains[self._output_nr] = keep
    meta = meta_of(self)
    meta.retains_grad = True
    meta.retains_number = self._output_nr


def _special(gradient: Tensor) -> bool:
    """Batched, or with tangents: only an op copies all of it."""
    return bool(gradient._level or (gradient._meta is not None and gradient._meta.tangents))


def _copy_of(gradient: Tensor) -> Tensor:
    return wrap(gradient._array.copy())


@tensor_method
def register_hook(self: Tensor, hook: Callable[[Tensor], object]) -> RemovableHandle:
    """Call ``hook(grad)`` when this tensor's gradient is ready; it may return another one.

    The handle that comes back removes the hook.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 10)
    >>> (x * x).backward()
    >>> x.grad
    tensor(60.)
    >>> handle.remove()
    """
    if not self.requires_grad:
        raise runtime_error(
            "cannot register a hook on a tensor that doesn't require gradient", code="RG114"
        )
    meta = meta_of(self)
    if meta.hooks is None:
        meta.hooks = OrderedDict()
        # a leaf's hooks are found through its accumulator; reading `grad_fn` may renew a view's,
        # which forgets the table of the node before
        if self.grad_fn is not None:
            meta.hooks = OrderedDict()
            node = self._grad_fn
            assert node is not None
            node._register_hook_dict(self)
    handle = RemovableHandle(meta.hooks)
    meta.hooks[handle.id] = hook
    return handle


@tensor_method
def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], object]
) -> RemovableHandle:
    """Call ``hook(tensor)`` after a leaf's `.grad` was updated.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda p: p.sub_(0.1 * p.grad))
    >>> (x * x).sum().backward()
    >>> x
    tensor([0.8000, 1.6000], requires_grad=True)
    """
    if not self.requires_grad:
        raise runtime_error(
            "cannot register a hook on a tensor that doesn't require gradient", code="RG114"
        )
    if self.grad_fn is not None:
        raise runtime_error(
            "post accumulate grad hooks cannot be registered on non-leaf tensors", code="RG114"
        )
    meta = meta_of(self)
    if meta.post_accumulate_hooks is None:
        meta.post_accumulate_hooks = OrderedDict()
    handle = RemovableHandle(meta.post_accumulate_hooks)
    meta.post_accumulate_hooks[handle.id] = hook
    return handle


# ------------------------------------------------------------------------ the tables themselves


def _get_hooks(self: Tensor) -> TensorHooks | None:
    return None if self._meta is None else self._meta.hooks


def _set_hooks(self: Tensor, table: TensorHooks | None) -> None:
    """As in PyTorch a new table takes effect on a leaf; a non-leaf's node keeps the old one."""
    meta_of(self).hooks = table


def _get_post_accumulate_hooks(self: Tensor) -> TensorHooks | None:
    return None if self._meta is None else self._meta.post_accumulate_hooks


def _set_post_accumulate_hooks(self: Tensor, table: TensorHooks | None) -> None:
    meta_of(self).post_accumulate_hooks = table


def _delete_hooks(self: Tensor) -> None:
    raise RuntimeError("Deletion of _backwards_hooks not allowed!")


tensor_member("_backward_hooks", property(_get_hooks, _set_hooks, _delete_hooks))
tensor_member(
    "_post_accumulate_grad_hooks",
    property(_get_post_accumulate_hooks, _set_post_accumulate_hooks),
)
