"""Why it happened: the errors of autograd, made from recorded facts.

Each function takes facts (nodes, calls, versions, cuts) and returns the exception to raise, with
PyTorch's message and a report. Nothing here keeps a node or a tensor, and nothing here fails: if an
explanation cannot be made, the plain error is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..diagnostics.catalogue import catalogue, find
from ..diagnostics.errors import RetrogradError, RetrogradWarning, make_error, make_warning
from ..diagnostics.report import Fix, Report, Span, advice
from .evidence import CallFacts, CutFacts, NodeFacts, VersionFacts, site_of, version_seen
from .operands import failed_call, origins
from .site import CallSite, user_site
from .why_freed import freed_error
from .wording import (
    Story,
    add_argument,
    append_to_receiver,
    call_name,
    describe_node,
    operation,
    out_of_place,
    quoted,
    receiver,
    remove_suffix,
    saved_operand,
    written,
)

__all__ = [
    "adopt",
    "coded_error",
    "coded_warning",
    "detached_error",
    "freed_error",
    "leaf_error",
    "modified_error",
    "no_grad_error",
    "nonleaf_grad_warning",
    "nonscalar_error",
    "unused_error",
    "view_error",
]


def coded_error(
    message: str,
    kind: type[Exception] = RuntimeError,
    *,
    code: str | None = None,
    label: str = "",
    **facts: Any,
) -> RetrogradError:
    """The error for a message of PyTorch's, with its code and the user's line.

    >>> coded_error("index 5 is out of bounds for dimension 0 with size 3", IndexError).code
    'RG204'
    """
    return make_error(message, kind, code=code, spans=_here(label), **facts)


def coded_warning(message: str, *, code: str | None = None, **facts: Any) -> RetrogradWarning:
    """The warning for a message of PyTorch's, to be passed to `warnings.warn`."""
    return make_warning(message, code=code, **facts)


def adopt(error: Exception, cause: object = None, label: str = "", code: str = "") -> Exception:
    """The coded twin of a plain exception, or the exception itself if its message has no code.

    `code` is stated by what raises it; of a message from elsewhere the catalogue finds it.
    `cause` has the `code` and `lasti` of an earlier line that is to blame; `label` says for what.

    >>> adopt(RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)")).code
    'RG202'
    """
    if isinstance(error, RetrogradError):
        return error
    found = None if code else find(str(error))
    code = code if found is None else found[0].code
    if not code:
        return error
    try:
        twin = _with_operands(error, code, cause, label)
    except Exception:
        twin = make_error(str(error), type(error), code=code)
    return twin.with_traceback(error.__traceback__)


# Errors whose report shows the tensors of the call: shapes, dtypes, sizes of batches.
_ABOUT_OPERANDS = ("RG2", "RG3", "RG604")


def _with_operands(error: Exception, code: str, cause: Any, label: str) -> RetrogradError:
    """The twin whose report shows the user's line and, for shapes and dtypes, its operands."""
    call = failed_call()
    said = ""
    facts: dict[str, Any] = {}
    if code.startswith(_ABOUT_OPERANDS):
        said = call.label(with_dtype=code.startswith("RG3"))
        facts = {"operands": [vars(operand) for operand in call.operands]}
        facts["of_layer"] = call.of_layer
    notes: tuple[str, ...] = ()
    if call.inside is not None:
        facts["inside"] = call.inside
        notes = () if call.inside in said else (call.inside,)
    story = Story()
    if code == "RG308":
        for where, place in origins(call):
            story.spans.append(Span(where, place, order=len(story.spans) + 1))
    if cause is not None:
        story.add(site_of(cause), label, primary=True)
        said = said or "noticed at the end of this call"
    story.add(call.site, said, primary=cause is None)
    spans = story.finish()
    return make_error(str(error), type(error), code=code, spans=spans, notes=notes, **facts)


# --- RG102, RG110: saved values -------------------------------------------------------------------


