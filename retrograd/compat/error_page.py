"""The error catalogue for readers: a page with all codes, and a page for each."""

from __future__ import annotations

import re

from retrograd.diagnostics.catalogue import catalogue, causes, causes_of
from retrograd.diagnostics.entry import FAMILIES, Entry
from retrograd.diagnostics.pages import parse_page, whole_page

_INTRODUCTION = """\
# Errors

Every error and warning with a code, and a page for each. `retrograd explain CODE` prints that page
in a terminal, `error.explain()` in a program. [The quick start](quickstart.md#read-the-report)
shows how to read a report.

This page is written by `python -m retrograd.compat.documentation docs/errors.md` from the
catalogue; the tests fail when it is out of date. Both examples of every code run in the tests: the
first must raise or warn with that code.
"""
_CAUSES = """\
What a program did has one name, in reports of [the doctor](doctor.md), in `error.reason` and in
`retrograd explain NAME`; an error or a rule of [lint](lint.md) is how it shows. Each page has a
program with the mistake, and what the doctor prints about it.
"""
# what of a page is shown, and how it is called there; the rest is the same on every page
_SECTIONS = {
    "What happened": None,
    "Why": "Why",
    "Example (fails)": "Fails",
    "Instead (works)": "Works",
    "How to look closer": "How to look closer",
    "See also": "See also",
}
_GUIDES = {
    "RG101": (
        *("second_backward", "carried_state", "two_losses", "gan", "outside_the_loop"),
        *("closures", "gradient_accumulation", "retain_graph"),
    ),
    "RG102": ("in_place",),
    "RG103": ("no_graph", "higher_order"),
    "RG105": ("in_place",),
    "RG118": ("checkpointing",),
    "RG401": ("custom_functions",),
}
"""The guides about a code: files of `docs/guides/`."""
_CODE = re.compile(r"(?<![\w`\[])(RG\d{3})(?![\w`\]])")


PAGES = "../retrograd/diagnostics/explain"
"""Where the pages are, seen from `docs/`; on the site they lie in `errors/`."""


def error_page() -> str:
    """The page with all codes."""
    parts = [_INTRODUCTION]
    for prefix, family in FAMILIES.items():
        entries = [entry for entry in catalogue().values() if entry.code.startswith(prefix)]
        if not entries:
            continue
        parts += [f"## {family[0].upper()}{family[1:]}\n", "| code | name | |\n| --- | --- | --- |"]
        parts += [
            f"| [{e.code}]({PAGES}/{e.code}.md) | {e.slug} | {_cell(e.summary)} |" for e in entries
        ]
        parts.append("")
    parts += ["## Causes\n", _CAUSES, "| cause | | errors | lint |\n| --- | --- | --- | --- |"]
    for cause in causes().values():
        errors = ", ".join(f"[{code}]({PAGES}/{code}.md)" for code in cause.codes)
        rules = ", ".join(f"[{code}](lint.md#{code.lower()})" for code in cause.rules)
        link = f"[{cause.slug}]({PAGES}/{cause.slug}.md)"
        parts.append(f"| {link} | {_cell(cause.summary)} | {errors} | {rules} |")
    return "\n".join(parts).rstrip() + "\n"


def error_pages() -> dict[str, str]:
    """The pages of the codes and causes, by their path on the site."""
    pages = {f"errors/{entry.code}.md": _page(entry) for entry in catalogue().values()}
    return pages | {f"errors/{slug}.md": _linked(whole_page(slug)) for slug in causes()}


def _page(entry: Entry) -> str:
    page = parse_page(entry.code)
    level = "" if entry.level == "error" else f" ({entry.level})"
    parts = [f"# {entry.code}: {entry.slug}{level}\n", f"{_linked(entry.summary)}\n"]
    for heading, title in _SECTIONS.items():
        text = page.sections.get(heading)
        if text:
            if title is not None:
                parts.append(f"## {title}\n")
            parts.append(_linked(text) + "\n")
    found = [
        f"- [{cause.slug}]({cause.slug}.md): {cause.summary}" for cause in causes_of(entry.code)
    ]
    if found:
        parts += ["## Causes\n", *found, ""]
    guides = _GUIDES.get(entry.code, ())
    if guides:
        links = (f"[{name.replace('_', ' ')}](../guides/{name}.md)" for name in guides)
        parts.append("Guides: " + ", ".join(links) + "\n")
    return "\n".join(parts).rstrip() + "\n"


def _linked(text: str) -> str:
    """Codes in the prose lead to their pages; code blocks stay as they are.

    Blocks are marked as `py`, not `python`: they are run where they come from, and the first of
    each code fails.
    """
    pieces = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(
        re.sub("^```python$", "```py", piece, flags=re.MULTILINE)
        if piece.startswith("```")
        else _CODE.sub(
            lambda found: _link(found[1]) if found[1] in catalogue() else found[1], piece
        )
        for piece in pieces
    )


def _link(code: str) -> str:
    return f"[{code}]({code}.md)"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
