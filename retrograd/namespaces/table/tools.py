"""Tools and older places: alias modules, and the names of real modules that refuse.

>>> import retrograd as torch
>>> torch.utils.backcompat.broadcast_warning.enabled
False
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from types import ModuleType

from retrograd.namespaces.rows import (
    Made,
    Settings,
    aliases,
    answers,
    module,
    more,
    refusals,
    settings,
)

# ------------------------------------------------------------------------------- whole modules


def _kernel(name: str, module: ModuleType) -> object:
    """An op under the name that PyTorch's compiled part has for it."""
    return getattr(import_module("retrograd").ops.aten, name)


module(
    "version",
    "Versions: that of the PyTorch whose interface this is, and none of accelerators.",
    aliases("retrograd.torch_version", "__version__=TORCH_VERSION"),
    settings(debug=False, git_version="unknown"),
    settings(**dict.fromkeys(("cuda", "hip", "rocm", "xpu"), str | None)),
)
module(
    "_C",
    "The few names that programs take from PyTorch's compiled part.",
    aliases("retrograd.ops.linalg.matrices", "_LinAlgError=LinAlgError"),
    aliases("retrograd.random", "Generator"),
    aliases("builtins", "_TensorMeta=type"),  # the class of Tensor, here Python's own
    aliases("retrograd.tensor", "TensorBase=Tensor _TensorBase=Tensor"),
    aliases("retrograd.dtypes", "dtype"),
    aliases("contextlib", "DisableTorchFunctionSubclass=nullcontext"),  # nothing to switch off
    aliases(
        "retrograd.ops.making.compiled_part", "_are_functorch_transforms_active _get_accelerator"
    ),
    aliases("retrograd.namespaces.dispatch_keys", "DispatchKey DispatchKeySet"),
    refusals("sizes are plain integers", classes="SymBool SymFloat SymInt"),
    refusals(
        "calls pass no dispatch keys; torch.no_grad and torch.autocast(enabled=False) say the same",
        functions="_ExcludeDispatchKeyGuard _ForceDispatchKeyGuard",
    ),
    refusals(
        "torch.save and torch.load read and write PyTorch's files as they are",
        classes="PyTorchFileReader PyTorchFileWriter",
    ),
    aliases("retrograd.tensor.size", "Size device"),
    answers(
        None, _log_api_usage_once="Count that a part of the library is used: nothing is counted."
    ),
    answers(
        object | None,
        _get_tracing_state="What a trace has recorded: nothing is traced, so None.",
    ),
)
_KERNELS = """
    adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d
    avg_pool2d avg_pool3d binary_cross_entropy col2im conv_depthwise3d
    cross_entropy_loss elu elu_ flatten_dense_tensors fractional_max_pool2d
    fractional_max_pool3d gelu gelu_ glu hardsigmoid hardsigmoid_ hardswish hardswish_
    hardtanh hardtanh_ huber_loss im2col l1_loss leaky_relu leaky_relu_ linear
    log_sigmoid max_pool2d_with_indices max_pool3d_with_indices max_unpool2d
    max_unpool3d mish mish_ mse_loss multi_margin_loss multilabel_margin_loss nll_loss
    nll_loss2d nll_loss_nd one_hot pad pad_sequence reflection_pad1d reflection_pad2d
    reflection_pad3d relu6 relu6_ replication_pad1d replication_pad2d replication_pad3d
    rrelu_with_noise rrelu_with_noise_ scaled_dot_product_attention silu silu_
    slow_conv3d slow_conv_dilated2d slow_conv_dilated3d slow_conv_transpose2d
    slow_conv_transpose3d smooth_l1_loss soft_margin_loss softplus softshrink
    thnn_conv2d unflatten_dense_tensors upsample_bicubic2d upsample_bilinear2d
    upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d
    upsample_trilinear3d
"""
module(
    "_C._nn",
    "Functions of layers as PyTorch's kernels are called, the ops of `torch.ops.aten`.",
    aliases("retrograd.ops.making.conversion", "_parse_to=parse_to"),
    {name: Made(partial(_kernel, name)) for name in _KERNELS.split()},
)
module(
    "_tensor",
    "The module of PyTorch's where `torch.Tensor` is written.",
    aliases("retrograd.tensor", "Tensor"),
)
module(
    "__config__",
    "What the library was built with.",
    aliases("retrograd.namespaces.build", "show"),
    aliases("retrograd.settings", "parallel_info"),
)
module(
    "__future__",
    "How modules are converted: their parameters stay the same objects.",
    answers(
        False,
        get_overwrite_module_params_on_conversion="Whether conversions make new parameters: no.",
        get_swap_module_params_on_conversion="Whether conversions swap parameters: no.",
    ),
    aliases(
        "retrograd.namespaces.build",
        "set_overwrite_module_params_on_conversion set_swap_module_params_on_conversion",
    ),
)
module(
    "functional",
    "Functions of tensors that PyTorch keeps in ``torch.functional``: the same as in `retrograd`.",
    aliases(
        "retrograd",
        """
        atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes
        broadcast_tensors cartesian_prod cdist chain_matmul einsum istft lu meshgrid norm
        pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive unravel_index
        """,
    ),
)
module(
    "utils.backcompat",
    "Warnings about changes of long ago: they can be switched, and are never given.",
    settings(broadcast_warning=Settings(enabled=False), keepdim_warning=Settings(enabled=False)),
)
module(
    "utils.cpp_extension",
    "Extensions in C++: refused, everything is Python.",
    settings(CUDA_HOME=str | None, ROCM_HOME=str | None),
    answers(False, is_ninja_available="Whether extensions can be built: no."),
    refusals(
        "there is no C++ library to link with; write the operation in Python, with "
        "torch.autograd.Function for its gradient",
        functions="""
        CUDAExtension CppExtension SyclExtension check_compiler_is_gcc
        check_compiler_ok_for_platform get_compiler_abi_compatibility_and_version get_cxx_compiler
        get_default_build_root include_paths library_paths load load_inline
        remove_extension_h_precompiler_headers verify_ninja_availability
        """,
        classes="BuildExtension",
    ),
)
module(
    "utils.flop_counter",
    "Counts of multiplications and additions: refused.",
    refusals(
        "operations are not counted; torch.profiler measures their time",
        functions="register_flop_formula",
        classes="FlopCounterMode",
    ),
)
module(
    "utils.throughput_benchmark",
    "Measuring a model in many threads: refused.",
    refusals(
        "use torch.utils.benchmark.Timer, or Python's timeit",
        classes="ExecutionStats ThroughputBenchmark",
    ),
)
module(
    "utils.data._utils",
    "PyTorch's private place for parts of the loader that programs import all the same.",
    aliases("retrograd.utils.data.worker", "MP_STATUS_CHECK_INTERVAL"),
)
module(
    "utils.data._utils.collate",
    "`torch.utils.data._utils.collate`: the collate functions under PyTorch's own path.",
    aliases(
        "retrograd.utils.data.collate",
        """
        collate collate_float_fn collate_int_fn collate_numpy_array_fn collate_numpy_scalar_fn
        collate_str_fn collate_tensor_fn default_collate default_collate_fn_map default_convert
        """,
    ),
)
module(
    "utils.data._utils.fetch",
    "`torch.utils.data._utils.fetch`: the fetchers under PyTorch's names.",
    aliases(
        "retrograd.utils.data.fetch",
        "_IterableDatasetFetcher=StreamFetcher _MapDatasetFetcher=MapFetcher",
    ),
)
module(
    "utils.data._utils.worker",
    "`torch.utils.data._utils.worker`: what a worker knows, under PyTorch's own path.",
    aliases("retrograd.utils.data.information", "WorkerInfo get_worker_info"),
    aliases("retrograd.utils.data.worker", "_generate_state=numpy_state"),
    # it changes in a worker
    aliases("retrograd.utils.data.information", "_worker_info", kept=False),
)