def modified_error(
    node: NodeFacts,
    saved_name: str,
    shape: Sequence[int],
    type_name: str,
    producer: str,
    expected: int,
    cell: VersionFacts,
    call: CallFacts | None = None,
    roots: Sequence[NodeFacts] = (),
    *,
    anomaly: bool = False,
) -> RetrogradError:
    """A value that `node` saved was written in place since.

    `type_name` is PyTorch's (`torch.FloatTensor`), `producer` is empty for a leaf or else the text
    `, which is output 0 of Mul,`.
    """
    hint = (
        "the backtrace further above shows the operation that failed to compute its gradient. "
        "The variable in question was changed in there or anywhere later. Good luck!"
        if anomaly
        else "enable anomaly detection to find the operation that failed to compute its gradient, "
        "with torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    message = (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [{type_name} {list(shape)}]{producer} is at version {cell.version}; expected "
        f"version {expected} instead. Hint: {hint}"
    )

    def tell() -> Report:
        return _modified(node, saved_name, bool(producer), expected, cell, call, roots)

    return _error(message, "RG102", tell)


def _modified(
    node: NodeFacts,
    saved_name: str,
    is_computed: bool,
    expected: int,
    cell: VersionFacts,
    call: CallFacts | None,
    roots: Sequence[NodeFacts],
) -> Report:
    writer = cell.writer or "an in-place operation"
    by_optimizer = writer.endswith(".step")
    saved_site, write_site = site_of(node), site_of(cell)
    writes = cell.version - expected
    story = Story()
    what = saved_operand(node, saved_name)
    kept = f"keeps {what} at version {expected}"
    story.add(saved_site, f"saved here: {describe_node(node)}, {kept}")
    last = "" if writes == 1 else f", the last of {writes} writes"
    story.add(write_site, f"changed here: {writer}{last}, now version {cell.version}", primary=True)
    needed = "the backward pass" if call is None else call_name(call)
    if call is not None:
        story.add(site_of(call), f"needed here: {needed}")
    earlier = call is not None and _ran_again(node, expected, cell, roots)
    helps: list[Fix] = []
    notes: list[str] = []
    if earlier:
        cause = "stale-state-carried"
        why = (
            f"`{operation(node)}` belongs to an earlier step, which is still part of this graph; "
            f"{writer} has changed since a value that its backward needs."
        )
        helps.append(
            advice("detach the value that links this step to the earlier one", kind="detach")
        )
        notes.append("retain_graph=True lets backward() reach the earlier step, but not its values")
    elif by_optimizer:
        cause = "param-updated-before-backward"
        why = (
            f"The forward pass used weights that {writer}() changed before {needed} came to them. "
            "Their gradient would mix old activations with new weights."
        )
        helps.append(advice(f"call this backward() before {writer}()", kind="reorder-step"))
        helps.append(
            advice("or run the forward pass again after the step", kind="recompute-forward")
        )
    else:
        cause = "inplace-after-save"
        why = (
            f"The derivative of `{operation(node)}` needs {what} as it was in the forward pass "
            f"(version {expected}); {writer} overwrote it (version {cell.version})."
        )
        if is_computed:
            edit = out_of_place(write_site)
            text = "write out of place, so that the saved value stays as it was"
            if edit is None and writer in ("index_put_", "copy_", "masked_fill_", "fill_"):
                text = "make a new tensor instead, for example with torch.where() or masked_fill()"
            helps.append(advice(text, edit, "clone-before-inplace"))
        else:
            text = "change it after the backward pass that needs the old value"
            helps.append(advice(text, kind="reorder-step"))
        copy = f"or give `{operation(node)}` a copy: .clone()"
        if what == "its result":
            copy = "or write to a copy of it: .clone()"
        helps.append(advice(copy, kind="clone-before-inplace"))
    title = f"a value that `{operation(node)}` saved for backward was changed by {writer}"
    return Report("RG102", title, story.finish(), why, tuple(helps), tuple(notes), cause)


def _ran_again(
    node: NodeFacts, expected: int, cell: VersionFacts, roots: Sequence[NodeFacts]
) -> bool:
    """Whether the graph holds a later pass of the node's line, which saw the changed value.

    One line makes many nodes (a call of a network), so a newer node alone is no proof.
    """
    site = site_of(node)
    seen = {id(root) for root in roots}
    waiting = list(roots)
    while waiting:
        current = waiting.pop()
        if current.sequence > node.sequence and site_of(current) == site:
            if version_seen(current, cell) > expected:
                return True
        for child in current.edges:
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                waiting.append(child)
    return False


