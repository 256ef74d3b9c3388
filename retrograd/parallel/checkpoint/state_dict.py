"""States of models and optimizers under the parameters' own names, whatever wraps the model.

>>> model = torch.nn.Linear(1, 1)
>>> optimizer = torch.optim.Adam(model.parameters())
>>> states = torch.distributed.checkpoint.state_dict
>>> sorted(states.get_optimizer_state_dict(model, optimizer)["state"])
['bias', 'weight']
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from retrograd.distributed.group import get_rank, is_initialized
from retrograd.nn.module import Module
from retrograd.nn.module_state import IncompatibleKeys
from retrograd.nn.parallel.distributed import DistributedDataParallel
from retrograd.ops.making.creation import zeros_like
from retrograd.optim.optimizer import Optimizer

__all__ = [
    *("StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict"),
    *("set_model_state_dict", "set_optimizer_state_dict", "set_state_dict"),
]

Optimizers = Optimizer | Iterable[Optimizer]


@dataclass
class StateDictOptions:
    """How states are taken and given back.

    full_state_dict       every state is full here; with `cpu_offload` only the first process gets
                          it, the others an empty one
    ignore_frozen_params  leave out parameters that require no gradient
    strict                as in `load_state_dict`
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"

    def __post_init__(self) -> None:
        for name in ("broadcast_from_rank0", "flatten_optimizer_state_dict"):
            if getattr(self, name):
                raise NotImplementedError(
                    f"torch.distributed.checkpoint.state_dict.StateDictOptions({name}=True) is "
                    "not supported by retrograd"
                )


def _own_name(model: Module, name: str) -> str:
    """A name in a model without the steps into the modules of wrappers."""
    kept: list[str] = []
    inside: object = model
    for part in name.split("."):
        if not (isinstance(inside, DistributedDataParallel) and part == "module"):
            kept.append(part)
        inside = getattr(inside, part, None)
    return ".".join(kept)


def _is_mine(options: StateDictOptions) -> bool:
    nothing = options.full_state_dict and options.cpu_offload
    return not (nothing and is_initialized() and get_rank() != 0)


def _refuse_submodules(submodules: object) -> None:
    if submodules:
        raise NotImplementedError(
            "torch.distributed.checkpoint.state_dict with submodules=... is not supported by "
            "retrograd: give the submodule as the model"
        )


def get_model_state_dict(
    model: Module, *, submodules: object = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model."""
    _refuse_submodules(submodules)
    options = options or StateDictOptions()
    if not _is_mine(options):
        return {}
    frozen = set()
    if options.ignore_frozen_params:
        frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    return {
        _own_name(model, name): value
        for name, value in model.state_dict().items()
        if name not in frozen
    }


def set_model_state_dict(
    model: Module, model_state_dict: Mapping[str, Any], *, options: StateDictOptions | None = None
) -> IncompatibleKeys:
    """Give a model its state back."""
    options = options or StateDictOptions()
    wrapped = {_own_name(model, name): name for name in model.state_dict()}
    state = {wrapped.get(name, name): value for name, value in model_state_dict.items()}
    found: IncompatibleKeys = model.load_state_dict(state, strict=options.strict)
    return found


def _several(optimizers: Optimizers) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _names(model: Module) -> dict[int, str]:
    return {id(p): _own_name(model, name) for name, p in model.named_parameters()}


def _with_states(optimizer: Optimizer) -> None:
    """Let an optimizer have states before its first step, by one that changes no parameter."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in parameters):
        return
    for parameter in parameters:
        if parameter.requires_grad:
            parameter.grad = zeros_like(parameter)
    rates = [group.get("lr") for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = group["lr"] * 0.0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if "lr" in group:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    submodules: object = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of a model's optimizers, by the names of the parameters."""
    _refuse_submodules(submodules)
    if not _is_mine(options or StateDictOptions()):
        return {}
    found: dict[str, Any] = {"state": {}, "param_groups": []}
    names = _names(model)
    for optimizer in _several(optimizers):
        _with_states(optimizer)
        told = optimizer.state_dict()
        numbers: dict[int, str] = {}
        for group, numbered in zip(optimizer.param_groups, told["param_groups"], strict=True):
            own = [names[id(parameter)] for parameter in group["params"]]
            numbers.update(zip(numbered["params"], own, strict=True))
            found["param_groups"].append({**numbered, "params": own})
        found["state"].update((numbers[number], state) for number, state in told["state"].items())
    return found


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizers,
    optim_state_dict: Mapping[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Give a model's optimizers their state back."""
    names = _names(model)
    groups = {name: group for group in optim_state_dict["param_groups"] for name in group["params"]}
    for optimizer in _several(optimizers):
        told = optimizer.state_dict()
        state = {}
        for group, numbered in zip(optimizer.param_groups, told["param_groups"], strict=True):
            for parameter, number in zip(group["params"], numbered["params"], strict=True):
                name = names[id(parameter)]
                if name not in groups:
                    raise RuntimeError(f"The optimizer state of {name} is missing.")
                if name in optim_state_dict["state"]:
                    state[number] = optim_state_dict["state"][name]
                kept = {key: value for key, value in groups[name].items() if key != "params"}
                numbered.update(kept)
        optimizer.load_state_dict({"state": state, "param_groups": told["param_groups"]})


def get_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    submodules: object = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizers."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    model_state_dict: Mapping[str, Any],
    optim_state_dict: Mapping[str, Any],
    options: StateDictOptions | None = None,
) -> IncompatibleKeys:
    """Give a model and its optimizers their states back."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
