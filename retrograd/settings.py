"""Switches of the whole program that programs for PyTorch set: threads, determinism, devices."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from retrograd.above import above
from retrograd.backend import NAMED, threads
from retrograd.backend.precision import PRECISION
from retrograd.notices import notice
from retrograd.ops.determinism import DETERMINISM
from retrograd.ops.errors import argument_type
from retrograd.ops.registry import attach
from retrograd.signatures import forms
from retrograd.tensor.size import Device, default_device, device, set_default
from retrograd.tensor.size import device as _device


class _Settings:
    threads = threads.at_start()
    interop_threads = 1


_settings = _Settings()


def _publish(function: Callable[..., Any]) -> Callable[..., Any]:
    attach(function, public=(function.__name__,))
    return function


@_publish
def get_num_threads() -> int:
    """How many threads work on large arrays: at first ``OMP_NUM_THREADS``, or every core."""
    return _settings.threads


@_publish
def set_num_threads(num: int) -> None:
    """Work on large arrays, and on products of matrices, in so many threads from now on.

    Results have the same bits whatever the number, but for products, whose order is BLAS's.
    """
    if not isinstance(num, int):
        raise TypeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _settings.threads = num
    threads.use(num)


@_publish
def get_num_interop_threads() -> int:
    """How many threads run independent operations: one, unless another number was set."""
    return _settings.interop_threads


@_publish
def set_num_interop_threads(num: int) -> None:
    """Note a number of threads for independent operations; they run one after the other."""
    if num <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _settings.interop_threads = num


@_publish
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for the same result on every run, which is the case already.

    What PyTorch has no deterministic algorithm for on the CPU, `put_` without `accumulate` and
    `max_unpool`, raises here too, or warns with `warn_only`; and new memory is filled
    (`torch.utils.deterministic`).
    """
    if not isinstance(mode, bool):
        raise argument_type("_set_deterministic_algorithms", "mode", 1, "bool", mode)
    if not isinstance(warn_only, bool):
        raise TypeError(
            "_set_deterministic_algorithms(): argument 'warn_only' must be bool, not "
            f"{type(warn_only).__name__}"
        )
    DETERMINISM.enabled, DETERMINISM.warn_only = mode, warn_only


@_publish
def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was last told."""
    return DETERMINISM.enabled


@_publish
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What `use_deterministic_algorithms` was last told about `warn_only`."""
    return DETERMINISM.warn_only


@_publish
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by number or word: 0 "default", 1 "warn", 2 "error"."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{debug_mode}"
            )
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


_DEBUG_MODES = ("default", "warn", "error")


@_publish
def get_deterministic_debug_mode() -> int:
    """What `set_deterministic_debug_mode` was last told, as a number."""
    if not DETERMINISM.enabled:
        return 0
    return 1 if DETERMINISM.warn_only else 2


@_publish
def set_flush_denormal(mode: bool) -> bool:
    """Ask for very small numbers to become zero; False, because that cannot be chosen here."""
    if not isinstance(mode, bool):
        raise TypeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return False


@_publish
def set_float32_matmul_precision(precision: str) -> None:
    """Note a precision of float32 products; they are always computed in full precision."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"Unknown float32_matmul_precision: {precision}")
    PRECISION.products = precision


@_publish
def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was last told."""
    return PRECISION.products


@_publish
def set_default_device(device: Device) -> None:
    """Choose where this thread's new tensors go; None is the CPU."""
    set_default(None if device is None else _device(device))


@_publish
def get_default_device() -> device:
    """Where new tensors go."""
    where = default_device()
    if where.type == "cpu" or where.index is not None:
        return where
    return _device(where.type, NAMED[where.type].current)


@_publish
@forms(
    "(model: None = None, **options: object) -> Callable[[F], F]",
    "(model: F, **options: object) -> F",
)
def compile(model: object = None, **options: object) -> Any:
    """A function that is replayed where it can be, or a module around the model, as PyTorch's.

    A function that does a whole step (forward, backward, optimizer) runs from a plan, see `replay`;
    what leaves a graph behind, as a model does, runs as it is written.

    >>> @torch.compile
    ... def double(x):
    ...     return x * 2
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    notice("torch.compile", "whole steps are replayed; models and parts of steps run as written")
    if model is None:
        return compile
    from retrograd.nn.module import Module
    from retrograd.nn.optimized import OptimizedModule

    if isinstance(model, Module) and not isinstance(model, OptimizedModule):
        return OptimizedModule(model)
    return model if isinstance(model, Module) or not callable(model) else replayed(model)


@above
def replayed(step: Callable[..., Any]) -> Any:
    """A step that runs from a plan."""
    raise NotImplementedError


def parallel_info() -> str:
    """How many threads there are, in lines."""
    return (
        f"retrograd:\n\tget_num_threads() : {get_num_threads()}\n"
        f"\tget_num_interop_threads() : {get_num_interop_threads()}\n"
        f"os.cpu_count() : {os.cpu_count()}\n"
    )
