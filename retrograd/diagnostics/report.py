"""What a diagnosis is made of: plain data, free of tensors, frames and code objects.

The library's errors, lint and the doctor say what they found in these words: a `Place`, a `Span`
(a place and what happened there), a `Fix` with its `Edit`, and the `Report` that holds them. A
report can be pickled, printed and turned into JSON. It holds no reference into the graph, so an
exception that is kept somewhere never keeps arrays alive.

>>> place = Place("train.py", 11, "", 8, 11, 26, source="    h = rg.tanh(x + h @ W)")
>>> place.text
'rg.tanh(x + h @ W)'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from retrograd.above import above

FIX_KINDS = frozenset(
    """
    recompute-forward detach reset-state no-grad combine-losses retain-graph remove-extra-backward
    reorder-step create-graph item-for-logging drop-retain zero-grad clone-before-inplace clone
    keep-graph enable-grad reduce-loss make-leaf retain-grad rebuild-optimizer register-modules
    drop-requires-grad fix-checkpoint-call register-once unscale-first freeze-parameters add-step
    keep-finite
    train-mode return-gradients drop-once-differentiable find-unused-parameters
    match-loss match-shapes renew-parameters tie-parameters
    """.split()
)
"""What a fix does, in a word for programs."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a program, or a piece of it. Lines count from 1, columns are characters from 0.

    `function` is known where it was seen running; `column`, `end_column` and `source` (the whole
    first line) where the source was at hand.
    """

    file: str
    line: int
    function: str = ""
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    source: str | None = None

    @property
    def text(self) -> str | None:
        """The exact text of a place that lies within one line."""
        if self.source is None or self.column is None or self.end_column is None:
            return None
        if self.end_line not in (None, self.line):
            return None
        return self.source[self.column : self.end_column]

    def to_json(self) -> dict[str, object]:
        """The two fields that identify a line."""
        return {"file": self.file, "line": self.line}


NOWHERE = Place("", 0)
"""Of advice that is about no line."""


@dataclass(frozen=True, slots=True)
class Span:
    """A place with what happened there: "created", "freed", "used again".

    `order` tells the story's sequence, `iteration` in which pass of which loop it was, `stack` how
    the program came there: outermost first, the place last.
    """

    label: str
    place: Place
    stack: Sequence[Place] = ()
    iteration: str = ""
    primary: bool = False
    order: int | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """One changed line: `before` is None for an inserted line, `after` is None for a removed one.

    `changed` has the pieces of `after` that are new, as (start, end) columns.
    """

    file: str
    line: int
    before: str | None
    after: str | None
    changed: tuple[tuple[int, int], ...] = ()

    @classmethod
    def replacing(
        cls, file: str, line: int, source: str, pieces: dict[tuple[int, int], str]
    ) -> Edit:
        """The edit that puts each text of `pieces` in place of its (start, end) columns.

        >>> Edit.replacing("t.py", 3, "y = h @ W", {(5, 5): ".detach()"}).after
        'y = h.detach() @ W'
        """
        after, taken, changed = "", 0, []
        for (start, end), text in sorted(pieces.items()):
            after += source[taken:start]
            changed.append((len(after), len(after) + len(text)))
            after += text
            taken = end
        return cls(file, line, source, after + source[taken:], tuple(changed))


@dataclass
class Fix:
    """One way out: what to do, where, and what it costs."""

    kind: str = ""  # one of FIX_KINDS; "" for advice that no tool could follow
    place: Place = NOWHERE
    text: str = ""  # in a sentence
    cost: str = ""  # memory of retaining, what stops training if detached
    diff: str = ""  # the edit as a unified diff, where it was tried to write one
    verified: bool | None = None  # None: not tried
    verification: str = ""  # what the trial run showed
    edit: Edit | None = None  # of one line

    def __post_init__(self) -> None:
        assert not self.kind or self.kind in FIX_KINDS, self.kind


def advice(text: str, edit: Edit | None = None, kind: str = "") -> Fix:
    """A fix in words, with the edit of a line where one is sure."""
    place = NOWHERE if edit is None else Place(edit.file, edit.line)
    return Fix(kind, place, text, edit=edit)


@above
def in_html(report: Report) -> str:
    """A report as a piece of a web page."""
    raise NotImplementedError


@dataclass
class Report:
    """A whole diagnosis, from the title to the pointer to the page."""

    code: str = ""  # of the catalogue: RG101, RGL103
    title: str = ""  # one sentence: what happened
    spans: Sequence[Span] = ()  # in the order of the story
    why: str = ""  # the reason, in a few sentences
    fixes: Sequence[Fix] = ()  # best first
    notes: Sequence[str] = ()
    cause: str = ""  # among those of the code; "" where the evidence does not decide
    level: str = "error"
    facts: dict[str, Any] = field(default_factory=dict)  # the evidence, for programs

    numbered: ClassVar[bool] = False  # whether its fixes are told apart by numbers

    @property
    def more(self) -> str:
        """Where to read on."""
        return f"python -m retrograd explain {self.code or self.cause}"

    def before_fixes(self) -> list[tuple[str, str]]:
        """The paragraphs before the fixes, each with its label."""
        return [("why", self.why)] if self.why else []

    def after_fixes(self) -> list[tuple[str, str]]:
        """The paragraphs after the fixes, each with its label."""
        return [("note", note) for note in self.notes]

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return in_html(self)

    @property
    def primary(self) -> Span | None:
        """The span that the report points at first."""
        for span in self.spans:
            if span.primary:
                return span
        return self.spans[-1] if self.spans else None

    def to_dict(self) -> dict[str, object]:
        """The report as JSON-ready data: the keys are those that programs know."""
        data = asdict(self)
        for span in data["spans"]:
            span["location"] = span.pop("place")
        data["helps"] = data.pop("fixes")
        data["reason"] = data.pop("cause") or None
        return {**data, "why": self.why or None, "more": self.more}