def detached_error(node: NodeFacts, call: CallFacts | None = None) -> RetrogradError:
    """A tensor that `node` saved lost its history by detach_()."""
    message = (
        "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
        "This is not supported, please use out-of-place `.detach()` instead"
    )

    def tell() -> Report:
        story = Story()
        story.add(site_of(node), f"saved here: {describe_node(node)}")
        if call is not None:
            story.add(site_of(call), f"needed here: {call_name(call)}", primary=True)
        return Report(
            "RG110",
            f"an operand that `{operation(node)}` saved for backward was detached in place",
            story.finish(),
            "detach_() removes the history of the tensor itself, also for everything that was "
            "computed from it before.",
            (advice("use detach(), which returns a new tensor without history", kind="detach"),),
        )

    return _error(message, "RG110", tell)


# --- RG103, RG104: where backward starts ----------------------------------------------------------

_CUTS: dict[str, tuple[str, str, str, str]] = {
    # kind: (cause, label, why, help)
    "detach": (
        "broken-graph",
        "cut here: {operation} returns a tensor without history",
        "Everything computed after the cut is a constant for autograd.",
        "leave out the detach where this value should be trained through",
    ),
    "no_grad": (
        "no-grad-scope",
        "recording is off from here on ({operation})",
        "What is computed while gradients are off is a constant for autograd.",
        "compute what should be trained outside of it, or inside under torch.enable_grad()",
    ),
    "hook": (
        "no-grad-scope",
        "",
        "Hooks run without recording, unless backward() was called with create_graph=True.",
        "record inside the hook under `with torch.enable_grad():`",
    ),
    "data": (
        "broken-graph",
        "cut here: .data is a tensor without history",
        "Everything computed from .data is a constant for autograd.",
        "use the tensor itself",
    ),
    "inference": (
        "no-grad-scope",
        "recording is off from here on ({operation})",
        "What is computed in inference mode is a constant for autograd, for good.",
        "compute what should be trained outside of inference mode",
    ),
    "nondifferentiable": (
        "broken-graph",
        "cut here: {operation} has no derivative",
        "Its result does not change when its input changes by a little, or is a whole number.",
        "use a smooth operation in its place where the gradient should pass",
    ),
    "grad": (
        "missing-create-graph",
        "made here: the result of {operation} has no history without create_graph=True",
        "Gradients are recorded only on request, because few programs differentiate them again.",
        "pass create_graph=True to that call",
    ),
    "copy": (
        "broken-graph",
        "cut here: {operation} copies the values without their history",
        "A copy made from numbers is a new leaf.",
        "keep the tensor: use clone(), stack() or cat() to build it",
    ),
}

_SMOOTH = {
    "argmax": "softmax() gives weights for all entries; cross_entropy() takes the raw scores",
    "argmin": "softmax() of the negated values gives weights for all entries",
    "argsort": "a sort has gradients in its values, not in its indices",
    "round": "add the rounding error as a constant: x + (x.round() - x).detach()",
    "gt": "sigmoid() of the difference is a smooth comparison",
    "lt": "sigmoid() of the difference is a smooth comparison",
    "ge": "sigmoid() of the difference is a smooth comparison",
    "le": "sigmoid() of the difference is a smooth comparison",
    "eq": "a loss such as cross_entropy() measures agreement smoothly",
}


