"""Switches of PyTorch's computing libraries. They can be set and read, and change nothing here.

>>> import retrograd as torch
>>> torch.backends.cudnn.benchmark = True
>>> with torch.backends.cudnn.flags(deterministic=True):
...     torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
(True, False)
>>> torch.backends.cudnn.benchmark = False
>>> torch.backends.cuda.matmul.allow_tf32 = False
>>> torch.backends.cuda.is_built()
False
"""

from __future__ import annotations

from retrograd.backend.precision import PRECISION
from retrograd.dtypes import float16, float32, float64
from retrograd.namespaces.rows import (
    Settings,
    aliases,
    answers,
    module,
    refusals,
    settings,
    switches,
)

_OWN_ALGEBRA = "False: NumPy brings its own linear algebra"


class _Products(Settings):
    """How products are computed on CUDA devices."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "allow_tf32":
            PRECISION.tf32 = bool(value)
        else:
            super().__setattr__(name, value)

    @property
    def allow_tf32(self) -> bool:
        """Whether factors of float32 may be rounded to 11 bits."""
        return PRECISION.tf32


module(
    "backends",
    "Switches of PyTorch's computing libraries. They can be set and read, and change nothing here.",
    settings(fp32_precision="none"),
    switches(fp32_precision="none"),
    aliases("retrograd.namespaces.told", "disable_global_flags flags_frozen"),
)
module(
    "backends.cpu",
    "The CPU's instructions.",
    aliases("retrograd.namespaces.told", "get_cpu_capability"),
)
module(
    "backends.cuda",
    "Settings for CUDA, remembered: which way attention is computed makes no difference here.",
    settings(
        matmul=_Products(
            allow_bf16_reduced_precision_reduction=True,
            allow_fp16_reduced_precision_reduction=True,
            allow_fp16_accumulation=False,
            fp32_precision="none",
        )
    ),
    answers(
        False,
        is_built="Whether support for CUDA was compiled in: no.",
        is_flash_attention_available="Whether there is flash attention for a device: no.",
        is_ck_sdpa_available="Whether there is attention of ROCm's library: no.",
    ),
    aliases(
        "retrograd.namespaces.attention_ways",
        """
        allow_fp16_bf16_reduction_math_sdp cudnn_sdp_enabled enable_cudnn_sdp enable_flash_sdp
        enable_math_sdp enable_mem_efficient_sdp flash_sdp_enabled
        fp16_bf16_reduction_math_sdp_allowed math_sdp_enabled mem_efficient_sdp_enabled sdp_kernel
        """,
    ),
    refusals(
        "there is no CUDA device; ask torch.cuda.is_available() first",
        functions="""
        blas_workspace_size can_use_cudnn_attention can_use_efficient_attention
        can_use_flash_attention cublas_workspace_size cublaslt_workspace_size
        preferred_blas_library preferred_linalg_library preferred_rocm_fa_library
        """,
        classes="""
        SDPAParams cuBLASModule cuFFTPlanCache cuFFTPlanCacheAttrContextProp cuFFTPlanCacheManager
        """,
    ),
)
module(
    "backends.cudnn",
    "cuDNN: absent. Its settings can be set and read, and change nothing here.",
    settings(
        enabled=True,
        benchmark=False,
        benchmark_limit=int | None,
        deterministic=False,
        allow_tf32=True,
        fp32_precision="none",
        depthwise_kernel="auto",
        conv=Settings(fp32_precision="tf32"),
        rnn=Settings(fp32_precision="tf32"),
    ),
    switches(
        enabled=False,
        benchmark=False,
        benchmark_limit=None,
        deterministic=False,
        allow_tf32=True,
        fp32_precision="none",
        depthwise_kernel="auto",
    ),
    settings(CUDNN_TENSOR_DTYPES={float16, float32, float64}),
    answers(
        False,
        is_available="Whether cuDNN is used: no.",
        is_acceptable="Whether cuDNN computes with a tensor: no.",
    ),
    answers(int | None, version="The version of cuDNN: None."),
)
module(
    "backends.cusparselt",
    "cuSPARSELt: absent.",
    answers(False, is_available="Whether cuSPARSELt is used: no."),
    answers(
        int | None,
        version="The version of cuSPARSELt: None.",
        get_max_alg_id="The number of its algorithms: None.",
    ),
)
module(
    "backends.kleidiai",
    "KleidiAI: absent.",
    answers(False, is_available="Whether KleidiAI is used: no."),
)
module(
    "backends.mha",
    "Faster attention in inference: can be switched, and is computed in one way here.",
    aliases("retrograd.namespaces.told", "get_fastpath_enabled set_fastpath_enabled"),
)
module(
    "backends.miopen",
    "MIOpen: absent. Its setting can be set and read, and changes nothing here.",
    settings(immediate=False),
    switches(immediate=False),
)
module(
    "backends.mkl",
    "MKL: not asked for. Which linear algebra NumPy brings is its own affair.",
    settings(VERBOSE_OFF=0, VERBOSE_ON=1),
    answers(False, _OWN_ALGEBRA, is_available="Whether this library was built with MKL: no."),
    aliases("retrograd.namespaces.idle", "verbose"),
)
module(
    "backends.mkldnn",
    "oneDNN: not used. Its settings can be set and read, and change nothing here.",
    settings(
        VERBOSE_OFF=0,
        VERBOSE_ON=1,
        VERBOSE_ON_CREATION=2,
        enabled=True,
        deterministic=False,
        allow_tf32=bool | None,
        fp32_precision="none",
        conv=Settings(fp32_precision="none"),
        matmul=Settings(fp32_precision="none"),
        rnn=Settings(fp32_precision="none"),
    ),
    switches(enabled=False, deterministic=False, allow_tf32=None, fp32_precision="none"),
    answers(
        False,
        "False: products and convolutions are NumPy's and this library's own",
        is_available="Whether oneDNN is used: no.",
    ),
    answers(False, is_acl_available="Whether the library for ARM processors is used: no."),
    aliases("retrograd.namespaces.idle", "verbose"),
)
module(
    "backends.mps",
    "Metal of Apple's computers: absent.",
    answers(
        False,
        is_available="Whether a Metal device can be used: no.",
        is_built="Whether support for Metal was compiled in: no.",
    ),
    refusals("there is no Metal device", functions="get_core_count get_name"),
    aliases("retrograd.namespaces.idle", "is_macos13_or_newer is_macos_or_newer"),
)
module(
    "backends.nnpack",
    "NNPACK: absent. Its setting can be set, and changes nothing here.",
    settings(enabled=True),
    switches(enabled=False),
    answers(
        False,
        "False: convolutions are this library's own",
        is_available="Whether NNPACK is used: no.",
    ),
)
module(
    "backends.openmp",
    "OpenMP: NumPy chooses its own threads.",
    answers(False, _OWN_ALGEBRA, is_available="Whether this library was built with OpenMP: no."),
)
module(
    "backends.opt_einsum",
    "The order of products in `einsum`: not chosen by a package here, from left to right.",
    settings(enabled=False, strategy=str | None),
    switches(enabled=None, strategy=None),
    answers(False, is_available="Whether the package opt_einsum is used: no."),
    answers(object | None, get_opt_einsum="The package opt_einsum, which is not used: None."),
)
module(
    "backends.quantized",
    "Kernels for quantized tensors, of which there are none: the setting is remembered.",
    settings(engine="none", supported_engines=list[str]),
)
module("backends.xnnpack", "XNNPACK: absent.", settings(enabled=False))
