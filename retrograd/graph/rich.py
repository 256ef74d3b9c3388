"""What a notebook shows: tensors, states, histories, ledgers as small pieces of HTML.

They take the colours of the page around them, so light and dark notebooks both can read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from retrograd.diagnostics.report import Place
from retrograd.graph.wording import size, where
from retrograd.watching.reading import node_of, reader_of

if TYPE_CHECKING:
    from retrograd.graph.ledgers import Ledger
    from retrograd.graph.schema import Recording
    from retrograd.graph.states import History, State
    from retrograd.graph.stepping import Watch

_SOFT = "opacity:.7;font-size:90%"
_CELL = "padding:.1em .8em .1em 0;text-align:{}"
_BAR = "display:inline-block;height:.7em;background:currentColor;opacity:.35"

MOST_ROWS = 30


def tensor_html(tensor: Any) -> str:
    """A tensor as it prints, with a line about its graph.

    >>> x = torch.ones(2, requires_grad=True)
    >>> "ExpBackward0" in tensor_html(x.exp()) and "created" in tensor_html(x.exp())
    True
    """
    from retrograd.graph.states import state

    facts = [f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"]
    reader = reader_of(tensor)
    node = node_of(reader, tensor)
    if node is None:
        facts.append("no graph")
    elif reader.leaf(node) is not None:
        facts.append("a leaf that requires grad")
    else:
        facts.append(f"made by {reader.name(node)}" + _at(reader.place(node)))
        facts.append(f"graph {state(tensor)}")
    return f"<pre>{escape(repr(tensor))}</pre><div style='{_SOFT}'>{_joined(facts)}</div>"


def state_html(found: State) -> str:
    """A state as one line."""
    return f"<div><b>{escape(found.name)}</b> {escape(str(found).removeprefix(found.name))}</div>"


def history_html(found: History) -> str:
    """A table with one row for each event."""
    rows = [(event.kind, event.text, where(event.place)) for event in found.events]
    return table(("what", "", "line"), rows)


def ledger_html(found: Ledger, key: str = "line") -> str:
    """Sums with bars, the largest first."""
    rows = found.by(key)
    body = [
        (size(row.bytes), f"{row.share:.0%}", str(row.values), row.key, row.share)
        for row in rows[:MOST_ROWS]
    ]
    more = f"; {len(rows) - MOST_ROWS} more rows" if len(rows) > MOST_ROWS else ""
    besides = f", besides {size(found.outside)} of values without history" if found.outside else ""
    foot = f"{size(found.total)} by {found.nodes:,} nodes{besides}{more}"
    return table(("saved", "share", "values", key), body) + f"<div style='{_SOFT}'>{foot}</div>"


def watch_html(found: Watch) -> str:
    """The steps, and the ledger of the one that kept most."""
    steps = found.steps[-MOST_ROWS:]
    most = max((step.bytes for step in steps), default=0) or 1
    rows = [
        (
            str(s.number),
            f"{s.nodes:,}",
            size(s.bytes),
            f"{s.change:+,}" if s.change else "",
            where(s.place),
            s.bytes / most,
        )
        for s in steps
    ]
    html = table(("call", "nodes", "saved", "change", "line"), rows)
    peak = found.peak
    return (
        html
        if peak is None
        else f"{html}<p>The most at call {peak.number}:</p>" + ledger_html(peak.ledger)
    )


def page_html(recordings: Recording | Sequence[Recording], height: int = 640) -> str:
    """The whole page of recordings in a frame of its own."""
    from retrograd.graph.page import page

    return (
        f'<iframe srcdoc="{escape(page(recordings))}" title="graph" '
        f'style="width:100%;height:{height}px;border:1px solid;border-radius:6px"></iframe>'
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str | float]]) -> str:
    """A table; a number at the end of a row is the length of a bar, between 0 and 1.

    The columns before the last are those of numbers, unless they are words.
    """
    lines = []
    for row in rows:
        texts = [cell for cell in row if isinstance(cell, str)]
        cells = [
            f"<td style='{_CELL.format('right' if _is_number(text) else 'left')}'>"
            f"{escape(text)}</td>"
            for text in texts
        ]
        bars = [
            f"<td><span style='{_BAR};width:{8 * b:.2f}em'></span></td>"
            for b in row
            if isinstance(b, float)
        ]
        lines.append("<tr>" + "".join([*cells, *bars]) + "</tr>")
    head = "".join(f"<th style='{_CELL.format('left')}'>{escape(name)}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or text[:1] in "+-"


def _at(place: Place | None) -> str:
    return f" at {where(place)}" if place is not None else ""


def _joined(facts: Iterable[str]) -> str:
    return " &middot; ".join(map(escape, facts))
