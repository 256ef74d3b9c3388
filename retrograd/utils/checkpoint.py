"""Checkpointing: memory for time. What a function saves for backward is computed again instead.

Two implementations, as in PyTorch. With ``use_reentrant=False`` (recommended) the graph is recorded
as usual and only the saved tensors are left out; see `checkpoint_frames`. With
``use_reentrant=True`` the function runs without a graph, and `CheckpointFunction.backward` runs it
again with one and calls backward inside backward.

>>> import retrograd as torch
>>> from retrograd.utils.checkpoint import checkpoint
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> checkpoint(lambda x: (x * x).sum(), x, use_reentrant=False).backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from retrograd import nn
from retrograd.autograd.api import backward
from retrograd.autograd.function import Function
from retrograd.backend.arrays import DType
from retrograd.dtypes import from_numpy_dtype
from retrograd.engine.grad_mode import enable_grad, no_grad
from retrograd.engine.state import STATE
from retrograd.engine.walk import ENGINE
from retrograd.lifecycle.site import user_level, user_site
from retrograd.namespaces import in_table
from retrograd.notices import explained, explained_warning, runtime_error
from retrograd.random.state import from_random_states, random_states
from retrograd.tensor import Tensor
from retrograd.utils.checkpoint_errors import CheckpointError as CheckpointError
from retrograd.utils.checkpoint_errors import debug_text
from retrograd.utils.checkpoint_frames import Frame
from retrograd.utils.checkpoint_frames import GraphExecGroup as GraphExecGroup
from retrograd.utils.checkpoint_selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

Contexts = tuple[AbstractContextManager[object], AbstractContextManager[object]]


class _Settings:
    """What the context managers below set for everybody; None leaves it to each call."""

    early_stop: bool | None = None
    debug: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether recomputations stop as soon as they have all that was saved, for calls inside.

    >>> from retrograd.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> x = torch.ones(1, requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(lambda x: (x.exp(), print("to the end"))[0], x, use_reentrant=False)
    to the end
    >>> y.backward()
    to the end
    """
    before = _Settings.early_stop
    _Settings.early_stop = enable
    try:
        yield
    finally:
        _Settings.early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Whether errors of checkpoints list the ops of both runs; None leaves it to each call.

    >>> from retrograd.utils.checkpoint import set_checkpoint_debug_enabled
    >>> with set_checkpoint_debug_enabled(True):
    ...     pass
    """
    before = _Settings.debug
    _Settings.debug = enabled
    try:
        yield
    finally:
        _Settings.debug = before


def noop_context_fn() -> Contexts:
    """The default `context_fn`: nothing around the forward pass, nothing around recomputation.

    >>> from retrograd.utils.checkpoint import noop_context_fn
    >>> len(noop_context_fn())
    2
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


class DefaultDeviceType:
    """The kind of device whose random state is kept; there is only the CPU's here.

    >>> from retrograd.utils.checkpoint import DefaultDeviceType
    >>> DefaultDeviceType.get_device_type()
    'cpu'
    """

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set the kind of device."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The kind of device."""
        return DefaultDeviceType._default_device_type or "cpu"


