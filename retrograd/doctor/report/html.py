"""The report as a web page: one file in the design of the graph's page, with the graph beside it.

The text is written here, so it can be read without a script and stands in a notebook as it is; the
page (`retrograd.graph.page`) gives its style and makes its places links into the graph.
"""

from __future__ import annotations

import html
import os

from retrograd.diagnostics.report import Report
from retrograd.doctor.report.findings import (
    Change,
    Finding,
    Line,
    Shown,
    finding,
    finding_of_error,
)
from retrograd.doctor.report.linking import Link, Links
from retrograd.doctor.report.terminal import conclusion
from retrograd.doctor.result import Result
from retrograd.graph import page as graph_page
from retrograd.graph.schema import Recording

NOT_RECORDED = "it was not recorded"
GLYPHS = {"error": "✕", "warning": "!"}
VERDICTS = {"works": "✓ tried", "fails": "✕ tried", "untried": "not tried"}


def page(result: Result, graph: Recording | str = NOT_RECORDED) -> str:
    """The whole page; `graph` is the record of the run, or the reason why there is none.

    >>> "no autograd mistake" in page(Result(script="train.py"))
    True
    """
    recordings = [graph] if isinstance(graph, Recording) and graph.nodes else []
    title = f"retrograd doctor: {os.path.basename(result.script)}"
    return graph_page.page(recordings, _body(result, graph), title)


def fragment(result: Result) -> str:
    """The report as a piece of a page, as a notebook shows it."""
    return _piece(_body(result, None))


def error_fragment(report: Report) -> str:
    """The report of an error of the library, as a notebook shows it."""
    more = f'<p class="soft"><code>{_text(report.more)}</code></p>'
    return _piece(_finding(1, finding_of_error(report)) + more)


def _piece(body: str) -> str:
    style = graph_page.notebook_style()
    return f'{style}<div class="retrograd-report"><article class="report">{body}</article></div>'


def _body(result: Result, graph: Recording | str | None) -> str:
    links = Links(graph) if isinstance(graph, Recording) else None
    findings = [finding(diagnosis, result, links) for diagnosis in result.diagnoses]
    parts = [_head(result)]
    if len(findings) > 1:
        parts.append(_contents(findings))
    parts += [_finding(number, found) for number, found in enumerate(findings, 1)]
    unseen = list(result.unseen)
    if isinstance(graph, str):
        unseen.append(f"the graph of this run: {graph}")
    elif graph is not None and not graph.nodes:
        unseen.append("the graph of this run: no operation of it was recorded")
    if unseen:
        parts += ['<section class="rest"><h3>What could not be seen</h3>', _items(unseen)]
        parts.append("</section>")
    return "\n".join(parts)


def _text(value: object) -> str:
    return html.escape(str(value), quote=True)


def _prose(value: str) -> str:
    """Escaped text in which `names` are shown as code."""
    pieces = _text(value).split("`")
    if len(pieces) % 2 == 0:  # a single backquote: leave all as they are
        return "`".join(pieces)
    return "".join(
        f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces)
    )


def _items(sentences: list[str]) -> str:
    items = "".join(f"<li>{_prose(sentence)}</li>" for sentence in sentences)
    return f'<ul class="notes">{items}</ul>'


def _head(result: Result) -> str:
    facts = [result.engine or "torch was not imported", f"{result.seconds:.1f} s"]
    facts.append(f"exit status {result.status}")
    error = f'<p class="raised">{_text(result.error)}</p>' if result.error else ""
    name = os.path.basename(result.script)
    return (
        f'<div class="head"><h1>{_text(name)}: {_text(conclusion(result))}</h1>'
        f'<p class="soft">{_text(result.script)} · {_text(" · ".join(facts))}</p>{error}</div>'
    )


def _contents(findings: list[Finding]) -> str:
    rows = (
        f'<li><a href="#finding-{number}">{_level(found)} {_prose(found.summary)}</a></li>'
        for number, found in enumerate(findings, 1)
    )
    return f'<ol class="contents">{"".join(rows)}</ol>'


def _level(found: Finding) -> str:
    glyph = f'<span aria-hidden="true">{GLYPHS[found.level]}</span>'
    return f'<span class="level {found.level}">{glyph} {found.level}</span>'


