"""oneDNN: not used. Its settings can be set and read, and change nothing here."""

from __future__ import annotations

from typing import Any

from retrograd.backends.mkl import verbose as verbose
from retrograd.backends.remembered import Settings, switches
from retrograd.compat.marks import differs
from retrograd.namespaces import missing

VERBOSE_OFF = 0
VERBOSE_ON = 1
VERBOSE_ON_CREATION = 2

enabled = True
deterministic = False
allow_tf32: bool | None = None
fp32_precision = "none"
conv = Settings(fp32_precision="none")
matmul = Settings(fp32_precision="none")
rnn = Settings(fp32_precision="none")

set_flags, flags = switches(
    globals(), enabled=False, deterministic=False, allow_tf32=None, fp32_precision="none"
)


@differs("False: products and convolutions are NumPy's and this library's own")
def is_available() -> bool:
    """Whether oneDNN is used: no."""
    return False


def is_acl_available() -> bool:
    """Whether the library for ARM processors is used: no."""
    return False


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