def no_grad_error(
    index: int, cut: CutFacts | None, call: CallFacts | None = None
) -> RetrogradError:
    """Root `index` of a backward pass has no history; `cut` is where its path was cut, if known."""
    message = f"element {index} of tensors does not require grad and does not have a grad_fn"

    def tell() -> Report:
        call_site = CallSite(*user_site()) if call is None else site_of(call)
        name = receiver(call_site)
        story = Story()
        helps: list[Fix] = []
        cause = ""
        why = "No recorded operation leads from it to a tensor that requires a gradient."
        facts = {} if cut is None else {"cut": cut.kind, "operation": cut.operation}
        known = None if cut is None else _CUTS.get(cut.kind)
        if cut is not None and known is not None:
            cause, label, why, text = known
            story.add(site_of(cut), label.format(operation=cut.operation), primary=True)
            helps.append(_mend(cut, text))
        else:
            helps.append(
                advice(
                    "set requires_grad=True on what should be trained, before the forward pass; "
                    "parameters of a module have it already",
                    kind="keep-graph",
                )
            )
            helps.append(
                advice(
                    "check the way for .item(), .numpy(), torch.tensor(...) or .data, which leave "
                    "the graph",
                    kind="keep-graph",
                )
            )
        primary = not story.spans
        story.add(call_site, "backward starts here, and has nowhere to go", primary=primary)
        title = f"{quoted(name, 'this tensor')} has no path to anything that requires a gradient"
        return Report("RG103", title, story.finish(), why, tuple(helps), cause=cause, facts=facts)

    return _error(message, "RG103", tell)


def _mend(cut: CutFacts, text: str) -> Fix:
    site = site_of(cut)
    if cut.kind == "detach":
        return advice(text, remove_suffix(site, ".detach()"), "keep-graph")
    if cut.kind == "data":
        return advice(text, remove_suffix(site, ".data"), "keep-graph")
    if cut.kind == "grad":
        return advice(text, add_argument(site, "create_graph=True"), "create-graph")
    if cut.kind in ("no_grad", "inference", "hook"):
        return advice(text, kind="enable-grad")
    smooth = _SMOOTH.get(cut.operation.rsplit(".", 1)[-1])
    return advice(f"{text}: {smooth}" if smooth else text, kind="keep-graph")


def nonscalar_error(shape: Sequence[int], call: CallFacts | None = None) -> RetrogradError:
    """backward() without a gradient on a tensor of several elements."""
    message = "grad can be implicitly created only for scalar outputs"

    def tell() -> Report:
        site = CallSite(*user_site()) if call is None else site_of(call)
        name = receiver(site)
        story = Story()
        story.add(site, f"{quoted(name, 'the output')} has shape {list(shape)}", primary=True)
        is_grad = call is not None and call.kind == "grad"
        keyword = "grad_outputs" if is_grad else "gradient"
        helps = (
            advice(
                "reduce it to one number first, usually with .mean() or .sum()",
                append_to_receiver(site, ".mean()"),
                "reduce-loss",
            ),
            advice(f"or pass one weight for each element: {keyword}=torch.ones_like(...)"),
        )
        return Report(
            "RG104",
            f"{quoted(name, 'the output')} has {_count(shape)} elements, and backward needs one",
            story.finish(),
            "A gradient is the slope of one number. For several outputs, their weights in the sum "
            "have to be given.",
            helps,
            cause="non-scalar",
        )

    return _error(message, "RG104", tell)


