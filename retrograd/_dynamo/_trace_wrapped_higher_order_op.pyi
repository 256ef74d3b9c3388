"""Functions inside compiled graphs: there are none.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import NoReturn
from typing_extensions import deprecated

from retrograd.namespaces.as_written import TransformGetItemToIndex as TransformGetItemToIndex
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def trace_wrapped(*args: object, **options: object) -> NoReturn: ...
