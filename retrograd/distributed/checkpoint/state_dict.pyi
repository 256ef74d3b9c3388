"""States of models that are split over processes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class StateDictOptions:
    @deprecated('Not supported: there is one process; use state_dict and load_state_dict of the model and the optimizer.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is one process; use state_dict and load_state_dict of the model and the optimizer.')
def get_model_state_dict(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use state_dict and load_state_dict of the model and the optimizer.')
def get_optimizer_state_dict(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use state_dict and load_state_dict of the model and the optimizer.')
def get_state_dict(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use state_dict and load_state_dict of the model and the optimizer.')
def set_model_state_dict(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use state_dict and load_state_dict of the model and the optimizer.')
def set_optimizer_state_dict(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use state_dict and load_state_dict of the model and the optimizer.')
def set_state_dict(*args: object, **options: object) -> NoReturn: ...
