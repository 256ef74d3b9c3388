"""Causes of every autograd error other than the second backward."""

from __future__ import annotations

from collections.abc import Callable

from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules import (
    checkpoints,
    custom_function,
    empty_optimizer,
    inplace,
    leaves,
    no_history,
    not_finite,
    plain_number,
    recomputed,
    renormed,
    scaler_calls,
    transformed,
    unused_in_group,
    wrong_calls,
)
from retrograd.doctor.session import Watched

Rule = Callable[[Watched], Diagnosis | None]

RULES: tuple[Rule, ...] = (
    *(renormed.renormed, checkpoints.reentrant, inplace.written_after_save),
    *(inplace.leaf_in_place, inplace.view_in_place),
    *(leaves.non_scalar, no_history.no_history, no_history.unused_input),
    *(leaves.optimizer_over_result, leaves.inference_tensor, leaves.copied_with_history),
    *(leaves.flag_of_result, leaves.numpy_of_result, leaves.grad_of_result),
    *(empty_optimizer.empty_optimizer, custom_function.custom_function),
    *(recomputed.recomputed, transformed.non_scalar, transformed.hook_without_history),
    *(not_finite.ended_by_it, unused_in_group.unused_parameters),
    *(plain_number.number_sent_back, scaler_calls.scaler_calls, wrong_calls.wrong_call),
)


def diagnose(watched: Watched) -> list[Diagnosis]:
    """The diagnosis of the error that ended the program; [] if it is not about autograd."""
    if watched.error is None:
        return []
    for rule in RULES:
        found = rule(watched)
        if found is not None:
            return [found]
    return []
