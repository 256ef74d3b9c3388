"""Settings of PyTorch's compiler. They can be set and read, and change nothing here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from collections.abc import Iterator
from contextlib import contextmanager

accumulated_cache_size_limit: int
accumulated_recompile_limit: int
allow_unspec_int_on_nn_module: bool
assume_static_by_default: bool
automatic_dynamic_shapes: bool
cache_size_limit: int
capture_dynamic_output_shape_ops: bool
capture_scalar_outputs: bool
compiled_autograd: bool
disable: bool
dynamic_shapes: bool
error_on_recompile: bool
force_parameter_static_shapes: bool
guard_nn_modules: bool
inline_inbuilt_nn_modules: bool
optimize_ddp: bool
@contextmanager
def patch(
    changes: str | dict[str, object] | None = None,
    value: object = None,
    /,
    **named: object,
) -> Iterator[None]: ...
recompile_limit: int
repro_after: str | None
specialize_float: bool
specialize_int: bool
suppress_errors: bool
verbose: bool
