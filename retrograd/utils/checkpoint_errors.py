"""What goes wrong with checkpoints: the recomputation must do what the forward pass did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.diagnostics.report import Report
from retrograd.notices import runtime_error
from retrograd.tensor import Tensor


class CheckpointError(RuntimeError):
    """The recomputation of a checkpointed function differs from its forward pass.

    `code` and `report` tell more, as those of the library's other errors do.
    """

    __module__ = "retrograd.utils.checkpoint"  # where programs find it

    code: str | None = None
    report: Report | None = None


_TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint-debug mode globally.
"""


def _error(message: str, spans: Sequence[tuple[Any, str]]) -> CheckpointError:
    """The error with the catalogue's report, if one can be made."""
    error = CheckpointError(message)
    try:
        from retrograd.diagnostics.errors import make_error
        from retrograd.lifecycle.site import CallSite
        from retrograd.lifecycle.wording import Story

        story = Story()
        for place, (site, label) in enumerate(spans):
            story.add(CallSite(*site), label, primary=place == len(spans) - 1)
        twin = make_error(message, code="RG118", spans=story.finish())
        error.code, error.report = twin.code, twin.report
        for note in getattr(twin, "__notes__", ()):
            error.add_note(note)
    except Exception:
        pass  # the error itself matters more than its explanation
    return error


def number_differs(
    forward: int, again: int, sites: Sequence[object], again_sites: Sequence[object]
) -> CheckpointError:
    """The recomputation saved fewer tensors."""
    spans = _first_difference(sites, again_sites)
    return _error(
        "torch.utils.checkpoint: A different number of tensors was saved during the original "
        f"forward and recomputation.\nNumber of tensors saved during forward: {forward}\n"
        f"Number of tensors saved during recomputation: {again}.\n{_TIP}",
        spans,
    )


def too_many(sites: Sequence[object], again_sites: Sequence[object]) -> CheckpointError:
    """The recomputation saved more tensors."""
    return _error(
        "torch.utils.checkpoint: trying to save more tensors during recomputation than during the "
        f"original forward pass.\n{_TIP}",
        _first_difference(sites, again_sites),
    )


def _first_difference(sites: Sequence[object], again: Sequence[object]) -> list[tuple[Any, str]]:
    """Where the two runs part: the first line that saved something in one of them only."""
    for position in range(max(len(sites), len(again))):
        old = sites[position] if position < len(sites) else None
        new = again[position] if position < len(again) else None
        if old != new:
            spans = []
            if old is not None:
                spans.append((old, f"saved tensor {position} of the forward pass here"))
            if new is not None:
                spans.append((new, f"saved tensor {position} of the recomputation here"))
            return spans
    return []


def values_differ(
    different: Sequence[tuple[int, object, object]],
    sites: Sequence[object],
    again_sites: Sequence[object],
) -> CheckpointError:
    """The recomputed tensors have other shapes or dtypes."""
    told = "".join(
        f"tensor at position {position}:\nsaved metadata: {before}\nrecomputed metadata: {after}\n"
        for position, before, after in different
    )
    position, before, after = different[0]
    spans = [(sites[position], f"saved in the forward pass: {_short(before)}")]
    spans.append((again_sites[position], f"recomputed: {_short(after)}"))
    return _error(
        "torch.utils.checkpoint: Recomputed values for the following tensors have different "
        f"metadata than during the forward pass.\n{told}.\n{_TIP}",
        spans,
    )


def _short(description: object) -> str:
    if isinstance(description, dict) and {"shape", "dtype"} <= set(description):
        return f"{list(description['shape'])} {str(description['dtype']).removeprefix('torch.')}"
    return str(description)


def unpacked_twice(grouped: bool) -> CheckpointError:
    """One saved tensor was read twice in one backward call."""
    extra = ""
    if grouped:
        extra = (
            "Performing two backward calls that overlap (i.e. require the same saved activation in "
            "order to compute gradients) is not allowed while under the "
            "torch.utils.checkpoint.GraphExecGroup context. "
        )
    return _error(
        "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked "
        f"once. {extra}If you are calling ctx.saved_tensors in backward, make sure to do so only "
        "once. Otherwise please open an issue with details on your use case.",
        (),
    )


def modified_since(tensor: Tensor, version: int) -> Exception:
    """A recomputed tensor was written in place before backward read it."""
    return runtime_error(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{tensor.dtype.type_name}Tensor {list(tensor.shape)}] is at version "
        f"{tensor._version}; expected version {version} instead. Hint: the write is in the "
        "checkpointed function, or in what ran since it was computed again.",
        code="RG102",
    )


def debug_text(forward: Sequence[tuple[str, object]], again: Sequence[tuple[str, object]]) -> str:
    """The message of debug mode: every op of both runs, with its line."""
    from retrograd.lifecycle.site import CallSite
    from retrograd.lifecycle.wording import line_reference

    def listed(log: Sequence[tuple[str, Any]]) -> str:
        lines = []
        for number, (text, site) in enumerate(log):
            where = line_reference(CallSite(*site))
            lines.append(f"{number + 1:4}  {text}" + (f"   ({where})" if where else ""))
        return "\n".join(lines) or "      (none)"

    return (
        " An error happened while unpacking tensors; dumping logs of latest computation\n"
        "because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.\n\n"
        f"Operations executed during the original forward:\n\n{listed(forward)}\n\n"
        f"Operations executed during recomputation:\n\n{listed(again)}\n\n"
        " ERROR: Detected non-determinism while running activation checkpointing\n\n"
        " You are seeing this error because you passed `debug=True` to checkpoint and\n"
        " tensors to be saved during the original forward and differ between those saved\n"
        " during recomputation."
    )
