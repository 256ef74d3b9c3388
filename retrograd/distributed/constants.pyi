"""How long a process waits for the others, by default.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from datetime import timedelta

default_pg_nccl_timeout: timedelta | None
from retrograd.distributed.names import default_pg_timeout as default_pg_timeout
