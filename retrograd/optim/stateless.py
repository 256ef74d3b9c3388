"""An optimizer that works for a while on other parameters, with other state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from retrograd.optim.optimizer import Optimizer
from retrograd.tensor import Tensor

__all__ = ["swap_in_optimizer_params_and_state"]

_REQUIRES = "swap_in_optimizer_params_and_state requires"


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer,
    swapin_parameters: dict[str, Tensor],
    swapin_optim_state: dict[str, object],
) -> Iterator[None]:
    """Let an optimizer update other parameters with other state, in the form of `state_dict`.

    Tensors of the given state are updated in place; entries that a step adds are not kept.

    >>> layer = torch.nn.Linear(1, 1)
    >>> optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    >>> layer(torch.ones(1)).sum().backward()
    >>> optimizer.step()
    >>> other = {name: torch.zeros_like(p) for name, p in layer.named_parameters()}
    >>> for tensor in other.values():
    ...     tensor.grad = torch.ones_like(tensor)
    >>> with torch.optim.swap_in_optimizer_params_and_state(
    ...     optimizer, other, optimizer.state_dict()
    ... ):
    ...     optimizer.step()
    >>> other["bias"]
    tensor([-0.1900])
    """
    state, groups = _checked(optimizer, swapin_optim_state)
    chosen = _dealt(groups, state, list(swapin_parameters.values()))
    state_before = optimizer.state
    groups_before = [dict(group) for group in optimizer.param_groups]
    swapped: defaultdict[Any, Any] = defaultdict(dict)
    try:
        for live, given, parameters in zip(optimizer.param_groups, groups, chosen, strict=True):
            live.update(given)
            live["params"] = parameters
            for parameter, number in zip(parameters, given["params"], strict=True):
                swapped[parameter] = dict(state.get(number, {}))
        optimizer.state = swapped
        yield
    finally:
        for live, before in zip(optimizer.param_groups, groups_before, strict=True):
            live.clear()
            live.update(before)
        optimizer.state = state_before


def _checked(
    optimizer: Optimizer, given: dict[str, object]
) -> tuple[dict[object, Any], list[dict[str, Any]]]:
    """State and groups, if they have the form of this optimizer's state dict."""
    if not optimizer.state:
        raise RuntimeError(f"{_REQUIRES} initialized optimizer state.")
    if not isinstance(given, dict):
        raise RuntimeError(f"{_REQUIRES} a DCP-style optimizer state_dict.")
    state, groups = given.get("state"), given.get("param_groups")
    if not isinstance(state, dict):
        raise RuntimeError(
            f"{_REQUIRES} swapin_optim_state['state'] to be a dict mapping packed parameter ids to "
            f"per-param state dicts, got {type(state).__name__}."
        )
    if any(isinstance(key, Tensor) for key in state):
        raise RuntimeError(
            f"{_REQUIRES} optimizer.state_dict()-style state keyed by packed parameter ids."
        )
    if any(isinstance(key, int) and not isinstance(held, dict) for key, held in state.items()):
        raise RuntimeError(f"{_REQUIRES} per-parameter optimizer state entries to be dictionaries.")
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{_REQUIRES} swapin_optim_state['param_groups'] to be a list of param-group dicts, "
            f"got {type(groups).__name__}."
        )
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError(
            "swapin_optim_state has a different number of parameter groups than the live optimizer."
        )
    for index, (live, group) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        _check_group(index, live, group)
    return state, groups


def _check_group(index: int, live: dict[str, Any], group: object) -> None:
    if not isinstance(group, dict):
        raise RuntimeError(f"{_REQUIRES} each optimizer param group to be a dictionary.")
    numbers = group.get("params")
    if not isinstance(numbers, list) or not all(isinstance(number, int) for number in numbers):
        raise RuntimeError(
            f"{_REQUIRES} optimizer.state_dict()-style param_groups[*]['params'] entries keyed by "
            "packed parameter ids."
        )
    if len(numbers) != len(live["params"]):
        raise RuntimeError(
            f"swapin_optim_state param group {index} has a different number of params than the "
            "live optimizer param group."
        )
    only_given = [key for key in group if key not in live]
    only_live = [key for key in live if key not in group]
    if only_given or only_live:
        raise RuntimeError(
            f"{_REQUIRES} optimizer.state_dict()-style param group keys to exactly match the live "
            f"optimizer group keys for group {index}. "
            f"Keys only in swap-in: {only_given}. Keys only in live: {only_live}."
        )


def _dealt(
    groups: list[dict[str, Any]], state: Mapping[object, object], parameters: list[Tensor]
) -> list[list[Tensor]]:
    """The parameters of each group, in order."""
    chosen = []
    start = 0
    for group in groups:
        end = start + len(group["params"])
        if end > len(parameters):
            raise RuntimeError(
                f"{_REQUIRES} the explicit parameter state to match optimizer.param_groups "
                "ordering."
            )
        chosen.append(parameters[start:end])
        start = end
    known = {number for group in groups for number in group["params"]}
    unknown = [key for key in state if key not in known]
    if unknown:
        raise RuntimeError(
            f"{_REQUIRES} swapin_optim_state['state'] to be keyed only by packed parameter ids "
            f"from param_groups[*]['params']; got extra keys {unknown!r}."
        )
    return chosen
