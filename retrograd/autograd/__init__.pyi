"""Differentiation: `backward`, `grad`, grad modes.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from collections.abc import Sequence
from retrograd.engine.edges import GradientEdge
from retrograd.tensor import Tensor
from typing import Literal
from typing import overload
from retrograd.autograd import anomaly_mode as anomaly_mode
from retrograd.autograd import forward_ad as forward_ad
from retrograd.autograd import function as function
from retrograd.autograd import grad_mode as grad_mode
from retrograd.autograd import graph as graph
from retrograd.autograd.anomaly_mode import detect_anomaly as detect_anomaly
from retrograd.autograd.anomaly_mode import set_detect_anomaly as set_detect_anomaly
from retrograd.autograd.api import _calculate_shape as _calculate_shape
from retrograd.autograd.api import backward as backward
from retrograd.autograd.function import Function as Function
from retrograd.autograd.function import NestedIOFunction as NestedIOFunction
from retrograd.autograd.gradcheck import gradcheck as gradcheck
from retrograd.autograd.gradcheck import gradgradcheck as gradgradcheck
from retrograd.engine.grad_mode import _force_original_view_tracking as _force_original_view_tracking
from retrograd.engine.grad_mode import _unsafe_preserve_version_counter as _unsafe_preserve_version_counter
from retrograd.engine.grad_mode import enable_grad as enable_grad
from retrograd.engine.grad_mode import enforce_grad_layout_policy as enforce_grad_layout_policy
from retrograd.engine.grad_mode import inference_mode as inference_mode
from retrograd.engine.grad_mode import is_multithreading_enabled as is_multithreading_enabled
from retrograd.engine.grad_mode import is_view_replay_enabled as is_view_replay_enabled
from retrograd.engine.grad_mode import no_grad as no_grad
from retrograd.engine.grad_mode import set_grad_enabled as set_grad_enabled
from retrograd.engine.grad_mode import set_multithreading_enabled as set_multithreading_enabled
from retrograd.engine.packing import SavedTensor as SavedTensor

from retrograd.autograd.profiler_util import DeviceType as DeviceType
from retrograd.autograd.profiler import ProfilerActivity as ProfilerActivity
from retrograd.autograd.profiler import ProfilerState as ProfilerState
from retrograd.ops.making.legacy import Variable as Variable
from retrograd.autograd import functional as functional
@overload
def grad(
    outputs: Tensor | GradientEdge | Sequence[Tensor] | Sequence[GradientEdge] | Sequence[Tensor | GradientEdge],
    inputs: dict[str, Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | Sequence[Tensor] | Literal['recompute'] | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> dict[str, Tensor]: ...
@overload
def grad(
    outputs: Tensor | GradientEdge | Sequence[Tensor] | Sequence[GradientEdge] | Sequence[Tensor | GradientEdge],
    inputs: Tensor | GradientEdge | Sequence[Tensor] | Sequence[GradientEdge] | Sequence[Tensor | GradientEdge],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | Sequence[Tensor] | Literal['recompute'] | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]: ...
from retrograd.autograd.profiler import kineto_available as kineto_available
from retrograd.autograd import profiler as profiler
from retrograd.autograd import profiler_util as profiler_util
from retrograd.autograd import variable as variable
