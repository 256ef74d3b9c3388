"""A module or function whose passes are CUDA graphs: for `make_graphed_callables`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from retrograd.autograd.api import grad
from retrograd.autograd.function import Function
from retrograd.engine.grad_mode import enable_grad
from retrograd.nn.module import Module
from retrograd.replay.cuda_graphs import CUDAGraph, Handle, cupy_stream, graph
from retrograd.tensor import Tensor
from retrograd.transforms.trees import flatten, unflatten


class Graphed:
    """The two graphs of one callable, and the tensors that they read and write."""

    def __init__(
        self, function: Any, sample: tuple[Any, ...], warm_up: int, allow_unused: bool
    ) -> None:
        self.function = function
        self.allow_unused = allow_unused
        self.module = function if isinstance(function, Module) else None
        if self.module is not None:
            self._check(self.module)
        arguments, self.spec = flatten(sample)
        if not all(isinstance(x, Tensor) for x in arguments):
            raise TypeError(
                "In the beta API, sample_args for each callable must contain only Tensors. Other "
                "types are not allowed."
            )
        self.sample = tuple(arguments)
        parameters = [] if self.module is None else list(self.module.parameters())
        self.inputs: tuple[Tensor, ...] = (*self.sample, *parameters)
        self.trained = self.module is None or self.module.training
        self._warm_up(warm_up)

    def _check(self, module: Module) -> None:
        if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks:
            raise RuntimeError(
                "Modules must not have hooks registered at the time they are passed. However, "
                "registering hooks on modules after passing them through make_graphed_callables "
                "is allowed."
            )
        if any(buffer.requires_grad for buffer in module.buffers()):
            raise RuntimeError(
                "In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only "
                "parameters may be trainable. All buffers must have ``requires_grad=False``."
            )

    def _called(self) -> tuple[list[Tensor], Any]:
        with enable_grad():
            found = self.function(*unflatten(list(self.sample), self.spec))
        outputs, spec = flatten(found)
        return outputs, spec

    def _gradients(self, outputs: list[Tensor], starts: list[Tensor]) -> Any:
        roots = [out for out in outputs if out.requires_grad]
        leaves = [x for x in self.inputs if x.requires_grad]
        return (
            grad(roots, leaves, starts, allow_unused=self.allow_unused) if roots and leaves else ()
        )

    def _warm_up(self, count: int) -> None:
        """What a first call decides (compiled kernels, plans) is decided before the recording."""
        graph_stream = graph(CUDAGraph())
        with cupy_stream(graph_stream.capture_stream):
            for _ in range(count):
                outputs, _spec = self._called()
                starts = [_ones(out) for out in outputs if out.requires_grad]
                self._gradients(outputs, starts)
        graph_stream._cupy.cuda.runtime.deviceSynchronize()

    def capture_forward(self, pool: Handle) -> None:
        """Record the forward pass."""
        self.forward_graph = CUDAGraph()
        with graph(self.forward_graph, pool=pool):
            self.outputs, self.output_spec = self._called()

    def capture_backward(self, pool: Handle) -> None:
        """Record the backward pass."""
        self.backward_graph = CUDAGraph()
        self.starts = [_ones(out) if out.requires_grad else None for out in self.outputs]
        with graph(self.backward_graph, pool=pool):
            found = iter(self._gradients(self.outputs, [s for s in self.starts if s is not None]))
            self.gradients = [next(found, None) if x.requires_grad else None for x in self.inputs]
        self.outputs = [out.detach() for out in self.outputs]

    def published(self) -> Any:
        """What takes the place of the callable."""
        replayed = self._replayed()
        module = self.module
        if module is None:
            return replayed
        ordinary = module.forward

        @functools.wraps(ordinary)
        def forward(*args: Any, **options: Any) -> Any:
            if module.training == self.trained:
                return replayed(*args, **options)
            return ordinary(*args, **options)

        module.forward = forward  # type: ignore[method-assign]
        return module

    def _replayed(self) -> Callable[..., Any]:
        own = self

        class _Graphed(Function):
            @staticmethod
            def forward(ctx: Any, *inputs: Tensor) -> tuple[Tensor, ...]:
                for static, given in zip(own.sample, inputs, strict=False):
                    if static.data_ptr() != given.data_ptr():
                        static.detach().copy_(given)
                own.forward_graph.replay()
                return tuple(out.detach() for out in own.outputs)

            @staticmethod
            def backward(ctx: Any, *starts: Tensor) -> tuple[Tensor | None, ...]:
                for static, given in zip(own.starts, starts, strict=True):
                    if static is not None and static.data_ptr() != given.data_ptr():
                        static.copy_(given)
                own.backward_graph.replay()
                return tuple(None if g is None else g.detach() for g in own.gradients)

        _Graphed.__name__ = _Graphed.__qualname__ = "Graphed"

        def replayed(*args: Any) -> Any:
            given, _ = flatten(args)
            found = _Graphed.apply(*given, *self.inputs[len(self.sample) :])
            outputs = list(found) if isinstance(found, tuple) else [found]
            return unflatten(outputs, self.output_spec)

        return replayed


def _ones(out: Tensor) -> Tensor:
    return out.detach().clone().fill_(1)
