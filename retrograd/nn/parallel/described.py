"""What PyTorch's logger of DistributedDataParallel tells of a model, as far as it holds here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from retrograd.nn.sync_batchnorm import SyncBatchNorm

if TYPE_CHECKING:
    from retrograd.nn.parallel.distributed import DistributedDataParallel

_ENVIRONMENT = {
    "master_addr": "MASTER_ADDR",
    "master_port": "MASTER_PORT",
    "gloo_socket_ifname": "GLOO_SOCKET_IFNAME",
    "gloo_device_transport": "GLOO_DEVICE_TRANSPORT",
    "cuda_visible_devices": "CUDA_VISIBLE_DEVICES",
    "torch_distributed_debug": "TORCH_DISTRIBUTED_DEBUG",
}


def logging_data(model: DistributedDataParallel) -> dict[str, object]:
    """The names and numbers; times are not measured."""
    reducer, group = model.reducer, model.process_group
    kinds = dict.fromkeys(parameter.dtype for parameter in reducer.parameters)
    found: dict[str, object] = {
        "world_size": group.size(),
        "rank": group.rank(),
        "backend_name": group.name(),
        "module_name": type(model.module).__name__,
        "device_ids": " ".join(map(str, model.device_ids or ())),
        "output_device": -1 if model.output_device is None else model.output_device,
        "is_multi_device_module": 0,
        "iteration": reducer.rounds,
        "num_parameter_tensors": len(reducer.parameters),
        "total_parameter_size_bytes": sum(each.nbytes for each in reducer.parameters),
        "dtypes": ", ".join(_SPOKEN.get(name, name) for name in map(_short, kinds)),
        "bucket_cap_bytes": model.bucket_bytes_cap,
        "bucket_sizes": ", ".join(str(bucket.size()) for bucket in reducer.exchange.buckets),
        "broadcast_buffers": int(model.forward_sync_buffers),
        "find_unused_parameters": int(model.find_unused_parameters),
        "gradient_as_bucket_view": int(model.gradient_as_bucket_view),
        "static_graph": int(model.static_graph),
        "has_rebuilt_buckets": int(reducer.rebuilt),
        "has_sync_bn": int(any(isinstance(m, SyncBatchNorm) for m in model.module.modules())),
        "comm_hook": model._comm_hook_name,
    }
    return found | {key: os.environ.get(name, "N/A") for key, name in _ENVIRONMENT.items()}


def _short(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")


# The names that PyTorch prints here, where they are others.
_SPOKEN = {"float32": "float", "float64": "double", "float16": "c10::Half"}
