"""Modules as functions of their parameters: `functional_call`, `stack_module_state`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.nn.module import Module
from retrograd.nn.utils.stateless import call_with
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: object,
    args: object = None,
    kwargs: dict[str, object] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with the given tensors in place of its parameters and buffers.

    parameter_and_buffer_dicts  tensors by name, or several dictionaries of them
    args, kwargs                of the call; a single argument needs no tuple
    tie_weights                 a tensor given for one of several tied names replaces all of them
    strict                      names must be complete, and known

    >>> layer = torch.nn.Linear(2, 1)
    >>> state = {"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.zeros(1)}
    >>> torch.func.functional_call(layer, state, torch.tensor([3.0, 4.0]))
    tensor([11.])
    """
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        given = _merged(given)
    return call_with(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def _merged(dictionaries: object) -> dict[str, Tensor]:
    if not isinstance(dictionaries, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dictionaries)}"
        )
    if not all(isinstance(part, dict) for part in dictionaries):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for part in dictionaries for name in part]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {name: tensor for part in dictionaries for name, tensor in part.items()}


def stack_module_state(models: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several modules of one class, stacked by name.

    >>> layers = [torch.nn.Linear(2, 1) for _ in range(3)]
    >>> parameters, buffers = torch.func.stack_module_state(layers)
    >>> parameters["weight"].shape
    torch.Size([3, 1, 2])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({bool(model.training) for model in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return _stacked(parameters), _stacked(buffers)


def _stacked(states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: _stacked_leaf(name, [state[name] for state in states]) for name in states[0]}


def _stacked_leaf(name: str, tensors: list[Tensor]) -> Tensor:
    wanted = {tensor.requires_grad for tensor in tensors}
    if len(wanted) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    result: Tensor = RECORDED.stack(tensors)
    return result.detach().requires_grad_() if wanted == {True} else result


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Make every batch normalization in a module forget its running statistics, in place.

    They are written during the forward, which a transform cannot follow.
    """
    for module in root.modules():
        kinds = [kind.__name__ for kind in type(module).__mro__]
        if "_BatchNorm" in kinds and module.track_running_stats:
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
