"""Tools and older places: alias modules, and the names of real modules that refuse.

>>> import retrograd as torch
>>> torch.utils.backcompat.broadcast_warning.enabled
False
"""

from __future__ import annotations

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
    aliases("retrograd.tensor.size", "Size device"),
    answers(
        None, _log_api_usage_once="Count that a part of the library is used: nothing is counted."
    ),
    answers(
        object | None,
        _get_tracing_state="What a trace has recorded: nothing is traced, so None.",
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
