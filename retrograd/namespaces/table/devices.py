"""Devices, as seen from a program that runs on the CPU: the CPU itself, and those that are absent.

Counters of memory are zero, contexts that change nothing can be entered, and everything that needs
a device raises the error that PyTorch raises when it was built without it.

>>> import retrograd as torch
>>> torch.cpu.is_available(), torch.cpu.device_count()
(True, 1)
>>> [place.is_available() for place in (torch.cuda, torch.mps, torch.mtia, torch.xpu)]
[False, False, False, False]
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from retrograd.namespaces.idle import NO_CUDA, NO_NVTX, AbsentType
from retrograd.namespaces.rows import (
    aliases,
    answers,
    module,
    on_device,
    refusals,
    same,
    settings,
)
from retrograd.tensor import Tensor
from retrograd.tensor.size import device

_IDLE = "retrograd.namespaces.idle"
_NOTHING = "Without a device there is nothing to do."
_BYTES = "Bytes of device memory: 0."
_COUNTERS = "Counters of the allocator: none."
_NO_DEVICE = "Of each device: there is none."


def _each(doc: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), doc)


module(
    "cpu",
    "The CPU, asked as one asks an accelerator: always there, and one.",
    answers(
        True,
        is_available="Whether there is a CPU: yes.",
        is_initialized="Whether the CPU was started: yes.",
    ),
    answers(1, device_count="The number of CPUs, as devices: 1."),
    answers("cpu", current_device='The device that is in use: ``"cpu"``.'),
    answers(
        None,
        set_device="Choose the device; with one there is nothing to choose.",
        synchronize="Wait for the device; ops here have finished when they return.",
    ),
    aliases(_IDLE, "Event Stream StreamContext current_stream stream"),
)
module(
    "accelerator",
    "Accelerators, as seen from a program that runs on the CPU: there are none.",
    answers(False, is_available="Whether there is an accelerator: no."),
    answers(0, device_count="The number of accelerators: 0."),
    answers(device | None, current_accelerator="The kind of accelerator: None."),
    refusals(
        "there is no accelerator; ask torch.accelerator.is_available() first",
        functions="""
        Graph current_device_idx current_device_index current_stream empty_cache empty_host_cache
        get_device_capability get_memory_info max_memory_allocated max_memory_reserved
        memory_allocated memory_reserved memory_stats reset_accumulated_memory_stats
        reset_peak_memory_stats set_device_idx set_device_index set_stream synchronize
        """,
        error=(RuntimeError, "Cannot access accelerator device when none is available."),
    ),
    aliases(_IDLE, "device_index"),
)

# ---------------------------------------------------------------------------------------- CUDA

_TYPES = "BFloat16 Bool Byte Char Double Float Half Int Long Short"
module(
    "cuda",
    "CUDA, as seen from a program that runs on the CPU: absent, and saying so.",
    settings(default_generators=tuple[object, ...], has_half=True, has_magma=False),
    settings(
        **{f"{kind}Tensor": AbsentType(f"torch.cuda.{kind}Tensor") for kind in _TYPES.split()}
    ),
    answers(
        False,
        is_available="Whether a CUDA device can be used: no.",
        is_initialized="Whether CUDA was started: no.",
        is_bf16_supported="Whether a CUDA device computes in bfloat16: no.",
        is_tf32_supported="Whether a device computes in TensorFloat-32: no.",
    ),
    answers(
        0,
        device_count="The number of CUDA devices: 0.",
        **_each(
            _BYTES,
            """
            max_memory_allocated max_memory_cached max_memory_reserved memory_allocated
            memory_cached memory_reserved
            """,
        ),
    ),
    answers(
        None,
        caching_allocator_enable="Switch the cache of memory; there is none.",
        **_each(_NOTHING, "empty_cache manual_seed manual_seed_all seed seed_all"),
    ),
    answers(OrderedDict[str, int], **_each(_COUNTERS, "host_memory_stats memory_stats")),
    answers(
        dict[str, Any],
        **_each(_COUNTERS, "host_memory_stats_as_nested_dict memory_stats_as_nested_dict"),
    ),
    answers(list[str], get_arch_list="The architectures compiled for: none."),
    answers(list[Tensor], get_rng_state_all="The states of the generators: none."),
    answers("", get_gencode_flags="Flags of the compiler: none."),
    answers("no CUDA device", list_gpu_processes="The processes on a device: none."),
    aliases(
        _IDLE,
        """
        CudaError DeferredCudaCallError
        StreamContext=CudaStreamContext caching_allocator_disabled cudaStatus device=cuda_device
        device_of set_device set_rng_state_all set_stream stream=cuda_stream use_mem_pool
        """,
    ),
    aliases("retrograd.backend.cuda.errors", "AcceleratorError OutOfMemoryError"),
    refusals(
        NO_CUDA,
        functions="""
        BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage
        ComplexFloatStorage DoubleStorage FloatStorage HalfStorage IntStorage LongStorage
        ShortStorage caching_allocator_alloc caching_allocator_delete can_device_access_peer
        change_current_allocator check_error clock_rate cudart current_blas_handle current_device
        current_solver_handle current_stream default_stream device_memory_used
        get_allocator_backend get_device_capability get_device_name get_device_properties
        get_per_process_memory_fraction get_rng_state get_stream_from_external get_sync_debug_mode
        init initial_seed ipc_collect make_graphed_callables mem_get_info memory_snapshot
        memory_summary memory_usage power_draw reset_accumulated_host_memory_stats
        reset_accumulated_memory_stats reset_max_memory_allocated reset_max_memory_cached
        reset_peak_host_memory_stats reset_peak_memory_stats set_per_process_memory_fraction
        set_rng_state set_sync_debug_mode synchronize temperature utilization
        """,
        error=(AssertionError, "Torch not compiled with CUDA enabled"),
    ),
    refusals(
        NO_CUDA,
        classes="CUDAGraph CUDAPluggableAllocator Event GreenContext MemPool",
        error=(RuntimeError, "Tried to instantiate dummy base class {name}"),
    ),
    refusals(
        NO_CUDA,
        functions="graph graph_pool_handle is_current_stream_capturing",
        classes="ExternalStream Stream",
        error=(RuntimeError, "torch.cuda.{name} requires CUDA support"),
    ),
)
_ROOM = "retrograd.accelerators"
on_device(
    "cuda",
    f"{_ROOM}.devices",
    """
    is_available device_count is_bf16_supported is_tf32_supported init current_device set_device
    device device_of synchronize get_device_properties get_device_name get_device_capability
    can_device_access_peer get_arch_list get_sync_debug_mode get_allocator_backend
    is_initialized=is_available
    """,
)
on_device(
    "cuda",
    f"{_ROOM}.streams",
    """
    Stream ExternalStream Event StreamContext stream set_stream current_stream default_stream
    get_stream_from_external
    """,
)
on_device(
    "cuda",
    f"{_ROOM}.memory",
    """
    memory_allocated memory_reserved max_memory_allocated max_memory_reserved memory_cached
    max_memory_cached reset_peak_memory_stats reset_max_memory_allocated reset_max_memory_cached
    empty_cache mem_get_info set_per_process_memory_fraction get_per_process_memory_fraction
    memory_stats memory_summary
    """,
)
on_device(
    "cuda",
    f"{_ROOM}.legacy",
    """
    manual_seed manual_seed_all seed seed_all initial_seed get_rng_state set_rng_state
    get_rng_state_all set_rng_state_all
    """
    + " ".join(f"{kind}Tensor" for kind in _TYPES.split()),
)
on_device(
    "cuda",
    "retrograd.replay.cuda_graphs",
    "CUDAGraph graph graph_pool_handle is_current_stream_capturing make_graphed_callables",
)
on_device(
    "accelerator",
    f"{_ROOM}.devices",
    """
    is_available device_count current_accelerator device_index synchronize
    current_device_index=current_device current_device_idx=current_device
    set_device_index=set_device set_device_idx=set_device get_device_capability
    """,
)
on_device("accelerator", f"{_ROOM}.streams", "current_stream set_stream")
on_device(
    "accelerator",
    f"{_ROOM}.memory",
    """
    empty_cache memory_allocated memory_reserved max_memory_allocated max_memory_reserved
    memory_stats reset_peak_memory_stats get_memory_info=mem_get_info
    """,
)
module(
    "cuda.nvtx",
    "Marks for NVIDIA's profiler: PyTorch without CUDA refuses them, and so does this.",
    refusals(
        f"{NO_CUDA}, or use torch.profiler",
        functions="mark range_end range_pop range_push range_start",
        error=(RuntimeError, NO_NVTX),
    ),
    aliases(_IDLE, "range=nvtx_range"),
)
for _file, _topic in {
    "graphs": "Graphs",
    "memory": "Memory",
    "random": "Generators",
    "streams": "Streams",
}.items():
    module(
        f"cuda.{_file}",
        f"{_topic} of CUDA devices, under the name of PyTorch's file: what is in `torch.cuda`.",
        same("cuda"),
    )

# ------------------------------------------------------------------------------- other devices

_NO_MTIA = "there is no MTIA device; ask torch.mtia.is_available() first"
_NO_XPU = "there is no XPU device; ask torch.xpu.is_available() first"
_NO_METAL = "there is no Metal device; ask torch.mps.is_available() first"

module(
    "mtia",
    "Meta's accelerators, as seen from a program that runs on the CPU: absent.",
    answers(
        False,
        is_available="Whether an MTIA device can be used: no.",
        is_initialized="Whether MTIA was started: no.",
    ),
    answers(
        0,
        device_count="The number of MTIA devices: 0.",
        **_each(_BYTES, "max_memory_allocated memory_allocated"),
    ),
    answers(None, **_each(_NOTHING, "manual_seed manual_seed_all")),
    answers(list[Tensor], get_rng_state_all="The states of the generators: none."),
    answers(dict[str, Any], memory_stats=_COUNTERS),
    refusals(
        _NO_MTIA,
        functions="""
        attach_out_of_memory_observer current_device current_stream default_stream device
        empty_cache get_device_capability get_device_properties get_rng_state graph
        graph_pool_handle init initial_seed set_device set_rng_state set_rng_state_all set_stream
        snapshot stream synchronize
        """,
        classes="MTIAGraph",
    ),
)
module(
    "xpu",
    "Intel's accelerators, as seen from a program that runs on the CPU: absent.",
    settings(default_generators=tuple[object, ...]),
    answers(
        False,
        is_available="Whether an XPU device can be used: no.",
        is_initialized="Whether XPU was started: no.",
        is_bf16_supported="Whether a device computes in bfloat16: no.",
        is_tf32_supported="Whether a device computes in TensorFloat-32: no.",
    ),
    answers(
        0,
        device_count="The number of XPU devices: 0.",
        **_each(
            _BYTES, "max_memory_allocated max_memory_reserved memory_allocated memory_reserved"
        ),
    ),
    answers(None, **_each(_NOTHING, "empty_cache manual_seed manual_seed_all seed seed_all")),
    answers(list[str], get_arch_list=_NO_DEVICE),
    answers(list[Tensor], get_rng_state_all=_NO_DEVICE),
    answers(list[dict[str, Any]], memory_snapshot=_NO_DEVICE),
    answers(OrderedDict[str, int], memory_stats=_COUNTERS),
    answers(dict[str, Any], memory_stats_as_nested_dict=_COUNTERS),
    answers("", get_gencode_flags="Flags of the compiler: none."),
    refusals(
        _NO_XPU,
        functions="""
        can_device_access_peer current_device current_stream get_device_capability get_device_name
        get_device_properties get_per_process_memory_fraction get_rng_state
        get_stream_from_external init initial_seed mem_get_info reset_accumulated_memory_stats
        reset_peak_memory_stats set_device set_per_process_memory_fraction set_rng_state set_stream
        synchronize
        """,
        error=(AssertionError, "Torch not compiled with XPU enabled"),
    ),
    refusals(
        _NO_XPU,
        classes="Event MemPool Stream XPUGraph XPUPluggableAllocator",
        error=(RuntimeError, "Tried to instantiate dummy base class {name}"),
    ),
)

# PyTorch's errors name a function inside it.
_INNER = {
    "acquireEvent": "Event",
    "deviceSynchronize": "synchronize",
    "emptyCache": "empty_cache",
    "getCurrentAllocatedMemory": "current_allocated_memory",
    "getDefaultGenerator": "get_rng_state seed set_rng_state",
    "getDriverAllocatedMemory": "driver_allocated_memory",
    "getRecommendedMaxMemory": "recommended_max_memory",
    "setMemoryFraction": "set_per_process_memory_fraction",
}
module(
    "mps",
    "Metal of Apple's computers, as seen from a program that runs on the CPU: absent.",
    answers(False, is_available="Whether a Metal device can be used: no."),
    answers(0, device_count="The number of Metal devices: 0."),
    answers(None, manual_seed=_NOTHING),
    *(
        refusals(
            _NO_METAL, names, error=(RuntimeError, f"Cannot execute {inner}() without MPS backend.")
        )
        for inner, names in _INNER.items()
    ),
    refusals(
        _NO_METAL, "compile_shader load_metallib", error=(RuntimeError, "MPS is not available")
    ),
)

# ------------------------------------------------------------- mixed precision, in older forms

module(
    "cpu.amp",
    "The older forms of `torch.amp` for the CPU.",
    aliases("retrograd.amp.older", "GradScaler=cpu_scaler autocast=cpu_autocast"),
)
module(
    "cpu.amp.autocast_mode",
    'The older form of `torch.autocast("cpu")`.',
    aliases("retrograd.amp.older", "autocast=cpu_autocast"),
)
module(
    "cpu.amp.grad_scaler",
    'The older form of `torch.amp.GradScaler("cpu")`.',
    aliases("retrograd.amp.older", "GradScaler=cpu_scaler"),
)
module(
    "cuda.amp",
    "The older forms of `torch.amp` for CUDA: without a device they warn, and change nothing.",
    aliases("retrograd.amp.older", "GradScaler=cuda_scaler autocast=cuda_autocast"),
    aliases("retrograd.amp.older", "custom_bwd custom_fwd"),
    answers(True, amp_definitely_not_available="Whether there is no device for it: so it is."),
)
module(
    "cuda.amp.autocast_mode",
    'The older forms of `torch.autocast("cuda")` and of the decorators of custom Functions.',
    aliases("retrograd.amp.older", "_cast autocast=cuda_autocast custom_bwd custom_fwd"),
)
module(
    "cuda.amp.common",
    "Whether mixed precision on CUDA is out of the question.",
    aliases("retrograd.cuda.amp", "amp_definitely_not_available"),
)
module(
    "cuda.amp.grad_scaler",
    'The older form of `torch.amp.GradScaler("cuda")`.',
    aliases("retrograd.amp.older", "GradScaler=cuda_scaler"),
    aliases("retrograd.amp.grad_scaler", "OptState"),
)
