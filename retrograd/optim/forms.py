"""Optimizers as functions of lists: ``torch.optim.adam.adam(params, grads, exp_avgs, ...)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from retrograd.backend.quiet import quiet
from retrograd.engine.grad_mode import is_grad_enabled
from retrograd.lifecycle.site import user_site
from retrograd.optim.optimizer import Optimizer, State
from retrograd.optim.options import check_group
from retrograd.tensor import Tensor

# the lists that forms take, and under which name an optimizer keeps their entries in its state
_STATE = {
    "exp_avgs": "exp_avg",
    "exp_avg_sqs": "exp_avg_sq",
    "max_exp_avg_sqs": "max_exp_avg_sq",
    "exp_infs": "exp_inf",
    "mu_products": "mu_product",
    "square_avgs": "square_avg",
    "acc_deltas": "acc_delta",
    "grad_avgs": "grad_avg",
    "momentum_buffer_list": "momentum_buffer",
    "muon_momentum_bufs": "momentum_buffer",
    "row_vars": "row_var",
    "col_vars": "col_var",
    "variances": "variance",
    "state_sums": "sum",
    "axs": "ax",
    "mus": "mu",
    "etas": "eta",
    "prevs": "prev",
    "step_sizes": "step_size",
    "state_steps": "step",
}
# options that are one in a group and two in a form
_PAIRS = {
    "betas": ("beta1", "beta2"),
    "eps": ("eps1", "eps2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}


def step_lists(
    kind: type[Optimizer],
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    given: Mapping[str, Any],
) -> list[State]:
    """One step of an optimizer's rule; gives the state entries of each parameter.

    `given` are the arguments of the form, by name: the options, and the lists that the optimizer
    keeps in its state, with an entry or None for each parameter, or none at all.
    """
    for plural in ("state_steps", "mu_products"):
        if not all(isinstance(entry, Tensor) for entry in given.get(plural, ())):
            raise RuntimeError(
                f"API has changed, `{plural}` argument must contain a list of singleton tensors"
            )
    # these belong to PyTorch's fused implementations
    if any(given.get(name) is not None for name in ("grad_scale", "found_inf")):
        raise AssertionError("Expected grad_scale and found_inf to be None")
    lists = {_STATE[name]: entries for name, entries in given.items() if name in _STATE}
    options: Any = {name: value for name, value in given.items() if name not in _STATE}
    for name, (first, second) in _PAIRS.items():
        if first in given:
            options[name] = (given[first], given[second])
    parameters = list(params)
    check_group(kind.__name__, options, parameters)
    states: list[State] = [
        {
            name: entry
            for name, entries in lists.items()
            if entries and (entry := entries[number]) is not None
        }
        for number in range(len(parameters))
    ]
    rule = kind.__new__(kind)  # the rule needs no parameters of its own
    triples = list(zip(states, parameters, grads, strict=True))
    if is_grad_enabled() and any(map(_has_history, triples)):
        for state, parameter, gradient in triples:
            rule._record_one(options, state, parameter, gradient)
        return states
    code, lasti = user_site(3)
    with quiet():
        for state, parameter, gradient in triples:
            rule._update_one(options, state, parameter, gradient)
    rule._count_writes(parameters, code, lasti)
    return states


def _has_history(triple: tuple[State, Tensor, Tensor]) -> bool:
    state, *tensors = triple
    return any(tensor.requires_grad for tensor in (*tensors, *state.values()))
