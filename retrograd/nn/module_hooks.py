"""The hooks of modules: how they are registered, and a call of a module that has some."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from retrograd.engine.hooks import RemovableHandle
from retrograd.lifecycle.site import user_level
from retrograd.tensor import Tensor

if TYPE_CHECKING:
    from retrograd.nn.module import Module

Hook = Callable[..., Any]

# the hooks of all modules
BUFFER_REGISTRATION: OrderedDict[int, Hook] = OrderedDict()
MODULE_REGISTRATION: OrderedDict[int, Hook] = OrderedDict()
PARAMETER_REGISTRATION: OrderedDict[int, Hook] = OrderedDict()
FORWARD_PRE: OrderedDict[int, Hook] = OrderedDict()
FORWARD: OrderedDict[int, Hook] = OrderedDict()
FORWARD_WITH_KWARGS: OrderedDict[int, bool] = OrderedDict()
FORWARD_ALWAYS_CALLED: OrderedDict[int, bool] = OrderedDict()
BACKWARD_PRE: OrderedDict[int, Hook] = OrderedDict()
BACKWARD: OrderedDict[int, Hook] = OrderedDict()


class _Kind:
    """Whether the backward hooks of all modules are full ones; None until the first is there."""

    full: bool | None = None


class WrappedHook:
    """A hook that is called with its module, which it does not keep alive, and can be pickled."""

    def __init__(self, hook: Hook, module: object = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


def registered(kind: OrderedDict[int, Hook], module: Module, name: str, value: object) -> Any:
    """What the registration hooks of all modules make of a new part of a module."""
    for hook in kind.values():
        changed = hook(module, name, value)
        if changed is not None:
            value = changed
    return value


def add_hook(
    table: OrderedDict[int, Hook],
    hook: Hook,
    marks: tuple[tuple[OrderedDict[int, bool], bool], ...] = (),
    prepend: bool = False,
) -> RemovableHandle:
    """Enter a hook, and the facts about it that hold in tables beside."""
    handle = RemovableHandle(table, extra_dict=[beside for beside, _ in marks])
    table[handle.id] = hook
    for beside, holds in marks:
        if holds:
            beside[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


# ------------------------------------------------------------------------ hooks of all modules


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when any module gets a buffer; it may give another."""
    return add_hook(BUFFER_REGISTRATION, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when any module gets one; it may give another."""
    return add_hook(MODULE_REGISTRATION, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when any module gets one; it may give another."""
    return add_hook(PARAMETER_REGISTRATION, hook)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, args)`` before the `forward` of every module."""
    return add_hook(FORWARD_PRE, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the `forward` of every module.

    >>> from retrograd.nn.module import register_module_forward_hook
    >>> def show(module, args, output):
    ...     print(type(module).__name__, tuple(output.shape))
    >>> with register_module_forward_hook(show):
    ...     _ = torch.nn.Linear(2, 3)(torch.ones(4, 2))
    Linear (4, 3)
    """
    marks = ((FORWARD_WITH_KWARGS, with_kwargs), (FORWARD_ALWAYS_CALLED, always_call))
    return add_hook(FORWARD, hook, marks)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` when a backward reaches the results of any module."""
    return add_hook(BACKWARD_PRE, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` when a backward has passed any module."""
    return _add_backward(hook, full=True)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """The older form, which sees only the last operation of a module."""
    return _add_backward(hook, full=False)


def _add_backward(hook: Hook, full: bool) -> RemovableHandle:
    if _Kind.full is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them."
        )
    _Kind.full = full
    return add_hook(BACKWARD, hook)


# ------------------------------------------------------------------------ hooks of one module


class HookMethods:
    """The methods of a Module that register hooks."""

    _forward_hooks: OrderedDict[int, Hook]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _backward_hooks: OrderedDict[int, Hook]
    _backward_pre_hooks: OrderedDict[int, Hook]
    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before `forward`; it may return other arguments.

        with_kwargs  call ``hook(module, args, kwargs)``, which may return both
        prepend      before the hooks that are there
        """
        marks = ((self._forward_pre_hooks_with_kwargs, with_kwargs),)
        return add_hook(self._forward_pre_hooks, hook, marks, prepend)

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after `forward`; it may return another output.

        with_kwargs  call ``hook(module, args, kwargs, output)``
        always_call  also when the call raises an error
        prepend      before the hooks that are there

        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output + 1)
        >>> layer(torch.tensor([-1.0, 1.0]))
        tensor([1., 2.])
        """
        marks = (
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
        )
        return add_hook(self._forward_hooks, hook, marks, prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when a backward reaches the module's results."""
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when a backward has passed the module.

        It may return other gradients of the inputs.

        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_full_backward_hook(lambda module, into, out: (into[0] * 5,))
        >>> x = torch.ones(1, requires_grad=True)
        >>> layer(x).backward()
        >>> x.grad
        tensor([5.])
        """
        return self._add_backward_hook(hook, full=True, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """The older form, which sees only the module's last operation."""
        return self._add_backward_hook(hook, full=False, prepend=False)

    def _add_backward_hook(self, hook: Hook, full: bool, prepend: bool) -> RemovableHandle:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._is_full_backward_hook = full
        return add_hook(self._backward_hooks, hook, prepend=prepend)


