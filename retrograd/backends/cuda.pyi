"""Settings for CUDA, remembered: which way attention is computed makes no difference here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class SDPAParams:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.namespaces.attention_ways import allow_fp16_bf16_reduction_math_sdp as allow_fp16_bf16_reduction_math_sdp
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def blas_workspace_size(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def can_use_cudnn_attention(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def can_use_efficient_attention(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def can_use_flash_attention(*args: object, **options: object) -> NoReturn: ...
class cuBLASModule:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class cuFFTPlanCache:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class cuFFTPlanCacheAttrContextProp:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class cuFFTPlanCacheManager:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def cublas_workspace_size(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def cublaslt_workspace_size(*args: object, **options: object) -> NoReturn: ...
from retrograd.namespaces.attention_ways import cudnn_sdp_enabled as cudnn_sdp_enabled
from retrograd.namespaces.attention_ways import enable_cudnn_sdp as enable_cudnn_sdp
from retrograd.namespaces.attention_ways import enable_flash_sdp as enable_flash_sdp
from retrograd.namespaces.attention_ways import enable_math_sdp as enable_math_sdp
from retrograd.namespaces.attention_ways import enable_mem_efficient_sdp as enable_mem_efficient_sdp
from retrograd.namespaces.attention_ways import flash_sdp_enabled as flash_sdp_enabled
from retrograd.namespaces.attention_ways import fp16_bf16_reduction_math_sdp_allowed as fp16_bf16_reduction_math_sdp_allowed
def is_built(*args: object, **options: object) -> bool: 'Whether support for CUDA was compiled in: no.'
def is_ck_sdpa_available(*args: object, **options: object) -> bool: "Whether there is attention of ROCm's library: no."
def is_flash_attention_available(*args: object, **options: object) -> bool: 'Whether there is flash attention for a device: no.'
from retrograd.namespaces.attention_ways import math_sdp_enabled as math_sdp_enabled
class _matmul_settings:
    allow_tf32: bool
    allow_bf16_reduced_precision_reduction: bool
    allow_fp16_reduced_precision_reduction: bool
    allow_fp16_accumulation: bool
    fp32_precision: str
matmul: _matmul_settings
from retrograd.namespaces.attention_ways import mem_efficient_sdp_enabled as mem_efficient_sdp_enabled
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def preferred_blas_library(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def preferred_linalg_library(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def preferred_rocm_fa_library(*args: object, **options: object) -> NoReturn: ...
from retrograd.namespaces.attention_ways import sdp_kernel as sdp_kernel
