"""Switches of PyTorch's compiler: there is none, and functions run as they are written.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.namespaces.as_written import decorated
from retrograd.namespaces.as_written import itself
from typing import NoReturn
from typing_extensions import deprecated

from retrograd.nn.optimized import OptimizedModule as OptimizedModule
from retrograd._dynamo import _trace_wrapped_higher_order_op as _trace_wrapped_higher_order_op
allow_in_graph = itself
assume_constant_result = itself
from retrograd._dynamo import config as config
from retrograd.namespaces.as_written import disable as disable
disallow_in_graph = itself
dont_skip_tracing = itself
from retrograd.namespaces.as_written import error_on_graph_break as error_on_graph_break
from retrograd._dynamo import eval_frame as eval_frame
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def explain(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def export(*args: object, **options: object) -> NoReturn: ...
forbid_in_graph = itself
def graph_break(*args: object, **options: object) -> None: 'Leave the compiled graph here: there is none.'
def is_compiling(*args: object, **options: object) -> bool: 'Whether a function is being compiled: no.'
def list_backends(*args: object, **options: object) -> list[str]: 'The compilers that can be chosen: none.'
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def lookup_backend(*args: object, **options: object) -> NoReturn: ...
def mark_dynamic(*args: object, **options: object) -> None: "Say how a tensor's sizes are to be compiled: nothing is compiled."
def mark_static(*args: object, **options: object) -> None: "Say how a tensor's sizes are to be compiled: nothing is compiled."
def mark_static_address(*args: object, **options: object) -> None: "Say how a tensor's sizes are to be compiled: nothing is compiled."
def maybe_mark_dynamic(*args: object, **options: object) -> None: "Say how a tensor's sizes are to be compiled: nothing is compiled."
nonstrict_trace = itself
from retrograd.namespaces.as_written import optimize as optimize
optimize_assert = optimize
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def replay(*args: object, **options: object) -> NoReturn: ...
def reset(*args: object, **options: object) -> None: 'Forget what was compiled: nothing was.'
run = decorated
from retrograd.namespaces.as_written import set_stance as set_stance
from retrograd._dynamo import utils as utils
