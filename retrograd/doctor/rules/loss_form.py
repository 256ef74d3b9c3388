"""A loss that is given what it does not expect: it trains, but something else."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.loss_forms import LossForm

TIMES = 2  # calls in which the same is seen

Stack = list[Place]
Lines = tuple[Stack, Stack]  # of the loss and of what it is given


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line of a loss and kind of mistake."""
    seen: dict[tuple[str, Place], list[tuple[LossForm, Lines]]] = {}
    for call, form in watched.recorder.loss_forms:
        loss = [place for _, place in call.log.stack_of(form.loss)]
        given = [place for _, place in call.log.stack_of(form.given)]
        if form.kind == "crossed" and loss and _is_put_across(loss[-1]):
            continue
        if call.kind == "backward" and loss and given:
            seen.setdefault((form.kind, loss[-1]), []).append((form, (loss, given)))
    return [
        _WORDS[kind](*found[-1], len(found))
        for (kind, _), found in seen.items()
        if len(found) >= TIMES
    ]


ACROSS = (".T", ".t()", ".mT", "transpose", "None", "unsqueeze", "permute", "outer", "cdist")
"""Words in a line that compares all with all on purpose."""


def _is_put_across(place: Place) -> bool:
    statement = source.statement_at(place.file, place.line)
    text = "" if statement is None else ast.unparse(statement)
    return any(word in text for word in ACROSS)


def _twice(form: LossForm, lines: Lines, times: int) -> Diagnosis:
    loss, given = lines
    applied = "log_softmax" if form.function == "cross_entropy" else "sigmoid"
    return Diagnosis(
        cause="wrong-loss-input",
        title=f"`{form.function}` is given what has gone through {form.name} already",
        why=f"The loss of line {loss[-1].line} applies {applied} itself: it expects raw scores. "
        f"What it gets is the {form.name} of line {given[-1].line}: all its values lie between 0 "
        "and 1, so the loss cannot become small and its gradients are weak. "
        f"{times} calls that were looked at did so.",
        error_line=loss[-1],
        created_at=list(dict.fromkeys([*reversed(given), *reversed(loss)])),
        fixes=_at_each(
            "match-loss",
            [given, loss],
            [f"give the loss the values before {form.name}", "or take the loss that expects them"],
        ),
        spans=[Span("squashed", given[-1], given), Span("once more", loss[-1], loss)],
        facts={"calls": times, "activation": form.name, "function": form.function},
    )


def _no_log(form: LossForm, lines: Lines, times: int) -> Diagnosis:
    loss, given = lines
    what = f"the {form.name}" if form.name else "raw scores"
    return Diagnosis(
        cause="wrong-loss-input",
        title="`nll_loss` is given values that are no logarithms of probabilities",
        why=f"The loss of line {loss[-1].line} is minus the value of the right class: it expects "
        f"the result of log_softmax. What it gets is {what} of line {given[-1].line}: without the "
        "logarithm it has no lower bound, and no class is compared with the others. "
        f"{times} calls that were looked at did so.",
        error_line=loss[-1],
        created_at=list(dict.fromkeys([*reversed(loss), *reversed(given)])),
        fixes=_at_each(
            "match-loss",
            [given, loss] if form.name else [loss, given],
            ["give the loss the result of log_softmax", "or take cross_entropy of raw scores"],
        ),
        spans=[Span("given", given[-1], given), Span("compared", loss[-1], loss)],
        facts={"calls": times, "activation": form.name, "function": form.function},
    )


def _crossed(form: LossForm, lines: Lines, times: int) -> Diagnosis:
    loss, given = lines
    one, other = ("a column", "a row") if form.column else ("a row", "a column")
    done = "compares each value with all others" if form.name == "difference" else "multiplies all"
    return Diagnosis(
        cause="loss-broadcast",
        title=f"{one} and {other} are broadcast to a square: the loss {done}",
        why=f"The {form.name} of line {loss[-1].line} is made of {one}, shape "
        f"{'(N, 1)' if form.column else '(N,)'}, and of {other}, shape "
        f"{'(N,)' if form.column else '(N, 1)'}: the result is of shape (N, N), and its mean goes "
        f"over all pairs instead of over N samples. {times} calls that were looked at did so.",
        error_line=loss[-1],
        created_at=list(dict.fromkeys([*reversed(loss), *reversed(given)])),
        fixes=_at_each("match-shapes", [loss], ["give both sides the same shape"]),
        spans=[Span("made", given[-1], given), Span("broadcast", loss[-1], loss)],
        facts={
            "calls": times,
            "column": form.column,
            "second": form.second,
            "function": form.function,
            "product": form.name == "product",
        },
    )


def _at_each(kind: str, stacks: list[Stack], texts: list[str]) -> list[Fix]:
    """A fix at the innermost line of each stack; those in one file as the first count first."""
    places = dict.fromkeys(stack[-1] for stack in stacks if os.path.exists(stack[-1].file))
    return [Fix(kind, place, text) for place, text in zip(places, texts, strict=False)]


_WORDS: dict[str, Callable[[LossForm, Lines, int], Diagnosis]] = {
    "twice": _twice,
    "no-log": _no_log,
    "crossed": _crossed,
}
