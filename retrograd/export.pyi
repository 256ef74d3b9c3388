"""Models taken out of Python: refused, they run as they are written.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class AdditionalInputs:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Constraint:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class CustomDecompTable:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Dim:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ExportBackwardSignature:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ExportGraphSignature:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ExportedProgram:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FlatArgsAdapter:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ModuleCallEntry:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ModuleCallSignature:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ShapesCollection:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class UnflattenedModule:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
def default_decompositions(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
def dims(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
def draft_export(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
def export(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
def load(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
def register_dataclass(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
def save(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no exporter; keep the weights with torch.save(model.state_dict(), file).')
def unflatten(*args: object, **options: object) -> NoReturn: ...
