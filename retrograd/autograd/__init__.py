"""Differentiation: `backward`, `grad`, grad modes."""

from retrograd.autograd import anomaly_mode as anomaly_mode
from retrograd.autograd import attributes as _attributes
from retrograd.autograd import forward_ad as forward_ad
from retrograd.autograd import function as function
from retrograd.autograd import grad_mode as grad_mode
from retrograd.autograd import graph as graph
from retrograd.autograd import tensor_hooks as _tensor_hooks
from retrograd.autograd import view_functions as _view_functions
from retrograd.autograd.anomaly_mode import detect_anomaly as detect_anomaly
from retrograd.autograd.anomaly_mode import set_detect_anomaly as set_detect_anomaly
from retrograd.autograd.api import _calculate_shape as _calculate_shape
from retrograd.autograd.api import backward as backward
from retrograd.autograd.api import grad as grad
from retrograd.autograd.function import Function as Function
from retrograd.autograd.function import NestedIOFunction as NestedIOFunction
from retrograd.autograd.gradcheck import gradcheck as gradcheck
from retrograd.autograd.gradcheck import gradgradcheck as gradgradcheck
from retrograd.engine.grad_mode import (
    _force_original_view_tracking as _force_original_view_tracking,
)
from retrograd.engine.grad_mode import (
    _unsafe_preserve_version_counter as _unsafe_preserve_version_counter,
)
from retrograd.engine.grad_mode import enable_grad as enable_grad
from retrograd.engine.grad_mode import enforce_grad_layout_policy as enforce_grad_layout_policy
from retrograd.engine.grad_mode import inference_mode as inference_mode
from retrograd.engine.grad_mode import is_multithreading_enabled as is_multithreading_enabled
from retrograd.engine.grad_mode import is_view_replay_enabled as is_view_replay_enabled
from retrograd.engine.grad_mode import no_grad as no_grad
from retrograd.engine.grad_mode import set_grad_enabled as set_grad_enabled
from retrograd.engine.grad_mode import set_multithreading_enabled as set_multithreading_enabled
from retrograd.engine.packing import SavedTensor as SavedTensor
from retrograd.namespaces import on_first_use

_LOADED = (_attributes, _tensor_hooks, _view_functions)  # imported for what they attach to Tensor

# Seldom needed; and tensors are made of this package, which must not need them at import.
_OFFERED, __getattr__, __dir__ = on_first_use(
    __name__,
    {
        "profiler": "DeviceType ProfilerActivity ProfilerState _profiler_enabled kineto_available",
        "retrograd.ops.making.legacy": "Variable",
    },
    modules="_functions functional profiler profiler_util variable",
)
