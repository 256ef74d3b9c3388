"""A second backward of which no finished call of the same thread can be the first."""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching.records import Call


def diagnosis(watched: Watched) -> Diagnosis:
    """No call that was seen has released the graph: say what is certain."""
    failure = watched.recorder.failure
    assert failure is not None
    log = failure.call.log
    stack = log.places_of(failure.call.stack)
    failing = stack[-1] if stack else Place("?", 0)
    made = [place for _, place in log.stack_of(max(failure.call.roots, default=0))]
    first_line = str(failure.error).splitlines()[0]
    own = failure.call
    outer = _running_around(own, watched.recorder.calls)
    if outer is not None:
        return _inside_another(own, outer, f"{type(failure.error).__name__}: {first_line}")
    for call in watched.recorder.calls[: own.index]:
        if call.root_ids == own.root_ids and call.roots == own.roots and not call.retain:
            return Diagnosis(
                cause="same-loss-twice",
                title="backward is called again on a loss that another thread has sent back",
                why="The first backward released the values that the graph needs; nothing has "
                "computed the loss again since.",
                error_line=failing,
                created_at=list(dict.fromkeys(reversed(made))) or [failing],
                freed_at=call.log.place_of(call.stack),
                fixes=[Fix("remove-extra-backward", failing, "one backward gives the gradients")],
                spans=[Span("used again", failing, stack)],
                error=f"{type(failure.error).__name__}: {first_line}",
            )
    return Diagnosis(
        cause="shared-subgraph",
        title="a part of this graph was released by a call that was not seen",
        why="Another thread, compiled code, or a call before the program was watched has sent "
        "something back through the same graph.",
        error_line=failing,
        created_at=list(dict.fromkeys(reversed(made))) or [failing],
        fixes=[
            Fix("combine-losses", failing, "send what shares a forward pass back in one call"),
            Fix("recompute-forward", failing, "or run the forward pass again for this call"),
        ],
        spans=[Span("used again", failing, stack)],
        error=f"{type(failure.error).__name__}: {first_line}",
    )


def _running_around(own: Call, calls: list[Call]) -> Call | None:
    """The call inside of which another one was made, by a hook: its stack is where that begins."""
    for call in reversed(calls[: own.index] if own.nested and own.direct else []):
        depth = len(call.stack)
        if call.failed and call.log is own.log and own.stack[:depth] == call.stack:
            return call
    return None


def _inside_another(own: Call, outer: Call, error: str) -> Diagnosis:
    """A hook sends something back while the graph of it is being walked."""
    stack, around = own.log.places_of(own.stack), own.log.places_of(outer.stack)
    failing, running = stack[-1], around[-1]
    made = [place for _, place in own.log.stack_of(max(own.roots, default=0))]
    same = outer.root_ids == own.root_ids and outer.roots == own.roots
    again = "on the same loss" if same else "through the same graph"
    return Diagnosis(
        cause="same-loss-twice" if same else "shared-subgraph",
        title=f"backward is called {again} while the backward in line {running.line} is running",
        why=f"A hook calls it. The backward in line {running.line} releases each node when it has "
        "passed it, so the one inside of it comes to nodes that are released already.",
        error_line=failing,
        created_at=list(dict.fromkeys(reversed(made))) or [failing],
        freed_at=running,
        fixes=[
            Fix("remove-extra-backward", failing, "send it back after the other one, if at all"),
            Fix("recompute-forward", failing, "or send back what a forward of its own gives"),
        ],
        why_not_retain="Each backward would go through the whole graph, and the parameters would "
        "get the sum of both gradients.",
        spans=[Span("running", running, around), Span("used again", failing, stack)],
        error=error,
    )
