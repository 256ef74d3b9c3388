"""Functions of other processes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class RRef:
    @deprecated('Not supported: functions run in their own process; call the function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class TensorPipeRpcBackendOptions:
    @deprecated('Not supported: functions run in their own process; call the function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class WorkerInfo:
    @deprecated('Not supported: functions run in their own process; call the function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: functions run in their own process; call the function itself.')
def get_worker_info(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: functions run in their own process; call the function itself.')
def init_rpc(*args: object, **options: object) -> NoReturn: ...
def is_available(*args: object, **options: object) -> bool: 'Whether functions of other processes can be called: no.'
@deprecated('Not supported: functions run in their own process; call the function itself.')
def remote(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: functions run in their own process; call the function itself.')
def rpc_async(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: functions run in their own process; call the function itself.')
def rpc_sync(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: functions run in their own process; call the function itself.')
def shutdown(*args: object, **options: object) -> NoReturn: ...
