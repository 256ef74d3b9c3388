"""Structured exceptions: PyTorch's message as `str(error)`, the report as a note.

Every error is a `RetrogradError` and an instance of the type that PyTorch raises for the same
mistake, so `except RuntimeError` works, and so does `except ShapeError`. A class also *prints* as
that type: its `__name__` is `RuntimeError`, because programs print `type(error).__name__`, and what
they print should not depend on the library. The code in the report (`error[RG101]`) tells more than
a class name could; `except` uses the names in this module.

>>> error = make_error("a leaf Variable that requires grad is being used in an in-place operation.")
>>> error.code, isinstance(error, InPlaceError), type(error).__name__
('RG105', True, 'RuntimeError')

The environment variable RETROGRAD_REPORT chooses the note: `full` (text, the default), `short`
(none) or `json`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence

from .catalogue import catalogue, find
from .entry import Entry, Form
from .hints import hints
from .pages import whole_page
from .render import WIDTH, has_colour, render
from .report import Fix, Report, Span, advice

# Classes by the name they have in this module, and those made for a pair of class and raised type.
_CLASSES: dict[str, type[RetrogradError]] = {}
_COMBINED: dict[tuple[type[RetrogradError], type[Exception]], type[RetrogradError]] = {}


class RetrogradError(Exception):
    """Base of all coded errors.

    `code` is the catalogue's code, `reason` the cause within it when it is known, `spans` the
    places that belong to it, `fix` the first advice.
    """

    public_name = "RetrogradError"

    def __init__(self, message: str, report: Report | None = None) -> None:
        super().__init__(message)
        self.report = report
        self._own_note = _note(self)
        if self._own_note:
            self.add_note(self._own_note)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.public_name = cls.__name__
        _CLASSES.setdefault(cls.__name__, cls)
        kind = raised_type(cls)
        if kind is not Exception:
            cls.__name__ = cls.__qualname__ = kind.__name__
            cls.__module__ = kind.__module__

    @property
    def code(self) -> str | None:
        """The code, such as "RG101"."""
        return None if self.report is None else self.report.code

    @property
    def reason(self) -> str | None:
        """The cause among the code's reasons, None where the evidence does not decide."""
        return None if self.report is None else self.report.cause or None

    @property
    def spans(self) -> Sequence[Span]:
        """Places in the program, in the order of the story."""
        return () if self.report is None else self.report.spans

    @property
    def fix(self) -> Fix | None:
        """The first advice, with its edit where one is sure."""
        return None if self.report is None or not self.report.fixes else self.report.fixes[0]

    def take_note(self) -> str:
        """The report as it would be printed with the error, which then goes without it."""
        notes: list[str] = getattr(self, "__notes__", [])
        note, self._own_note = self._own_note, None
        if note in notes:
            notes.remove(note)
        return note or ""

    def to_dict(self) -> dict[str, object]:
        """The error as JSON-ready data."""
        return _to_dict(self, self.report)

    def explain(self) -> str:
        """The page of the error's code: what happened, why, and what works instead."""
        return "" if self.code is None else whole_page(self.code)

    def __reduce__(self) -> tuple[object, ...]:
        arguments = (self.public_name, raised_type(type(self)), self.args[0], self.report)
        return _rebuild, arguments, self.__dict__


def raised_type(cls: type) -> type[Exception]:
    """The type that PyTorch raises in place of `cls`, such as RuntimeError."""
    for parent in cls.__mro__:
        if not issubclass(parent, RetrogradError) and issubclass(parent, Exception):
            return parent
    return Exception


_CLASSES["RetrogradError"] = RetrogradError


class LifecycleError(RetrogradError, RuntimeError):
    """RG1xx: the graph's life."""


class GraphFreedError(LifecycleError):
    """RG101: a backward pass needs values that an earlier one freed."""


class SavedModifiedError(LifecycleError):
    """RG102, RG110: a value saved for backward was changed before it was used."""


class NoGraphError(LifecycleError):
    """RG103: no recorded path leads from the tensor to anything that requires a gradient."""


class InPlaceError(LifecycleError):
    """RG105, RG106, RG115: an in-place operation that would break the graph."""


class ShapeError(RetrogradError):
    """RG2xx: shapes and indices."""


class DTypeError(RetrogradError):
    """RG3xx: dtypes, layouts and devices."""


class FunctionError(RetrogradError):
    """RG4xx: custom Functions and hooks."""


class NumericsError(RetrogradError):
    """RG5xx: numbers that go wrong."""


class TransformError(RetrogradError):
    """RG6xx: vmap, torch.func, forward mode, gradcheck, checkpoints, saved-tensor hooks."""


class UnsupportedError(RetrogradError):
    """RG9xx: a part of PyTorch's interface that does not exist here."""


class RetrogradWarning(UserWarning):
    """A coded warning. It prints as `UserWarning`, and has its report as an attribute."""

    def __init__(self, message: str, report: Report | None = None) -> None:
        super().__init__(message)
        self.report = report

    @property
    def code(self) -> str | None:
        """The code, such as "RG107"."""
        return None if self.report is None else self.report.code

    def to_dict(self) -> dict[str, object]:
        """The warning as JSON-ready data."""
        return _to_dict(self, self.report)

    def explain(self) -> str:
        """The page of the warning's code."""
        return "" if self.code is None else whole_page(self.code)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_warning, (str(self), self.report), self.__dict__