def get_device_states(*args: object) -> tuple[list[int], list[Tensor]]:
    """The devices of the arguments, other than the CPU, and their random states: none here.

    >>> from retrograd.utils.checkpoint import get_device_states
    >>> get_device_states(torch.ones(1))
    ([], [])
    """
    return [], []


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Set the random states of devices; without any there is nothing to set.

    >>> from retrograd.utils.checkpoint import set_device_states
    >>> set_device_states([], [])
    """
    if devices:
        raise runtime_error("retrograd does not support random states of devices", code="RG901")


def detach_variable(inputs: tuple[object, ...]) -> tuple[object, ...]:
    """The tensors without their history, requiring grad as before; other things as they are.

    >>> from retrograd.utils.checkpoint import detach_variable
    >>> x = torch.ones(1, requires_grad=True) * 2
    >>> detach_variable((x, 3))
    (tensor([2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise runtime_error(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}",
            code="RG616",
        )
    found: list[object] = []
    for item in inputs:
        if isinstance(item, Tensor):
            cut = item.detach()
            cut.requires_grad = item.requires_grad
            item = cut
        found.append(item)
    return tuple(found)


def check_backward_validity(inputs: Iterable[object]) -> None:
    """Warn where no argument requires a gradient: a reentrant checkpoint then gives none.

    >>> from retrograd.utils.checkpoint import check_backward_validity
    >>> check_backward_validity([torch.ones(1, requires_grad=True)])
    """
    if not any(item.requires_grad for item in inputs if isinstance(item, Tensor)):
        warnings.warn(
            explained_warning(
                "None of the inputs have requires_grad=True. Gradients will be None", code="RG616"
            ),
            stacklevel=user_level(),
        )


# ------------------------------------------------------------------------------------ the call


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call a function so that what it saves for backward is computed again when it is needed.

    >>> from retrograd.utils.checkpoint import checkpoint
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = checkpoint(lambda x: x.exp().log(), x, use_reentrant=False)
    >>> torch.autograd.grad(y, x)
    (tensor(1.),)
    """
    if use_reentrant is None:
        warnings.warn(
            explained_warning(
                "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
                "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
                "exception. use_reentrant=False is recommended, but if you need to preserve the "
                "current default behavior, you can pass use_reentrant=True. Refer to docs for more "
                "details on the differences between the two variants.",
                code="RG616",
            ),
            stacklevel=user_level(),
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise explained(
                ValueError(
                    "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
                ),
                code="RG616",
            )
        return CheckpointFunction.apply(function, preserve, *args)
    explain = None
    if debug if _Settings.debug is None else _Settings.debug:
        if context_fn is not noop_context_fn:
            raise explained(
                ValueError("debug=True is incompatible with non-default context_fn"), code="RG616"
            )
        logs = _OpLogs()
        context_fn, explain = logs.contexts, logs.explain
    if determinism_check not in _DESCRIBERS:
        raise explained(
            ValueError(
                f"determinism_check should be one of {list(_DESCRIBERS)}, but got "
                f"{determinism_check}"
            ),
            code="RG616",
        )
    forward_context, recompute_context = context_fn()
    states = random_states() if preserve else None
    autocast = _Autocast()

    def recompute(*inputs: object) -> None:
        with from_random_states(states), autocast.again(), recompute_context:
            function(*inputs, **kwargs)

    if not STATE.grad_enabled:
        return function(*args, **kwargs)
    frame = Frame(
        args,
        recompute,
        early_stop=early_stop if _Settings.early_stop is None else _Settings.early_stop,
        describe=_DESCRIBERS[determinism_check],
        explain=explain,
    )
    finished = False
    with frame.hooks(), forward_context:
        result = function(*args, **kwargs)
        finished = True
    if not finished:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an "
            "exception raised during the checkpointed forward. This is not supported because "
            "checkpoint cannot return a value for a failed forward."
        )
    frame.completed = True
    return result


class _Autocast:
    """The autocast of the forward pass, for the recomputation."""

    def __init__(self) -> None:
        self.lower = self._now()
        self.cached = STATE.autocast_cache

    @staticmethod
    def _now() -> dict[str, DType | None]:
        return {"cpu": STATE.autocast, "cuda": STATE.autocast_device}

    def again(self) -> AbstractContextManager[object]:
        now = self._now()
        stack = contextlib.ExitStack()
        from retrograd.amp import autocast

        for kind, lower in self.lower.items():
            if lower != now[kind] or self.cached != STATE.autocast_cache:
                dtype = None if lower is None else from_numpy_dtype(lower)
                if kind == "cpu" or dtype is not None or now[kind] is not None:
                    stack.enter_context(autocast(kind, dtype, dtype is not None, self.cached))
        return stack


def _describe(tensor: Tensor) -> dict[str, object]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_DESCRIBERS: dict[str, Callable[[Tensor], object]] = {
    "default": _describe,
    "none": lambda tensor: None,
}


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: object,
    use_reentrant: bool | None = None,
    **kwargs: object,
) -> Any:
    """Run modules one after the other, in `segments` parts; all but the last are checkpointed.

    >>> from retrograd.utils.checkpoint import checkpoint_sequential
    >>> x = torch.ones(1, requires_grad=True)
    >>> checkpoint_sequential([torch.exp, torch.log], 2, x, use_reentrant=False).backward()
    >>> x.grad
    tensor([1.])
    """
    if use_reentrant is None:
        warnings.warn(
            explained_warning(
                "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should "
                "be passed explicitly. In version 2.9 we will raise an exception if use_reentrant "
                "is not passed. use_reentrant=False is recommended, but if you need to preserve "
                "the current default behavior, you can pass use_reentrant=True. Refer to docs for "
                "more details on the differences between the two variants.",
                code="RG616",
            ),
            stacklevel=user_level(),
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if isinstance(functions, nn.Sequential) else functions

    def part(start: int, end: int) -> Callable[[Any], Any]:
        def forward(value: Tensor) -> Tensor:
            for step in steps[start:end]:
                value = step(value)
            return value

        return forward

    size = len(steps) // segments
    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(
            part(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return part(end, len(steps))(input)


# ----------------------------------------------------------------------------------- reentrant


class CheckpointFunction(Function):
    """``use_reentrant=True``: forward without a graph, backward through a graph of its own."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        """Run the function without recording."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_states = random_states() if preserve_rng_state else None
        ctx.autocast = _Autocast()
        ctx.others = [None if isinstance(item, Tensor) else item for item in args]
        ctx.places = [place for place, item in enumerate(args) if isinstance(item, Tensor)]
        ctx.save_for_backward(*[args[place] for place in ctx.places])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """Run the function again, recording, and its backward."""
        if not ENGINE.is_checkpoint_valid():
            raise runtime_error(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() "
                "or passing an `inputs` parameter to .backward(). To resolve this error, you "
                "can either set use_reentrant=False, or call .backward() without passing the "
                "`inputs` argument.",
                code="RG616",
            )
        inputs = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[place] = tensor
        detached = detach_variable(tuple(inputs))
        with from_random_states(ctx.random_states), enable_grad(), ctx.autocast.again():
            outputs = ctx.run_function(*detached)
        if isinstance(outputs, Tensor):
            outputs = (outputs,)
        pairs = [
            (output, gradient)
            for output, gradient in zip(outputs, args, strict=False)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise runtime_error(
                "none of output has requires_grad=True, this checkpoint() is not necessary",
                code="RG616",
            )
        backward([output for output, _ in pairs], [gradient for _, gradient in pairs])
        found = (item.grad if isinstance(item, Tensor) else None for item in detached)
        return (None, None, *found)


# --------------------------------------------------------------------------------------- debug


class _OpLogs:
    """The ops of the forward pass and of the last recomputation, with their lines."""

    def __init__(self) -> None:
        self.forward: list[tuple[str, object]] = []
        self.again: list[tuple[str, object]] = []

    def contexts(self) -> Contexts:
        return _Watching(self.forward), _Watching(self.again)

    def explain(self, error: CheckpointError) -> CheckpointError:
        longer = CheckpointError(debug_text(self.forward, self.again))
        longer.code, longer.report = error.code, error.report
        for note in getattr(error, "__notes__", ()):
            longer.add_note(note)
        return longer


class _Watching:
    """``with _Watching(log):`` every op of this thread is written down."""

    def __init__(self, log: list[tuple[str, object]]) -> None:
        self.log = log

    def __enter__(self) -> None:
        self.log.clear()
        self._before = STATE.op_watcher
        STATE.op_watcher = self._note

    def __exit__(self, *exception: object) -> None:
        STATE.op_watcher = self._before

    def _note(self, op: Any, args: tuple[Any, ...]) -> None:
        shown = [
            f"{item.dtype.name}{list(item.shape)}" if isinstance(item, Tensor) else repr(item)
            for item in args
        ]
        self.log.append((f"{op.label}({', '.join(shown)})", user_site(2)))


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in __all__:  # selective checkpointing brings the names of all ops with it
            from retrograd.utils import checkpoint_selective

            return getattr(checkpoint_selective, name)
        return in_table(__name__, name)
