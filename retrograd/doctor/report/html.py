"""The report as one self-contained web page: no script, no other file, light and dark."""

from __future__ import annotations

import html
import os

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import CAUSES, Diagnosis
from retrograd.doctor.report.terminal import conclusion
from retrograd.doctor.result import Result

_STYLE = """
.rgd { --back: #ffffff; --text: #1d2329; --soft: #57606a; --line: #d8dee4; --code: #f6f8fa;
  --bad: #b3261e; --warn: #8a5300; --mark: #fff1c2; --out: #ffe9e7; --in: #e3f6e5;
  background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif;
  max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) {
  .rgd { --back: #14181d; --text: #e4e8ec; --soft: #9aa4ae; --line: #333b44; --code: #1d232a;
    --bad: #ff9d94; --warn: #f0c06a; --mark: #453a14; --out: #47201d; --in: #1b3a20; }
}
.rgd h1 { font-size: 1.3rem; margin: 0 0 .25rem; }
.rgd h2 { font-size: 1.15rem; margin: 0 0 .5rem; }
.rgd h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
.rgd p, .rgd ol { margin: .25rem 0 .5rem; }
.rgd ol { padding-left: 1.4rem; }
.rgd .soft { color: var(--soft); font-size: .9rem; }
.rgd .error { color: var(--bad); } .rgd .warning { color: var(--warn); }
.rgd section { border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; margin: 1rem 0; }
.rgd pre { background: var(--code); border: 1px solid var(--line); border-radius: .35rem;
  padding: .5rem .75rem; margin: .25rem 0; overflow-x: auto; font: .85rem/1.45 ui-monospace,
  monospace; white-space: pre; overflow-wrap: normal; }
.rgd code { font: .9em ui-monospace, monospace; }
.rgd .at { background: var(--mark); display: block; }
.rgd .out { background: var(--out); display: block; } .rgd .in { background: var(--in);
  display: block; }
.rgd summary { cursor: pointer; color: var(--soft); font-size: .9rem; }
@media (max-width: 30rem) { .rgd { padding: .5rem; } .rgd section { padding: .6rem; } }
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>body {{ margin: 0; background: Canvas; }}</style>
</head>
<body>
{body}
</body>
</html>
"""


def page(result: Result) -> str:
    """The whole page.

    >>> "no autograd mistake" in page(Result(script="train.py"))
    True
    """
    title = f"retrograd doctor: {os.path.basename(result.script)}"
    return _PAGE.format(title=_text(title), body=fragment(result))


def fragment(result: Result) -> str:
    """The report as a piece of a page, as a notebook shows it."""
    parts = [f"<style>{_STYLE}</style>", '<main class="rgd">', _head(result)]
    parts += [_diagnosis(diagnosis, result) for diagnosis in result.diagnoses]
    if result.unseen:
        parts.append("<h3>What could not be seen</h3>")
        parts.append(_items(result.unseen))
    return "\n".join([*parts, "</main>"])


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
    return "<ul>" + "".join(f"<li>{_prose(sentence)}</li>" for sentence in sentences) + "</ul>"


def _head(result: Result) -> str:
    said = conclusion(result)
    facts = [result.engine or "torch was not imported", f"{result.seconds:.1f} s"]
    facts.append(f"exit status {result.status}")
    error = f'<p class="error"><code>{_text(result.error)}</code></p>' if result.error else ""
    return (
        f"<h1>{_text(os.path.basename(result.script))}: {_text(said)}</h1>"
        f'<p class="soft">{_text(result.script)} · {_text(" · ".join(facts))}</p>{error}'
    )


def _diagnosis(diagnosis: Diagnosis, result: Result) -> str:
    level = "error" if diagnosis.error else "warning"
    parts = [
        "<section>",
        f'<h2><span class="{level}">{_text(diagnosis.cause)}</span>: '
        f"{_prose(diagnosis.title)}</h2>",
        f'<p class="soft">{_text(CAUSES[diagnosis.cause])}</p>',
    ]
    if diagnosis.tensor:
        parts.append(f"<p>The value: <code>{_text(diagnosis.tensor)}</code></p>")
    spans = diagnosis.spans
    if not spans and diagnosis.error_line is not None:
        spans = [Span("here", diagnosis.error_line)]
    if spans:
        parts.append("<ol>" + "".join(_span(span, result) for span in spans) + "</ol>")
    parts += ["<h3>Why</h3>", f"<p>{_prose(diagnosis.why)}</p>"]
    if diagnosis.fixes:
        parts.append("<h3>What to change</h3>")
        parts.append("<ol>" + "".join(_fix(fix, result) for fix in diagnosis.fixes) + "</ol>")
    if diagnosis.why_not_retain:
        parts.append("<h3>Why not <code>retain_graph=True</code></h3>")
        parts.append(f"<p>{_prose(diagnosis.why_not_retain)}</p>")
    if diagnosis.notes:
        parts += ["<h3>Notes</h3>", _items(diagnosis.notes)]
    return "\n".join([*parts, "</section>"])


def _where(place: Place) -> str:
    inside = f" in {place.function}" if place.function not in ("", "<module>") else ""
    return f"{place.file}:{place.line}{inside}"


def _line(place: Place, result: Result) -> str:
    text = result.text_of(place)
    if not text:
        return ""
    return f'<pre><span class="at">{place.line:>4}  {_text(text)}</span></pre>'


def _span(span: Span, result: Result) -> str:
    when = f" ({_prose(span.iteration)})" if span.iteration else ""
    calls = [place for place in span.stack if place != span.place]
    stack = ""
    if calls:
        listed = "\n".join(
            f"{_where(place)}\n    {result.text_of(place).strip()}" for place in calls
        )
        stack = f"<details><summary>called by</summary><pre>{_text(listed)}</pre></details>"
    return (
        f"<li><strong>{_text(span.label)}</strong>{when}: "
        f"<code>{_text(_where(span.place))}</code>{_line(span.place, result)}{stack}</li>"
    )


def _fix(fix: Fix, result: Result) -> str:
    reason = f": {_prose(fix.text)}" if fix.text else ""
    parts = [f"<strong>{_text(fix.kind)}</strong>{reason}"]
    parts.append(f"<br><code>{_text(_where(fix.place))}</code>")
    parts.append(_diff(fix.diff) if fix.diff else _line(fix.place, result))
    if fix.cost:
        parts.append(f"<p>Cost: {_prose(fix.cost)}</p>")
    if fix.verified:
        parts.append(f"<p>Tried: {_prose(fix.verification or 'it helps')}</p>")
    elif fix.verification:
        parts.append(f"<p>{_prose(fix.verification)}</p>")
    return f"<li>{''.join(parts)}</li>"


def _diff(diff: str) -> str:
    lines = []
    for line in diff.splitlines():
        kind = {"-": "out", "+": "in"}.get(line[:1])
        if line.startswith(("---", "+++")) or kind is None:
            lines.append(_text(line) + "\n")
        else:
            lines.append(f'<span class="{kind}">{_text(line)}</span>')
    return f"<pre>{''.join(lines)}</pre>"
