"""Optimizers as functions of lists: ``torch.optim.adam.adam(params, grads, exp_avgs, ...)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from retrograd.backend.quiet import quiet
from retrograd.engine.grad_mode import is_grad_enabled
from retrograd.lifecycle.site import user_site
from retrograd.optim.optimizer import Optimizer
from retrograd.optim.options import check_group
from retrograd.tensor import Tensor


def step_lists(
    kind: type[Optimizer],
    group: dict[str, Any],
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    lists: Mapping[str, Sequence[Any]],
    **implementation: Any,
) -> list[dict[str, Any]]:
    """One step of an optimizer's rule; gives the state entries of each parameter.

    lists           what the optimizer keeps in its state, by name: an entry or None for each
                    parameter, or none at all
    implementation  `foreach` and the like, which choose one in PyTorch; `grad_scale` and
                    `found_inf` belong to fused ones and are None
    """
    for name, plural in (("step", "state_steps"), ("mu_product", "mu_products")):
        if not all(isinstance(entry, Tensor) for entry in lists.get(name, ())):
            raise RuntimeError(
                f"API has changed, `{plural}` argument must contain a list of singleton tensors"
            )
    if any(implementation.pop(name, None) is not None for name in ("grad_scale", "found_inf")):
        raise AssertionError("Expected grad_scale and found_inf to be None")
    group = {**group, **implementation}
    parameters = list(params)
    check_group(kind.__name__, group, parameters)
    states = [
        {
            name: entries[number]
            for name, entries in lists.items()
            if entries and entries[number] is not None
        }
        for number in range(len(parameters))
    ]
    rule = kind.__new__(kind)  # the rule needs no parameters of its own
    triples = list(zip(states, parameters, grads, strict=True))
    if is_grad_enabled() and any(map(_has_history, triples)):
        for state, parameter, gradient in triples:
            rule._record_one(group, state, parameter, gradient)
        return states
    code, lasti = user_site(3)
    with quiet():
        for state, parameter, gradient in triples:
            rule._update_one(group, state, parameter, gradient)
    rule._count_writes(parameters, code, lasti)
    return states


def _has_history(triple: tuple[dict[str, Any], Tensor, Tensor]) -> bool:
    state, *tensors = triple
    return any(tensor.requires_grad for tensor in (*tensors, *state.values()))