def _count(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def unused_error(index: int, call: CallFacts | None = None) -> RetrogradError:
    """Input `index` of autograd.grad() is not part of the graph."""
    message = (
        f"The differentiated Tensor at index {index} appears to not have been used in the graph. "
        "Set allow_unused=True if this is the desired behavior."
    )

    def tell() -> Report:
        site = CallSite(*user_site()) if call is None else site_of(call)
        story = Story()
        story.add(site, f"input {index} is not part of the graph of the outputs", primary=True)
        helps = (
            advice(
                "if that is expected, pass allow_unused=True: its gradient is then None",
                add_argument(site, "allow_unused=True"),
            ),
            advice(
                "otherwise pass the very tensor that the forward pass used: a view, a copy or a "
                "tensor made by .to() is another one",
                kind="keep-graph",
            ),
        )
        return Report(
            "RG109",
            f"the outputs do not depend on input {index}",
            story.finish(),
            "No recorded path leads from the outputs to this tensor.",
            helps,
            cause="not-used",
        )

    return _error(message, "RG109", tell)


# --- RG105, RG106, RG107: leaves and views --------------------------------------------------------


def leaf_error(writer: str, *, used: bool = False) -> RetrogradError:
    """An in-place operation on a leaf that requires a gradient; `used` inside a custom Function."""
    act = "has been" if used else "is being"
    message = f"a leaf Variable that requires grad {act} used in an in-place operation."

    def tell() -> Report:
        name = _written_name()
        return Report(
            "RG105",
            f"{quoted(name, 'a leaf')} requires a gradient and would be overwritten by {writer}",
            _here(f"{writer} writes {quoted(name, 'the leaf')} in place"),
            "A leaf is where gradients are collected. A recorded write would turn it into a "
            "computed tensor, and its old value would be lost to the graph.",
            (
                advice("for an update or an initial value, write under `with torch.no_grad():`"),
                advice("in a formula, use the out-of-place operation, which returns a new tensor"),
                advice("or write to a copy: .clone()"),
            ),
            cause="leaf-inplace",
        )

    return _error(message, "RG105", tell)


_VIEW_HELP: dict[str, tuple[str, str]] = {
    "view-of-leaf": (
        "The write would change the leaf that the view shows, and a leaf that requires a gradient "
        "cannot be changed by a recorded operation.",
        "for an update or an initial value, write under `with torch.no_grad():`; in a formula, "
        "write to a copy: leaf.clone()",
    ),
    "multiple-views": (
        "unbind(), split() and chunk() return several views of one tensor at once; a write to one "
        "of them could not be told apart from the others.",
        "take single views instead, by indexing or narrow(), or use an out-of-place operation",
    ),
    "no-grad-view": (
        "The view was made while nothing was recorded and written while recording: its base would "
        "change without a record of where.",
        "make the view and the write either both under no_grad() or both outside",
    ),
    "inference-view": (
        "The view was made in inference mode and written outside of it.",
        "make the view and the write either both in inference mode or both outside",
    ),
    "function-view": (
        "A custom Function returned the view (or its input as it was); the write would bypass the "
        "Function's own backward.",
        "clone the result of the Function before writing to it",
    ),
}


def view_error(message: str) -> RetrogradError:
    """An in-place write to a view that does not allow it; the message tells which kind it is."""

    def tell() -> Report:
        found = find(message)
        reason = None if found is None else found[1].reason
        name = _written_name()
        why, text = _VIEW_HELP.get(reason or "", ("", ""))
        return Report(
            "RG106",
            f"{quoted(name, 'a view')} cannot be written in place here",
            _here(f"{quoted(name, 'the view')} is written here"),
            why,
            (advice(text),) if text else (),
            cause=reason or "",
        )

    return _error(message, "RG106", tell)


def nonleaf_grad_warning(message: str, node: NodeFacts | None = None) -> RetrogradWarning:
    """`.grad` of a computed tensor was read; `node` is the tensor's grad_fn."""
    report: Report | None = None
    try:
        story = Story()
        if node is not None:
            story.add(site_of(node), f"computed here: {describe_node(node)}")
        site = CallSite(*user_site())
        story.add(site, "its .grad is read here", primary=True)
        report = Report(
            "RG107",
            "the .grad of a computed tensor was read",
            story.finish(),
            "backward() fills .grad of leaves only; gradients of computed tensors are passed on "
            "and dropped.",
            (
                advice("to keep this one, call retain_grad() on the tensor before backward()"),
                advice("if a leaf was meant: .to(), .float() and arithmetic return new tensors"),
            ),
            cause="nonleaf-grad",
            level=catalogue()["RG107"].level,
        )
    except Exception:
        report = None
    return make_warning(message, code="RG107", report=report)


# --- shared ---------------------------------------------------------------------------------------


def _here(label: str) -> tuple[Span, ...]:
    """One span at the user's line; empty when sites are off or unknown."""
    place = CallSite(*user_site()).place
    return () if place is None else (Span(label, place, primary=True),)


def _written_name() -> str | None:
    """What is written at the user's line: `w` for `w.add_(1)` and for `w += 1`."""
    return written(CallSite(*user_site()))


def _error(message: str, code: str, tell: Callable[[], Report]) -> RetrogradError:
    """The error with the report that `tell` makes, or with the catalogue's if it fails."""
    report: Report | None = None
    try:
        report = tell()
    except Exception:
        report = None
    return make_error(message, code=code, report=report)
