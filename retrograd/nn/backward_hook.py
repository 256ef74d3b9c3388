"""The full backward hooks of a module's calls: nodes before and after it that see the gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from retrograd.autograd.function import Function
from retrograd.engine.grad_mode import is_grad_enabled
from retrograd.lifecycle.site import user_level
from retrograd.nn.module import Module
from retrograd.nn.module_hooks import Hook
from retrograd.tensor import Tensor

_NO_INPUT_GRADIENTS = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since "
    "no inputs require gradients. See https://docs.pytorch.org/docs/main/generated/"
    "torch.nn.Module.html#torch.nn.Module.register_full_backward_hook for more details."
)


class BackwardHookFunction(Function):
    """Hands its tensors on: one node in the graph that all their gradients pass together."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*[tensor for tensor in args if not tensor.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *grads: object) -> tuple[object, ...] | None:
        return grads


class BackwardHook:
    """The full backward hooks of one call of a module.

    One node is put behind the module's arguments and one in front of its results. Backward first
    passes the node of the results, where the pre-hooks run, and then the node of the arguments,
    where the hooks run and see the gradients on both sides.
    """

    def __init__(
        self, module: Module | str, user_hooks: Sequence[Hook], user_pre_hooks: Sequence[Hook]
    ) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs: tuple[object, ...] | None = None
        self.n_inputs = -1
        self.n_outputs = -1
        self.input_tensors_index: list[int] | None = None
        self.output_tensors_index: list[int] | None = None

    def setup_input_hook(self, args: tuple[object, ...]) -> tuple[object, ...]:
        """The module's arguments, their tensors behind a node on which the hooks run."""
        passed, self.input_tensors_index = _through_node(args, self._at_inputs)
        self.n_inputs = len(args)
        return passed

    def setup_output_hook(self, args: Tensor) -> Any:
        """The module's results, their tensors behind a node on which the pre-hooks run."""
        results = args if isinstance(args, tuple) else (args,)
        passed, self.output_tensors_index = _through_node(results, self._at_outputs)
        self.n_outputs = len(results)
        return passed if isinstance(args, tuple) else passed[0]

    def _at_outputs(self, _: object, grad_output: tuple[object, ...]) -> tuple[object, ...] | None:
        assert self.output_tensors_index is not None
        seen = _spread(self.output_tensors_index, grad_output, self.n_outputs)
        for hook in self.user_pre_hooks:
            changed = hook(self.module, seen)
            if changed is None:
                continue
            if len(changed) != len(seen):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, got "
                    f"{len(changed)}, but expected {len(seen)}"
                )
            seen = changed
        if self.input_tensors_index is None:
            self._run_without_inputs(seen)
        else:
            self.grad_outputs = seen
        return tuple(seen[index] for index in self.output_tensors_index)

    def _run_without_inputs(self, grad_outputs: tuple[object, ...]) -> None:
        warnings.warn(_NO_INPUT_GRADIENTS, stacklevel=user_level())
        nothing = (None,) * self.n_inputs
        for hook in self.user_hooks:
            changed = hook(self.module, nothing, grad_outputs)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or any(part is not None for part in changed):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )

    def _at_inputs(self, grad_input: tuple[object, ...], _: object) -> tuple[object, ...] | None:
        if self.grad_outputs is None:  # the walk did not come through the module's results
            return None
        assert self.input_tensors_index is not None
        seen = _spread(self.input_tensors_index, grad_input, self.n_inputs)
        for hook in self.user_hooks:
            changed = hook(self.module, seen, self.grad_outputs)
            if changed is None:
                continue
            if len(changed) != len(seen):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, got "
                    f"{len(changed)}, but expected {len(seen)}"
                )
            seen = changed
        self.grad_outputs = None
        return tuple(seen[index] for index in self.input_tensors_index)


def _spread(places: list[int], values: Sequence[object], size: int) -> tuple[object, ...]:
    """The values at their places among `size`, and None elsewhere."""
    found: list[object] = [None] * size
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return tuple(found)


def _through_node(
    values: tuple[Any, ...], hook: Callable[..., Any]
) -> tuple[tuple[Any, ...], list[int] | None]:
    """The values, their tensors behind one node with this hook, and the places of the tensors.

    No places, and the same values, where no gradient will come.
    """
    places = [index for index, value in enumerate(values) if isinstance(value, Tensor)]
    if not is_grad_enabled() or not any(values[index].requires_grad for index in places):
        return values, None
    passed = BackwardHookFunction.apply(*[values[index] for index in places])
    node = next(tensor.grad_fn for tensor in passed if tensor.grad_fn is not None)
    node.register_hook(hook)
    found = list(values)
    for index, tensor in zip(places, passed, strict=True):
        found[index] = tensor
    rebuilt = tuple(found) if type(values) is tuple else type(values)(*found)
    return rebuilt, places