def _finding(number: int, found: Finding) -> str:
    parts = [
        f'<section class="finding" id="finding-{number}" data-cause="{_text(found.cause)}">',
        f'<p class="cause">{_level(found)} <b>{_text(found.cause)}</b> '
        f'<span class="soft">{_text(found.meaning)}</span></p>',
        f"<h2>{_prose(found.summary)}</h2>",
        f'<p class="why">{_prose(found.why)}</p>',
    ]
    if found.value:
        parts.append(f"<p>The value: <code>{_text(found.value)}</code></p>")
    if found.places:
        places = (_place(number, place, p) for place, p in enumerate(found.places, 1))
        parts.append(f'<h3>What happened</h3><ol class="story">{"".join(places)}</ol>')
    if found.fixes:
        fixes = (_fix(place, fix) for place, fix in enumerate(found.fixes, 1))
        parts.append(f'<h3>What to change</h3><ol class="fixes">{"".join(fixes)}</ol>')
    if found.why_not_retain:
        parts.append("<h3>Why not <code>retain_graph=True</code></h3>")
        parts.append(f"<p>{_prose(found.why_not_retain)}</p>")
    if found.notes:
        parts += ["<h3>Notes</h3>", _items(found.notes)]
    return "\n".join([*parts, "</section>"])


def _place(number: int, order: int, place: Shown) -> str:
    when = f' <span class="soft">{_prose(place.when)}</span>' if place.when else ""
    said = f'<b class="pin">{order}</b><span><b>{_text(place.label)}</b>{when}</span>'
    heading = f'<p class="event">{said}</p>'
    if place.link is not None:
        heading = f'<p class="event"><a {_target(place.link)}>{said}<i>in the graph</i></a></p>'
    calls = ""
    if place.calls:
        rows = "".join(
            f'<div class="file">{_text(where)}</div>'
            f'<div class="source"><div>{_text(text)}</div></div>'
            for where, text in place.calls
        )
        calls = f"<details><summary>called by</summary>{rows}</details>"
    return (
        f'<li class="{place.kind}" id="place-{number}-{order}">{heading}'
        f'<div class="file">{_text(place.where)}</div>'
        f"{_source(place.lines, place.kind)}{calls}</li>"
    )


def _target(link: Link) -> str:
    """An address that the page understands, and all nodes for its script."""
    nodes = " ".join(map(str, link.nodes))
    address = f"#a=0,all,{link.time},n{link.nodes[0]}"
    return f'class="goto" href="{address}" data-nodes="{nodes}" data-time="{link.time}"'


def _source(lines: list[Line], kind: str) -> str:
    rows = []
    for line in lines:
        marked = f' class="m {kind}"' if line.marked else ""
        rows.append(f"<div{marked}><i>{line.number}</i>{_text(line.text)}</div>")
    return f'<div class="source" tabindex="0">{"".join(rows)}</div>' if rows else ""


def _fix(order: int, fix: Change) -> str:
    reason = f' <span class="reason">{_prose(fix.reason)}</span>' if fix.reason else ""
    parts = [
        f'<p class="event"><b class="pin">{order}</b><span><b>{_text(fix.kind)}</b>{reason}</span>'
        f"{_verdict(fix)}</p>",
        f'<div class="file">{_text(fix.where)}</div>' if fix.where else "",
        _diff(fix.diff) if fix.diff else _source(fix.lines, "other"),
    ]
    if fix.trial:
        parts.append(f'<p class="trial">{_prose(fix.trial)}</p>')
    if fix.cost:
        parts.append(f"<p>Cost: {_prose(fix.cost)}</p>")
    return f"<li>{''.join(parts)}</li>"


def _verdict(fix: Change) -> str:
    if not fix.verdict:
        return ""
    return f'<span class="verdict {fix.verdict}">{VERDICTS[fix.verdict]}</span>'


def _diff(lines: list[str]) -> str:
    rows = []
    for line in lines:
        kind = {"-": "out", "+": "in"}.get(line[:1], "")
        sign = {"out": "−", "in": "+"}.get(kind, "")  # noqa: RUF001
        text = "⋯" if line == "..." else line[1:]
        rows.append(f'<div class="{kind}"><i>{sign}</i>{_text(text)}</div>')
    return f'<div class="source diff" tabindex="0">{"".join(rows)}</div>'
