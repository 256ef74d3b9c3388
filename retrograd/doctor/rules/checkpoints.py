"""Errors of the reentrant checkpoint, which the other form does not have."""

from __future__ import annotations

from retrograd.diagnostics.catalogue import find
from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import raised
from retrograd.doctor.evidence.raised import Raised
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source

CHOSEN_INPUTS = (
    "torch.utils.checkpoint is incompatible with .grad()",
    "Checkpointing is not compatible with .grad()",
)
NOTHING_TO_SEND = "this checkpoint() is not necessary"
KEYWORDS = "Unexpected keyword arguments: "
CALLS = ("checkpoint", "checkpoint_sequential")


def reentrant(watched: Watched) -> Diagnosis | None:
    """A checkpoint that sends back on its own, where it may not or cannot."""
    at = raised.find(watched, *CHOSEN_INPUTS, NOTHING_TO_SEND, KEYWORDS)
    if at is None or not any("checkpoint" in f.f_code.co_filename for f in at.library):
        return None
    stack = _called(at, watched)
    if not stack:
        return None
    known = find(str(at.error))
    text = str(at.error)
    title = "a checkpoint with use_reentrant=True was asked for gradients of chosen inputs"
    why = (
        "The reentrant form runs a backward pass of its own inside of the backward pass, which "
        "fills .grad of everything it meets; it cannot be told to stop at inputs."
    )
    if NOTHING_TO_SEND in text:
        title = "a checkpoint with use_reentrant=True has nothing to send back when it runs again"
        why = (
            "The reentrant form sees only the tensors that its function is given and returns. What "
            "it computes again has no history there: results inside of lists or dicts, or made "
            "with gradients off, are not seen."
        )
    elif KEYWORDS in text:
        title = "a checkpoint with use_reentrant=True is given arguments by name"
        why = "The reentrant form hands on only arguments that are given by position."
    place = stack[-1]
    return Diagnosis(
        code=known[0].code if known is not None else "",
        cause="" if known is not None else "wrong-call",
        title=title,
        why=why,
        error_line=at.place,
        created_at=list(dict.fromkeys([*reversed(stack), at.place])),
        fixes=[
            Fix("fix-checkpoint-call", place, "pass use_reentrant=False: it has no such limits")
        ],
        error=at.message,
        spans=[Span("checkpointed", place, stack), Span("failed", at.place, at.stack)],
    )


def _called(at: Raised, watched: Watched) -> list[Place]:
    """The way to the checkpoint: the error is raised there, or out of the node that it made."""
    failure = watched.recorder.failure
    if failure is not None and failure.error is at.error:
        made = [
            number
            for node, number in failure.nodes.items()
            if "CheckpointFunction" in type(node).__name__ or "CheckpointFunction" in node.name()
        ]
        for number in sorted(made, reverse=True):
            stack = [place for _, place in failure.call.log.stack_of(number)]
            if stack:
                return _to_the_call(stack)
        return []
    return _to_the_call(at.stack)


def _to_the_call(stack: list[Place]) -> list[Place]:
    """The stack up to the line that calls `checkpoint`."""
    for length in range(len(stack), 0, -1):
        if any(
            name in source.text_at(stack[length - 1].file, stack[length - 1].line) for name in CALLS
        ):
            return stack[:length]
    return stack
