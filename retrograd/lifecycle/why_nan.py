"""Anomaly mode, told: which forward call made the node whose backward failed, or gave a nan."""

from __future__ import annotations

from typing import Any

from ..diagnostics.catalogue import catalogue
from ..diagnostics.errors import RetrogradError, make_error
from ..diagnostics.report import Report, advice
from .evidence import CallFacts, site_of
from .site import CallSite, is_library
from .wording import Story, call_name, describe_node, operation

_NO_STACK = (
    "No forward pass information available. Enable detect anomaly during forward pass for more "
    "information."
)
# What to do about a nan, by operation; for the others the catalogue's advice stands.
_ADVICE = {
    "sqrt": "sqrt has an infinite slope at 0: add a small constant under the root",
    "norm": "the norm has no slope at 0: add a small constant, or mask zero vectors before it",
    "linalg_vector_norm": "the norm has no slope at 0: add a small constant, or mask zero vectors",
    "pow": "a power below 1 has an infinite slope at 0: add a small constant to the base",
    "log": "log has an infinite slope at 0: add a small constant, or clamp(min=...) its operand",
    "div": "0 / 0 is nan: add a small constant to the divisor, or mask the zeros before dividing",
    "std": "std has an infinite slope where all values are equal: use (var + constant).sqrt()",
    "atan2": "atan2 has no slope at (0, 0): mask that point before the call",
}


def nan_error(node: Any, index: int, call: CallFacts | None) -> RetrogradError:
    """The error for a backward step of `node` whose gradient number `index` has a nan."""
    message = f"Function '{node.name()}' returned nan values in its {index}th output."
    report: Report | None = None
    try:
        report = _nan_report(node, index, call)
    except Exception:
        report = None  # the error itself matters more than its explanation
    return make_error(message, code="RG501", report=report)


def _nan_report(node: Any, index: int, call: CallFacts | None) -> Report:
    made = operation(node)
    story = Story()
    for site in _outer_sites(node):
        story.add(site, "called from here")
    story.add(site_of(node), f"made here: {describe_node(node)}", primary=True)
    if call is not None:
        story.add(site_of(call), f"its backward gave the nan here: {call_name(call)}")
    parent = _parent(node)
    if parent is not None:
        story.add(site_of(parent), f"in the backward of {describe_node(parent)}, made here")
    form = catalogue()["RG501"].forms[0]
    own = (_ADVICE[made],) if made in _ADVICE else ()
    helps = [advice(text) for text in (*own, *form.helps)]
    title = f"the backward of `{made}` gave nan for its input {index}"
    notes: tuple[str, ...] = ()
    if _record(node) is None:
        notes = ("the forward call ran without anomaly detection, so its callers are not known",)
    return Report("RG501", title, story.finish(), form.why or "", tuple(helps), notes)


def _record(node: Any) -> Any:
    return None if node.extra is None else node.extra.forward


def _parent(node: object) -> Any:
    record = _record(node)
    return None if record is None else record.parent


def _outer_sites(node: Any) -> list[CallSite]:
    """The user's lines that led to the one that made the node, the outermost first."""
    record = _record(node)
    sites: list[CallSite] = []
    for code, lasti in () if record is None else record.frames:
        site = CallSite(code, lasti)
        if not is_library(code.co_filename) and site != site_of(node):
            sites.append(site)
        if code.co_name == "<module>" or len(sites) == 3:
            break  # what called the program, or too far away
    return sites[::-1]


# --- any error ------------------------------------------------------------------------------------


def forward_story(node: Any) -> list[str]:
    """PyTorch's warnings about the forward call of a node that failed, and about its parents."""
    told: list[str] = []
    while node is not None:
        name, record = node.name(), _record(node)
        if record is None:
            told.append(f"Error detected in {name}. {_NO_STACK}")
        elif not told:
            begin = f"Error detected in {name}. Traceback of forward call that caused the error:\n"
            told.append(begin + "".join(record.lines()))
        else:
            begin = (
                f"\n\nPrevious calculation was induced by {name}. Traceback of forward call that "
                "induced the previous calculation:\n"
            )
            told.append(begin + "".join(record.lines()))
        node = _parent(node)
    return told


def add_forward_note(error: Exception, story: list[str]) -> None:
    """Note the story on an exception, unless its report tells it already."""
    if not isinstance(error, RetrogradError) or error.code != "RG501":
        error.add_note("\n" + "".join(story).rstrip())
