"""Convolutions by cuDNN, through NVIDIA's frontend where it is installed.

A plan is made for each shape and kept. What cuDNN has no plan for goes to the neutral kernel, which
is made of matrix products.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from retrograd.backend.cuda import launch
from retrograd.backend.cuda.overrides.kinds import own_first
from retrograd.backend.cuda.switches import cudnn_is_on, tf32_in_convolutions
from retrograd.backend.device import Backend
from retrograd.backend.neutral.convolution import convolution_output_shape

# Not float64: with it the frontend's plans ran, and gave other numbers.
_TYPES = {"float32": "FLOAT", "float16": "HALF", "bfloat16": "BFLOAT16"}

Sizes = tuple[int, ...]


class Problem(NamedTuple):
    """What a plan is made for; `way` is forward, input or weight."""

    way: str
    dtype: str
    tf32: bool
    input: Sizes
    weight: Sizes
    output: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes


class Plan(NamedTuple):
    """A built graph: its tensors' numbers, and the memory that it works in."""

    graph: Any
    first: int
    second: int
    result: int
    shape: Sizes
    workspace: int


def _steps(shape: Sequence[int]) -> list[int]:
    found = [1]
    for size in reversed(shape[1:]):
        found.insert(0, found[0] * size)
    return found


class Convolutions:
    """cuDNN's plans on one device."""

    def __init__(self, backend: Backend, cudnn: Any, stream: Any) -> None:
        self.xp = backend.xp
        self.array: Any = backend.array
        self.cudnn = cudnn
        self.stream = stream
        self.handle: Any = cudnn.create_handle()
        self.current: int | None = None
        self.plans: dict[Problem, Plan | None] = {}

    def _built(self, problem: Problem) -> Plan | None:
        """The plan for a problem; None where cuDNN has none."""
        cudnn = self.cudnn
        kind = getattr(cudnn.data_type, _TYPES[problem.dtype])
        wide = cudnn.data_type.FLOAT
        graph = cudnn.pygraph(
            handle=self.handle,
            io_data_type=kind,
            intermediate_data_type=wide,
            compute_data_type=wide,
        )

        def tensor(name: str, shape: Sizes) -> Any:
            return graph.tensor(name=name, dim=list(shape), stride=_steps(shape), data_type=kind)

        options = {
            "padding": list(problem.padding),
            "stride": list(problem.stride),
            "dilation": list(problem.dilation),
        }
        if problem.way == "forward":
            first, second = tensor("x", problem.input), tensor("w", problem.weight)
            result, shape = graph.conv_fprop(image=first, weight=second, **options), problem.output
        elif problem.way == "input":
            first, second = tensor("g", problem.output), tensor("w", problem.weight)
            result, shape = graph.conv_dgrad(loss=first, filter=second, **options), problem.input
        else:
            first, second = tensor("x", problem.input), tensor("g", problem.output)
            result, shape = graph.conv_wgrad(image=first, loss=second, **options), problem.weight
        result.set_dim(list(shape)).set_stride(_steps(shape))
        result.set_output(True).set_data_type(kind)
        try:
            graph.validate()
            graph.build_operation_graph()
            graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
            if problem.dtype == "float32" and not problem.tf32:
                graph.deselect_numeric_notes([cudnn.numerical_note.TENSOR_CORE])
            graph.check_support()
            graph.build_plans()
        except Exception:  # the frontend has a class of its own, for all that cuDNN lacks
            return None
        one, other, made = [t.get_uid() for t in (first, second, result)]
        return Plan(graph, one, other, made, shape, max(graph.get_workspace_size(), 1))

    def run(self, problem: Problem, first: Any, second: Any) -> Any:
        """The result, or None where there is no plan."""
        stream = self.stream()
        if stream != self.current:
            self.cudnn.set_stream(handle=self.handle, stream=stream)
            self.current = stream
        try:
            plan = self.plans[problem]
        except KeyError:
            plan = self.plans[problem] = self._built(problem)
        if plan is None:
            return None
        first, second = (
            x if x._c_contiguous else self.xp.ascontiguousarray(x) for x in (first, second)
        )
        result: Any = self.array(plan.shape, first.dtype)
        memory: Any = self.array((plan.workspace,), np.uint8)
        addresses = {
            plan.first: first.data.ptr,
            plan.second: second.data.ptr,
            plan.result: result.data.ptr,
        }
        plan.graph._execute(addresses, memory.data.ptr, self.handle)
        return result


