"""What strict mode says: RG119, and RG101 for nodes that saved nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..diagnostics.errors import RetrogradError, make_error
from ..diagnostics.report import Fix, Report, advice
from .evidence import CallFacts, NodeFacts, site_of
from .site import CallSite, user_site
from .why_freed import freed_error
from .wording import Story, call_name, describe_node, operation, out_of_place, saved_operand

_NO_BACKWARD = (
    "if no backward pass will come for it, let go of its graph (del, or a new value of the "
    "variable), or compute it under torch.no_grad()"
)
_AFTERWARDS = (
    "outside of strict mode, a backward pass through it ends with RG102, or, where no version "
    "counts the write (.data), gives a wrong gradient"
)


def walked_error(
    node: NodeFacts, consumer: NodeFacts | None, call: CallFacts, roots: Sequence[NodeFacts]
) -> RetrogradError:
    """A second walk through a node; what it saved, if anything, is freed."""
    note = (
        "strict mode stopped this call before it ran a node. Without it, nodes that saved nothing "
        "(a sum, a view) are walked again without a word; only one that needs a freed value stops"
    )
    return freed_error(node, consumer, call, roots, (note,))


def written_error(node: NodeFacts, saved_name: str, writer: str) -> RetrogradError:
    """A write to a value that `node` still keeps for a backward pass to come."""
    message = (
        f"strict mode: a value that {node.name()} saved for backward would be overwritten by "
        f"{writer}, and no backward pass has used it yet"
    )

    def tell() -> Report:
        here = CallSite(*user_site())
        what = saved_operand(node, saved_name)
        story = Story()
        story.add(site_of(node), f"saved here: {describe_node(node)}, keeps {what}")
        story.add(here, f"written here: {writer}", primary=True)
        why = (
            f"The derivative of `{operation(node)}` needs {what} as it was in the forward pass, "
            "and its graph is still waiting for a backward pass."
        )
        cause, helps = "inplace-after-save", _helps_for_writing(here)
        if writer.endswith(".step"):
            cause = "param-updated-before-backward"
            helps = [
                advice(f"call backward() on all losses before {writer}()", kind="reorder-step"),
                advice(
                    "after a backward(retain_graph=True), let go of the loss before the step",
                    kind="reset-state",
                ),
            ]
        title = f"a value that `{operation(node)}` still keeps for backward is written by {writer}"
        helps = [*helps, advice(_NO_BACKWARD, kind="no-grad")]
        return Report("RG119", title, story.finish(), why, tuple(helps), (_AFTERWARDS,), cause)

    return _error(message, tell)


def _helps_for_writing(site: CallSite) -> list[Fix]:
    return [
        advice(
            "write out of place, so that the saved value stays as it was",
            out_of_place(site),
            "clone-before-inplace",
        ),
        advice("or write after the backward pass that needs the old value", kind="reorder-step"),
    ]


def unseen_error(node: NodeFacts, saved_name: str, call: CallFacts | None) -> RetrogradError:
    """A saved value is not what it was, although no version has counted a write."""
    message = (
        f"strict mode: a value that {node.name()} saved for backward has changed since, by a write "
        "that no version counts"
    )

    def tell() -> Report:
        what = saved_operand(node, saved_name)
        story = Story()
        story.add(site_of(node), f"saved here: {describe_node(node)}, keeps {what}", primary=True)
        if call is not None:
            story.add(site_of(call), f"needed here: {call_name(call)}")
        why = (
            f"The checksum of {what} is another one than when it was saved. Something wrote its "
            "memory behind the library's back, so its line is not known: a NumPy array that "
            "shares it (from_numpy(), or numpy() before it was saved), DLPack, another library."
        )
        helps = (
            advice(
                "give the graph its own copy: torch.tensor(array) in place of from_numpy(array), "
                "or .clone()",
                kind="clone-before-inplace",
            ),
            advice("or write the array after the backward pass", kind="reorder-step"),
        )
        title = f"a value that `{operation(node)}` saved was changed by a write that nobody counted"
        return Report("RG119", title, story.finish(), why, helps, (), "uncounted-write")

    return _error(message, tell)


def _error(message: str, tell: Callable[[], Report]) -> RetrogradError:
    report: Report | None = None
    try:
        report = tell()
    except Exception:
        report = None  # the error itself matters more than its explanation
    return make_error(message, code="RG119", report=report)