# ------------------------------------------------------------------------ calling


def call_with_hooks(module: Module, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
    """Call a module, and the hooks around its `forward`."""
    call = _HookedCall(module, args, kwargs)
    try:
        return call.run()
    except Exception:
        call.run_remaining()
        raise


class _HookedCall:
    """One call: its arguments and result, which hooks may replace."""

    def __init__(self, module: Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.called: set[int] = set()

    def run(self) -> Any:
        """The whole call."""
        from retrograd.nn.backward_hook import BackwardHook

        module = self.module
        pre = [*BACKWARD_PRE.values(), *module._backward_pre_hooks.values()]
        full = self._backward_hooks(True)
        older = self._backward_hooks(False)
        self._before()
        around = BackwardHook(module, full, pre) if full or pre else None
        if around is not None:
            self.args = around.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for number, hook in (*FORWARD.items(), *module._forward_hooks.items()):
            self._after(number, hook)
        if around is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple "
                    f"of Tensors but received {type(self.result)}",
                    stacklevel=user_level(),
                )
            self.result = around.setup_output_hook(self.result)
        if older:
            self._hook_last_node(older)
        return self.result

    def _backward_hooks(self, full: bool) -> list[Hook]:
        shared = BACKWARD.values() if _Kind.full is full else ()
        own = self.module._backward_hooks.values()
        return [*shared, *(own if self.module._is_full_backward_hook is full else ())]

    def _before(self) -> None:
        module = self.module
        for number, hook in (*FORWARD_PRE.items(), *module._forward_pre_hooks.items()):
            if number not in module._forward_pre_hooks_with_kwargs:
                changed = hook(module, self.args)
                if changed is not None:
                    self.args = changed if isinstance(changed, tuple) else (changed,)
                continue
            changed = hook(module, self.args, self.kwargs)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                    f"got {changed}."
                )
            self.args, self.kwargs = changed

    def _after(self, number: int, hook: Hook) -> None:
        self.called.add(number)
        module = self.module
        if number in FORWARD_WITH_KWARGS or number in module._forward_hooks_with_kwargs:
            changed = hook(module, self.args, self.kwargs, self.result)
        else:
            changed = hook(module, self.args, self.result)
        if changed is not None:
            self.result = changed

    def run_remaining(self) -> None:
        """After an error: the hooks that want to be called in any case and were not."""
        module = self.module
        for number, hook in (*FORWARD.items(), *module._forward_hooks.items()):
            shared = number in FORWARD_ALWAYS_CALLED
            if number in self.called or not (
                shared or number in module._forward_hooks_always_called
            ):
                continue
            try:
                self._after(number, hook)
            except Exception as error:
                warnings.warn(
                    f"{'global ' if shared else ''}module forward hook with ``always_call=True`` "
                    "raised an exception that was silenced as another error was raised in "
                    f"forward: {error}",
                    stacklevel=user_level(),
                )

    def _hook_last_node(self, hooks: list[Hook]) -> None:
        """Put the hooks of the older form on the node of the first tensor among the results."""
        tensor = self.result
        while not isinstance(tensor, Tensor):
            if isinstance(tensor, dict):
                tensor = next(value for value in tensor.values() if isinstance(value, Tensor))
            else:
                tensor = tensor[0]
        node = tensor.grad_fn
        if node is not None:
            for hook in hooks:
                node.register_hook(WrappedHook(hook, self.module))
            shortcoming = _shortcoming(self.args, self.result, node)
            if shortcoming is not None:
                warnings.warn(shortcoming, FutureWarning, stacklevel=user_level())


def _shortcoming(args: tuple[Any, ...], result: object, node: Any) -> str | None:
    """What a hook of the older form will not see, where it does not see all."""
    results = (result,) if isinstance(result, Tensor) else result
    if not isinstance(results, tuple) or not all(isinstance(part, Tensor) for part in results):
        return (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a "
            "tuple of Tensors is deprecated and will be removed in future versions. This hook will "
            "be missing some of the grad_output. Please use register_full_backward_hook to get the "
            "documented behavior."
        )
    if not all(isinstance(part, Tensor) for part in args):
        return (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor "
            "or a tuple of Tensors is deprecated and will be removed in future versions. This hook "
            "will be missing some of the grad_input. Please use register_full_backward_hook to get "
            "the documented behavior."
        )
    ends = {part.grad_fn for part in results if part.grad_fn is not None}
    if len(ends) > 1:
        return (
            "Using a non-full backward hook when outputs are generated by different autograd Nodes "
            "is deprecated and will be removed in future versions. This hook will be missing some "
            "grad_output. Please use register_full_backward_hook to get the documented behavior."
        )
    starts = {part.grad_fn for part in args if part.grad_fn is not None}
    if starts != {following for following, _ in node.next_functions}:
        return (
            "Using a non-full backward hook when the forward contains multiple autograd Nodes is "
            "deprecated and will be removed in future versions. This hook will be missing some "
            "grad_input. Please use register_full_backward_hook to get the documented behavior."
        )
    return None
