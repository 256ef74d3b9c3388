"""cuDNN: absent. Its settings can be set and read, and change nothing here.

>>> import retrograd as torch
>>> torch.backends.cudnn.benchmark = True
>>> with torch.backends.cudnn.flags(deterministic=True):
...     torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
(True, False)
>>> torch.backends.cudnn.benchmark = False
"""

from __future__ import annotations

from typing import Any

from retrograd.backends.remembered import Settings, switches
from retrograd.dtypes import float16, float32, float64
from retrograd.namespaces import missing

CUDNN_TENSOR_DTYPES = {float16, float32, float64}

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"
depthwise_kernel = "auto"
conv = Settings(fp32_precision="tf32")
rnn = Settings(fp32_precision="tf32")

set_flags, flags = switches(
    globals(),
    enabled=False,
    benchmark=False,
    benchmark_limit=None,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
    depthwise_kernel="auto",
)


def is_available() -> bool:
    """Whether cuDNN is used: no."""
    return False


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN computes with a tensor: no."""
    return False


def version() -> None:
    """The version of cuDNN: None."""
    return None


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
