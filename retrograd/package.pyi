"""Models packed with their code: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class Directory:
    @deprecated("Not supported: code is not packed; keep the model's class in Python, and its weights with torch.save.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.namespaces.errors import EmptyMatchError as EmptyMatchError
class GlobGroup:
    @deprecated("Not supported: code is not packed; keep the model's class in Python, and its weights with torch.save.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Importer:
    @deprecated("Not supported: code is not packed; keep the model's class in Python, and its weights with torch.save.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.namespaces.errors import ObjMismatchError as ObjMismatchError
from retrograd.namespaces.errors import ObjNotFoundError as ObjNotFoundError
class OrderedImporter:
    @deprecated("Not supported: code is not packed; keep the model's class in Python, and its weights with torch.save.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class PackageExporter:
    @deprecated("Not supported: code is not packed; keep the model's class in Python, and its weights with torch.save.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class PackageImporter:
    @deprecated("Not supported: code is not packed; keep the model's class in Python, and its weights with torch.save.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.namespaces.errors import PackagingError as PackagingError
@deprecated("Not supported: code is not packed; keep the model's class in Python, and its weights with torch.save.")
def is_from_package(*args: object, **options: object) -> NoReturn: ...
