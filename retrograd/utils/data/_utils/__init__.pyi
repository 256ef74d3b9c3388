"""PyTorch's private place for parts of the loader that programs import all the same.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.utils.data.worker import MP_STATUS_CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL
from retrograd.utils.data._utils import collate as collate
from retrograd.utils.data._utils import fetch as fetch
from retrograd.utils.data._utils import worker as worker
