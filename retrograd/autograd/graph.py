"""`torch.autograd.graph`: nodes, edges, and hooks on the graph."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from retrograd.autograd.custom.context import BackwardCFunction
from retrograd.autograd.multi_grad import register_multi_grad_hook as register_multi_grad_hook
from retrograd.autograd.mutation import (
    allow_mutation_on_saved_tensors as allow_mutation_on_saved_tensors,
)
from retrograd.autograd.saved_hooks import (
    disable_saved_tensors_hooks as disable_saved_tensors_hooks,
)
from retrograd.autograd.saved_hooks import save_on_cpu as save_on_cpu
from retrograd.autograd.saved_hooks import saved_tensors_hooks as saved_tensors_hooks
from retrograd.engine.edges import GradientEdge as GradientEdge
from retrograd.engine.edges import get_gradient_edge as get_gradient_edge
from retrograd.engine.hooks import RemovableHandle
from retrograd.engine.node import InputMetadata
from retrograd.engine.node import Node as _EngineNode
from retrograd.engine.views import bump
from retrograd.tensor import Tensor

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "region_activation_memory_budget",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


class Node(abc.ABC):
    """What every `grad_fn` is: one step of the recorded computation.

    >>> y = torch.ones(3, requires_grad=True).clone()
    >>> isinstance(y.grad_fn, torch.autograd.graph.Node)
    True
    >>> y.grad_fn.name()
    'CloneBackward0'
    """

    @abc.abstractmethod
    def name(self) -> str:
        """The node's name, such as ``MulBackward0``."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, each with the number of its output."""

    @abc.abstractmethod
    def metadata(self) -> dict[object, Any]:
        """A dictionary that lives as long as the node, for anything."""

    @abc.abstractmethod
    def _sequence_nr(self) -> int: ...

    @property
    @abc.abstractmethod
    def _input_metadata(self) -> tuple[InputMetadata, ...]: ...

    @abc.abstractmethod
    def _register_hook_dict(self, tensor: Tensor) -> None: ...

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., object]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after this node ran; it may replace the former."""

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., object]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before this node runs; it may replace grad_outputs."""


Node.register(_EngineNode)
Node.register(BackwardCFunction)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that tensors were written in place in a way that the library does not see.

    A backward pass that needs the values from before then raises, as after any in-place op.

    >>> x = torch.ones(2)
    >>> x.numpy()[0] = 5
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    if isinstance(tensor, Tensor):
        tensor = (tensor,)
    elif not isinstance(tensor, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for item in tensor:
        if not isinstance(item, Tensor):
            raise RuntimeError(
                "increment_version expects each element of the iterable to be a tensor"
            )
        if not item.is_inference():
            bump(item, "increment_version")


def region_activation_memory_budget(budget: float) -> NoReturn:
    """A setting for compiled code, which there is none of: raises, as in PyTorch's eager mode."""
    name = "torch.autograd.graph.region_activation_memory_budget"
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(f"{name}: expects a float, got {type(budget).__name__}")
    if not 0.0 <= budget <= 1.0:
        raise ValueError(f"{name}: must be in [0, 1], got {budget}")
    raise RuntimeError(
        f"{name} can only be used inside a torch.compile region; it has no effect in eager mode."
    )


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """A setting for devices with streams; without any there is nothing to warn of."""


def set_override_stale_capture_stream(enabled: bool) -> None:
    """A setting for devices with streams; without any there is nothing to override."""
