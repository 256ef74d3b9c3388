"""Timed versions of the public functions that are no single op: `randn`, `linear`, `matmul` ...

They are plain functions without a place to time them from, and must not pay for one. So while a
session runs, the public names (and the methods of Tensor) lead to timed versions of them.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from retrograd.above import above
from retrograd.autograd.profiling.recorder import CURRENT, USER
from retrograd.core import python_function

_MODULES = {
    "torch": ("retrograd", ""),
    "nn.functional": ("retrograd.nn.functional", ""),
    "fft": ("retrograd.fft", "fft_"),
    "linalg": ("retrograd.linalg", "linalg_"),
    "special": ("retrograd.special", "special_"),
}

# Functions that compute nothing, and those that are Python code in PyTorch too: they have no
# events of their own, only those of what they call.
_WITHOUT_EVENTS = frozenset(
    """
    adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices
    adaptive_max_pool3d_with_indices affine_grid are_deterministic_algorithms_enabled
    as_tensor asarray broadcast_shapes compile dropout1d dropout2d dropout3d fold from_dlpack
    from_numpy frombuffer gaussian_nll_loss get_default_device get_float32_matmul_precision
    get_num_interop_threads get_num_threads grid_sample gumbel_softmax interpolate is_complex
    is_conj is_deterministic_algorithms_warn_only_enabled is_floating_point is_inference
    is_neg is_signed is_storage is_tensor legacy_reduction local_response_norm lp_pool1d
    lp_pool2d lp_pool3d lu max_unpool1d multi_head_attention_forward
    multilabel_soft_margin_loss normalize numel result_type set_default_device
    set_float32_matmul_precision set_num_interop_threads set_num_threads softmin softsign
    tanhshrink tensor triplet_margin_with_distance_loss typename unique unravel_index upsample
    upsample_bilinear upsample_nearest use_deterministic_algorithms
    """.split()
)

_NAMES = {"__matmul__": "matmul", "cross_entropy": "cross_entropy_loss", "_range": "range"}

# Methods that are no public function; the others that PyTorch times are ops of their own.
_METHODS = (
    *("__matmul__", "expand", "item", "permute", "repeat", "reshape", "split", "to", "view"),
    "where",
)


def timed_names() -> Callable[[], None]:
    """Put timed versions in place; returns what puts the plain ones back."""
    from retrograd.ops.registry import OPS, PUBLIC
    from retrograd.tensor import Tensor

    timed_already = {python_function(op.function) for op in OPS.values()}
    timed_already |= {python_function(op.inplace_function) for op in OPS.values()}
    versions: dict[object, Callable[..., Any]] = {}
    places: list[
        tuple[object, str, Callable[..., Any]]
    ] = []  # who has the name, the name, the plain function

    def version(function: Any, name: str) -> Any:
        own = python_function(function)
        if own not in versions:
            versions[own] = _timed(function, f"aten::{_NAMES.get(name, name)}")
        return versions[own]

    for namespace, table in PUBLIC.items():
        module_name, prefix = _MODULES[namespace]
        module = importlib.import_module(module_name)
        for name, function in table.items():
            if not isinstance(function, FunctionType):
                continue
            if python_function(function) in timed_already:
                continue
            if function.__name__ in _WITHOUT_EVENTS or vars(module).get(name) is not function:
                continue
            places.append((module, name, function))
            setattr(module, name, version(function, prefix + function.__name__))
    for name, function in list(vars(Tensor).items()):
        own = python_function(function)
        if not isinstance(function, FunctionType) or own in timed_already:
            continue
        if own in versions or name in _METHODS:
            places.append((Tensor, name, function))
            setattr(Tensor, name, version(function, name))
    places += _timed_classes()

    def put_back() -> None:
        for owner, name, function in places:
            setattr(owner, name, function)

    return put_back


def _timed(plain: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(plain)
    def timed(*args: object, **options: object) -> Any:
        recorder = CURRENT.recorder
        if recorder is None:
            return plain(*args, **options)
        values = _in_order(plain, args, options) if recorder.shapes else ()
        record = recorder.begin_op(name, None, values)
        made = 0
        try:
            result = plain(*args, **options)
            if result is NotImplemented:  # an operator that is left to the other operand
                recorder.forget(record)
                return result
            if getattr(result, "_grad_fn", None) is not None:
                record.sequence = result._grad_fn.sequence
            elif recorder.memory and not record.memory and not _is_given(result, args, options):
                made = getattr(getattr(result, "_array", None), "nbytes", 0)
        finally:
            recorder.end(record, made)
        return result

    return timed


def _in_order(function: Any, args: tuple[Any, ...], options: dict[str, object]) -> tuple[Any, ...]:
    """The arguments of a call in the order of the parameters, up to the last that was given."""
    try:
        bound = inspect.signature(function).bind(*args, **options)
    except TypeError:
        return args  # the call itself will say what is wrong
    given = list(bound.arguments)
    bound.apply_defaults()
    names = list(bound.arguments)
    last = names.index(given[-1]) + 1 if given else 0
    return tuple([bound.arguments[name] for name in names[:last]])


def _is_given(result: object, args: tuple[object, ...], options: dict[str, object]) -> bool:
    """Whether a result is one of the arguments, or a view: then it is no new memory."""
    if any(result is value for value in (*args, *options.values())):
        return True
    return getattr(result, "_view", None) is not None


@above
def optimizer_kinds() -> list[type]:
    """`Optimizer` and all its subclasses."""
    raise NotImplementedError


def _timed_classes() -> list[tuple[object, str, Callable[..., Any]]]:
    """The same for steps of optimizers and for calls of the user's own Functions."""
    from retrograd.autograd import function

    places: list[tuple[object, str, Callable[..., Any]]] = [
        (function, "call_function", function.call_function)
    ]
    setattr(function, "call_function", _timed_function(function.call_function))  # noqa: B010
    for kind in optimizer_kinds():
        for name in ("step", "zero_grad"):
            plain = vars(kind).get(name)
            if isinstance(plain, FunctionType):
                places.append((kind, name, plain))
                setattr(kind, name, _timed_step(plain))
    return places


def _timed_function(plain: Callable[..., object]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def call_function(kind: Any, *args: Any) -> Any:
        recorder = CURRENT.recorder
        if recorder is None:
            return plain(kind, *args)
        record = recorder.begin(kind.__name__)
        try:
            return plain(kind, *args)
        finally:
            recorder.end(record)

    return call_function


def _timed_step(plain: Callable[..., object]) -> Callable[..., Any]:
    label = plain.__name__

    @functools.wraps(plain)
    def timed(self: object, *args: object, **options: object) -> Any:
        recorder = CURRENT.recorder
        if recorder is None:
            return plain(self, *args, **options)
        record = recorder.begin(f"Optimizer.{label}#{type(self).__name__}.{label}", USER)
        try:
            return plain(self, *args, **options)
        finally:
            recorder.end(record)

    return timed
