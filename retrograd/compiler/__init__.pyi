"""PyTorch's compiler, as seen from a program that runs as it is written: it changes nothing.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.namespaces.as_written import decorated
from retrograd.namespaces.as_written import itself
from typing import NoReturn
from typing_extensions import deprecated

allow_in_graph = itself
assume_constant_result = itself
from retrograd.settings import compile as compile
from retrograd.compiler import config as config
def cudagraph_mark_step_begin(*args: object, **options: object) -> None: 'Say that a step begins: without a compiler nobody asks.'
from retrograd.namespaces.as_written import disable as disable
from retrograd.namespaces.told import get_default_backend as get_default_backend
def is_compiling(*args: object, **options: object) -> bool: 'Whether a function is being compiled: no.'
def is_dynamo_compiling(*args: object, **options: object) -> bool: 'Whether a function is being compiled: no.'
def is_exporting(*args: object, **options: object) -> bool: 'Whether a model is being exported: no.'
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def keep_portable_guards_unsafe(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def keep_tensor_guards_unsafe(*args: object, **options: object) -> NoReturn: ...
def list_backends(*args: object, **options: object) -> list[str]: 'The compilers that can be chosen: none.'
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def load_cache_artifacts(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def load_compiled_function(*args: object, **options: object) -> NoReturn: ...
nested_compile_region = decorated
def reset(*args: object, **options: object) -> None: 'Forget what was compiled: nothing was.'
def save_cache_artifacts(*args: object, **options: object) -> tuple[bytes, object] | None: 'What was compiled, for another process: nothing was, so None.'
from retrograd.namespaces.told import set_default_backend as set_default_backend
def set_enable_guard_collectives(*args: object, **options: object) -> bool: 'Note a setting; returns False, as it was.'
from retrograd.namespaces.as_written import set_stance as set_stance
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def skip_all_guards_unsafe(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def skip_guard_on_all_nn_modules_unsafe(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def skip_guard_on_globals_unsafe(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def skip_guard_on_inbuilt_nn_modules_unsafe(*args: object, **options: object) -> NoReturn: ...
from retrograd.namespaces.as_written import substitute_in_graph as substitute_in_graph
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def wrap_numpy(*args: object, **options: object) -> NoReturn: ...