def _padded(sizes: Sequence[int], extra: bool) -> Sizes:
    """Sizes or options with a dimension more, for one-dimensional convolutions."""
    return (*sizes[:2], 1, *sizes[2:]) if extra else tuple(sizes)


def install(backend: Backend) -> None:
    """Register them, where cuDNN and its frontend are there."""
    cupy = backend.xp._library
    if cupy.cuda.runtime.getDeviceCount() != 1:
        return
    try:
        cudnn: Any = importlib.import_module("cudnn")
        found = Convolutions(backend, cudnn, launch.stream_of(cupy))
    except Exception:  # ImportError, or the frontend finds no cuDNN that it knows
        return

    def solved(
        way: str,
        first: Any,
        second: Any,
        shapes: tuple[Sizes, Sizes, Sizes],
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
    ) -> Any:
        """A problem of cuDNN's kind; `shapes` of input, weight and output."""
        if type(first) is not backend.array or type(second) is not backend.array:
            return None
        if first.dtype != second.dtype or first.dtype.name not in _TYPES or not cudnn_is_on():
            return None
        if any([0 in shape for shape in shapes]) or any([p < 0 for p in padding]):
            return None
        if min(shapes[2][2:]) < 1:
            return None
        short = len(stride) == 1  # cuDNN has two and three dimensions
        input, weight, output = [_padded(shape, short) for shape in shapes]
        problem = Problem(
            way,
            first.dtype.name,
            tf32_in_convolutions(),
            input,
            weight,
            output,
            (1, *stride) if short else tuple(stride),
            (0, *padding) if short else tuple(padding),
            (1, *dilation) if short else tuple(dilation),
        )
        result = found.run(problem, first, second)
        target = {"forward": shapes[2], "input": shapes[0], "weight": shapes[1]}[way]
        return result.reshape(target) if short and result is not None else result

    def forward(
        input: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int
    ) -> Any:
        if input.ndim != weight.ndim or input.shape[1] != weight.shape[1] * groups:
            return None
        output = convolution_output_shape(input.shape, weight.shape, stride, padding, dilation)
        shapes = (input.shape, weight.shape, output)
        return solved("forward", input, weight, shapes, stride, padding, dilation)

    def convolution(
        input: Any,
        weight: Any,
        bias: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        transposed: bool,
        output_padding: Any,
        groups: int,
    ) -> Any:
        if transposed:
            return None
        result = forward(input, weight, stride, padding, dilation, groups)
        if result is None or bias is None:
            return result
        return backend.raw.add(result, bias.reshape(-1, *(1,) * len(stride)))

    def of_input(
        g: Any,
        weight: Any,
        shape: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
    ) -> Any:
        if shape[1] != weight.shape[1] * groups:
            return None
        shapes = (tuple(shape), weight.shape, g.shape)
        return solved("input", g, weight, shapes, stride, padding, dilation)

    def of_weight(
        gradient: Any, input: Any, shape: Any, stride: Any, padding: Any, dilation: Any, groups: int
    ) -> Any:
        if input.shape[1] != shape[1] * groups:
            return None
        shapes = (input.shape, tuple(shape), gradient.shape)
        return solved("weight", input, gradient, shapes, stride, padding, dilation)

    own_first(backend, "convolution", convolution)
    own_first(backend, "_convolution_input_gradient", of_input)
    own_first(backend, "_convolution_weight_gradient", of_weight)