RetrogradWarning.__name__ = RetrogradWarning.__qualname__ = "UserWarning"

_FAMILY_CLASSES: dict[str, type[RetrogradError]] = {
    "RG1": LifecycleError,
    "RG2": ShapeError,
    "RG3": DTypeError,
    "RG4": FunctionError,
    "RG5": NumericsError,
    "RG6": TransformError,
    "RG9": UnsupportedError,
}
_CODE_CLASSES: dict[str, type[RetrogradError]] = {
    "RG101": GraphFreedError,
    "RG102": SavedModifiedError,
    "RG103": NoGraphError,
    "RG105": InPlaceError,
    "RG106": InPlaceError,
    "RG110": SavedModifiedError,
    "RG115": InPlaceError,
}


def make_error(
    message: str,
    kind: type[Exception] = RuntimeError,
    *,
    code: str | None = None,
    report: Report | None = None,
    spans: Iterable[Span] = (),
    notes: Iterable[str] = (),
    **facts: object,
) -> RetrogradError:
    """The exception for a message: an instance of `kind` with the code that the message has.

    With a `report` the code is the report's. Otherwise `code` states it, or the catalogue finds it
    by the message; its texts, `spans`, `notes` and `facts` make the report.
    """
    if report is None:
        try:
            report = describe(message, code, tuple(spans), tuple(notes), facts)
        except Exception:
            report = None
    return exception_class(report.code if report else code, kind)(message, report)


def make_warning(
    message: str, *, code: str | None = None, report: Report | None = None, **facts: object
) -> RetrogradWarning:
    """The warning for a message, to be passed to `warnings.warn`."""
    if report is None:
        try:
            report = describe(message, code, (), (), facts)
        except Exception:
            report = None
    return RetrogradWarning(message, report)


def describe(
    message: str,
    code: str | None,
    spans: tuple[Span, ...],
    notes: tuple[str, ...],
    facts: dict[str, object],
) -> Report | None:
    """The report for a message by the catalogue's texts; None if no code fits."""
    entry: Entry
    form: Form | None
    if code is not None:
        entry = catalogue()[code]
        form, stated = entry.form_of(message)
    elif (found := find(message)) is not None:
        entry, form, stated = found
    else:
        return None
    known: dict[str, object] = {**stated, **facts}
    title = form.title if form is not None and form.title else entry.summary
    why = "" if form is None or form.why is None else form.why.format(**known)
    helps = tuple(advice(text.format(**known)) for text in (form.helps if form else ()))
    return Report(
        entry.code,
        title.format(**known) if form is not None and form.title else title,
        spans,
        why,
        (*hints(entry.code, known), *helps),
        notes,
        "" if form is None else form.reason or "",
        entry.level if form is None or form.level is None else form.level,
        known,
    )


def exception_class(code: str | None, kind: type[Exception]) -> type[RetrogradError]:
    """The class for a code that is also an instance of `kind`."""
    base: type[RetrogradError] = RetrogradError
    if code is not None:
        base = _CODE_CLASSES.get(code) or _FAMILY_CLASSES[code[:3]]
    return _combine(base, kind)


def _combine(base: type[RetrogradError], kind: type[Exception]) -> type[RetrogradError]:
    if issubclass(base, kind):
        return base
    known = _COMBINED.get((base, kind))
    if known is None:
        # A code's own class may already be a RuntimeError where this case raises something else.
        parent = base if raised_type(base) is Exception else RetrogradError
        known = type(base.public_name, (parent, kind), {"__doc__": base.__doc__})
        _COMBINED[base, kind] = known
    return known


def _rebuild(
    public_name: str, kind: type[Exception], message: str, report: Report | None
) -> RetrogradError:
    return _combine(_CLASSES.get(public_name, RetrogradError), kind)(message, report)


def _rebuild_warning(message: str, report: Report | None) -> RetrogradWarning:
    return RetrogradWarning(message, report)


def _to_dict(error: Exception, report: Report | None) -> dict[str, object]:
    data: dict[str, object] = {"type": type(error).__name__, "message": str(error), "code": None}
    if report is not None:
        entry = catalogue()[report.code]
        data |= {"code": entry.code, "slug": entry.slug, "family": entry.family}
        data |= {"page": entry.page, **report.to_dict()}
    # Facts may hold anything that was at hand; what JSON cannot say is written as text.
    result: dict[str, object] = json.loads(json.dumps(data, default=str))
    return result


def _note(error: RetrogradError) -> str | None:
    """The note by RETROGRAD_REPORT; None too if anything goes wrong: an error is never replaced."""
    try:
        if error.report is None:
            return None
        choice = os.environ.get("RETROGRAD_REPORT", "full")
        if choice == "short":
            return None
        if choice == "json":
            return json.dumps(error.to_dict())
        return "\n" + render(error.report, width=_width(), color=has_colour(sys.stderr))
    except Exception:
        return None


def _width() -> int:
    """The terminal's width if errors go to one that is narrower than usual."""
    if sys.stderr is None or not sys.stderr.isatty():
        return WIDTH
    return min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
