"""`torch.backends.cuda`: which way attention is computed is remembered; there is one way here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_attention = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}
_told = {"reduction": False}


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What `allow_fp16_bf16_reduction_math_sdp` was last told."""
    return bool(_told["reduction"])


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Note whether sums of attention may be in half precision; they are in float32."""
    _told["reduction"] = bool(enabled)


def _note(way: str, enabled: object) -> None:
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


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[dict[str, object]]:
    """The context in which some ways to compute attention are allowed."""
    old = dict(_attention)
    ways = (enable_flash, enable_math, enable_mem_efficient, enable_cudnn)
    _attention.update(zip(old, ways, strict=True))
    try:
        yield {}
    finally:
        _attention.update(old)
