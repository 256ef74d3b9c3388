"""What the table of names has for `torch.jit`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.jit import script_if_tracing
from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

__all__ = ['CompilationUnit', 'RecursiveScriptModule', 'ScriptFunction', 'TopLevelTracedModule', '_script_if_tracing', 'export_opnames', 'jit_module_from_flatbuffer', 'load', 'save', 'save_jit_module_to_flatbuffer']
class CompilationUnit:
    @deprecated("Not supported: there is no TorchScript; keep the model's class in Python, and its weights with torch.save(model.state_dict(), file).")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class RecursiveScriptModule:
    @deprecated("Not supported: there is no TorchScript; keep the model's class in Python, and its weights with torch.save(model.state_dict(), file).")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ScriptFunction:
    @deprecated("Not supported: there is no TorchScript; keep the model's class in Python, and its weights with torch.save(model.state_dict(), file).")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class TopLevelTracedModule:
    @deprecated("Not supported: there is no TorchScript; keep the model's class in Python, and its weights with torch.save(model.state_dict(), file).")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
_script_if_tracing = script_if_tracing
@deprecated("Not supported: there is no TorchScript; keep the model's class in Python, and its weights with torch.save(model.state_dict(), file).")
def export_opnames(*args: object, **options: object) -> NoReturn: ...
@deprecated("Not supported: there is no TorchScript; keep the model's class in Python, and its weights with torch.save(model.state_dict(), file).")
def jit_module_from_flatbuffer(*args: object, **options: object) -> NoReturn: ...
@deprecated("Not supported: there is no TorchScript; keep the model's class in Python, and its weights with torch.save(model.state_dict(), file).")
def load(*args: object, **options: object) -> NoReturn: ...
@deprecated("Not supported: there is no TorchScript; keep the model's class in Python, and its weights with torch.save(model.state_dict(), file).")
def save(*args: object, **options: object) -> NoReturn: ...
@deprecated("Not supported: there is no TorchScript; keep the model's class in Python, and its weights with torch.save(model.state_dict(), file).")
def save_jit_module_to_flatbuffer(*args: object, **options: object) -> NoReturn: ...