# ----------------------------------------------------- more names of modules that have a file

more(
    "autograd.profiler",
    refusals(
        "it marks ranges for an external profiler; use torch.profiler.profile",
        "emit_itt emit_nvtx",
    ),
    refusals(
        "it reads files of NVIDIA's profiler, and there is no CUDA",
        "load_nvprof parse_nvprof_trace",
    ),
    {"_is_profiler_enabled": Made(lambda profiler: profiler._profiler_enabled(), kept=False)},
)
more(
    "library",
    refusals(
        "there is one device and no compiler; call the function itself",
        """
        fallthrough_kernel get_ctx get_kernel opcheck register_autocast register_torch_dispatch
        triton_op wrap_triton
        """,
    ),
)
more(
    "overrides",
    refusals(
        "operations take tensors and do not call their __torch_function__",
        """
        enable_reentrant_dispatch get_ignored_functions get_overridable_functions
        get_testing_overrides redispatch_function
        """,
    ),
)
more(
    "profiler",
    refusals("it records PyTorch's own operators for replay", "ExecutionTraceObserver"),
)
more(
    "utils.benchmark",
    refusals(
        "print the measurements of Timer themselves",
        classes="""
        CallgrindStats Compare FunctionCount FunctionCounts FuzzedParameter FuzzedSparseTensor
        FuzzedTensor Fuzzer ParameterAlias
        """,
    ),
)
# only now: it imports multiprocessing
more(
    "utils.data.dataloader",
    aliases("retrograd.utils.data.parallel", "_MultiProcessingDataLoaderIter"),
)
