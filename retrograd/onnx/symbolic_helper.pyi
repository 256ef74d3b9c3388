"""How functions are written into files for other runtimes: nothing is exported here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.namespaces.as_written import any_itself
from typing import NoReturn
from typing_extensions import deprecated

@deprecated('Not supported: there is no exporter; export where PyTorch is installed.')
def _get_tensor_sizes(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no exporter; export where PyTorch is installed.')
def _is_none(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no exporter; export where PyTorch is installed.')
def _maybe_get_const(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no exporter; export where PyTorch is installed.')
def _unimplemented(*args: object, **options: object) -> NoReturn: ...
parse_args = any_itself
quantized_args = any_itself
