"""Settings for CUDA, remembered: which way attention is computed makes no difference here.

>>> import retrograd as torch
>>> torch.backends.cuda.matmul.allow_tf32 = True
>>> torch.backends.cuda.is_built()
False
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.backends.remembered import Settings
from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

matmul = Settings(
    allow_tf32=False,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)
_attention = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}
_reduction = {"allowed": False}

globals().update(
    refusing(
        "torch.backends.cuda",
        "there is no CUDA device; ask torch.cuda.is_available() first",
        functions="""
        blas_workspace_size can_use_cudnn_attention can_use_efficient_attention
        can_use_flash_attention cublas_workspace_size cublaslt_workspace_size
        preferred_blas_library preferred_linalg_library preferred_rocm_fa_library
        """,
        classes="""
        SDPAParams cuBLASModule cuFFTPlanCache cuFFTPlanCacheAttrContextProp cuFFTPlanCacheManager
        """,
    )
)


def is_built() -> bool:
    """Whether support for CUDA was compiled in: no."""
    return False


def _note(way: str, enabled: Any) -> None:
    if not isinstance(enabled, bool):
        raise RuntimeError(f"set_sdp_use_math expects a bool, but got {type(enabled).__name__}")
    _attention[way] = enabled


def flash_sdp_enabled() -> bool:
    """What `enable_flash_sdp` was last told."""
    return _attention["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Note whether flash attention may be used."""
    _note("flash", enabled)


def math_sdp_enabled() -> bool:
    """What `enable_math_sdp` was last told."""
    return _attention["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Note whether attention may be computed step by step."""
    _note("math", enabled)


def mem_efficient_sdp_enabled() -> bool:
    """What `enable_mem_efficient_sdp` was last told."""
    return _attention["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Note whether attention that saves memory may be used."""
    _note("mem_efficient", enabled)


def cudnn_sdp_enabled() -> bool:
    """What `enable_cudnn_sdp` was last told."""
    return _attention["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Note whether the attention of cuDNN may be used."""
    _note("cudnn", enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What `allow_fp16_bf16_reduction_math_sdp` was last told."""
    return _reduction["allowed"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Note whether sums of attention may be in half precision; they are in float32."""
    _reduction["allowed"] = bool(enabled)


def is_flash_attention_available() -> bool:
    """Whether there is flash attention for a device: no."""
    return False


def is_ck_sdpa_available() -> bool:
    """Whether there is attention of ROCm's library: no."""
    return False


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[dict[str, Any]]:
    """The context in which some ways to compute attention are allowed."""
    old = dict(_attention)
    ways = (enable_flash, enable_math, enable_mem_efficient, enable_cudnn)
    _attention.update(zip(old, ways, strict=True))
    try:
        yield {}
    finally:
        _attention.update(old)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
