"""`retrograd explain RG101`: the page of an error code, of a lint rule, or of a cause."""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from difflib import get_close_matches
from functools import partial

from retrograd.diagnostics.catalogue import catalogue, causes, causes_of, similar
from retrograd.diagnostics.layout import WIDEST, HelpFormatter, text_width
from retrograd.diagnostics.pages import parse_page, whole_page
from retrograd.lint import RULES

FENCED = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
PARAGRAPH = re.compile(r"^(?!#).+(?:\n(?!#|- |\n).+)*", re.MULTILINE)
"""A paragraph or an item of a list, which goes on to an empty line or the next item."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "explain",
        help="say what an error code means, with an example that fails and one that works",
        description="Say what the code of an error, the code of a lint rule or the name of a cause "
        "means. Without a name, list all of them.",
        epilog="examples:\n  retrograd explain RG101\n  retrograd explain RGL203\n"
        "  retrograd explain stale-state-carried",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("code", nargs="?", metavar="NAME", help="such as RG101 or same-loss-twice")
    parser.add_argument("--json", action="store_true", help="print data for programs")
    parser.set_defaults(run=explain)


def explain(options: argparse.Namespace) -> int:
    """Print a page, or the list of codes."""
    if options.code is None:
        _list_codes(options.json)
        return 0
    name = _named(options.code)
    if name is None:
        return _unknown(options.code)
    if options.json:
        print(json.dumps(_data(name), indent=2))
    else:
        _print_page(whole_page(name))
    return 0


def _named(word: str) -> str | None:
    """The cause, code or rule that a word names, by its code or its other name."""
    known = [*causes(), *catalogue(), *RULES]
    by_name = {name.lower(): name for name in known}
    by_slug = {rule.slug: rule.code for rule in RULES.values()}
    by_slug |= {entry.slug: entry.code for entry in catalogue().values()}
    return by_name.get(word.lower()) or by_slug.get(word.lower())


def _unknown(word: str) -> int:
    print(f"retrograd: there is no code {word}", file=sys.stderr)
    known = {entry.code: entry.summary for entry in catalogue().values()}
    known |= {rule.code: rule.summary for rule in RULES.values()}
    known |= {cause.slug: cause.summary for cause in causes().values()}
    near = [*get_close_matches(word.lower(), causes(), n=3), *similar(word)]
    if word.upper().startswith("RGL"):
        near = get_close_matches(word.upper(), RULES, n=4)
    if near:
        print("did you mean:", file=sys.stderr)
        for other in near:
            print(f"  {other}  {known[other]}", file=sys.stderr)
    else:
        print("`retrograd explain` lists all codes", file=sys.stderr)
    return 2


def _data(name: str) -> dict[str, object]:
    sections = parse_page(name).sections
    if name in causes():
        return {**causes()[name].to_dict(), "sections": sections}
    found: dict[str, object] = {"causes": [cause.slug for cause in causes_of(name)]}
    if name in RULES:
        rule = RULES[name]
        examples = {"reported": rule.reported, "silent": rule.silent}
        return {**rule.to_dict(), **found, "sections": sections, "examples": examples}
    page = parse_page(name)
    examples = {"fails": page.fails, "works": page.works}
    return {**catalogue()[name].to_dict(), **found, "sections": sections, "examples": examples}


def _list_codes(as_json: bool) -> None:
    if as_json:
        data = [entry.to_dict() for entry in catalogue().values()]
        print(json.dumps(data + [rule.to_dict() for rule in RULES.values()], indent=2))
        return
    width = text_width()
    family = ""
    for entry in catalogue().values():
        if entry.family != family:
            family = entry.family
            print(("" if entry is next(iter(catalogue().values())) else "\n") + family)
        indent = " " * 9
        print(textwrap.fill(f"  {entry.code}  {entry.summary}", width, subsequent_indent=indent))
    for rule in RULES.values():
        if f"lint: {rule.family}" != family:
            family = f"lint: {rule.family}"
            print(f"\n{family}")
        summary = rule.summary + ("" if rule.default else " (off unless selected)")
        indent = " " * 10
        print(textwrap.fill(f"  {rule.code}  {summary}", width, subsequent_indent=indent))
    print("\ncauses")
    for cause in causes().values():
        print(textwrap.fill(f"  {cause.slug}: {cause.summary}", width, subsequent_indent="      "))
    print("\nretrograd explain NAME tells more")


def _print_page(text: str) -> None:
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.markdown import Markdown
        except ImportError:
            pass
        else:
            Console().print(Markdown(text))
            return
    print(_wrapped(text, text_width()), end="")


def _wrapped(text: str, width: int) -> str:
    """The page with its paragraphs and lists wrapped; code stays as it is."""
    if width >= WIDEST:
        return text  # it is written for this width
    blocks = []
    for place, part in enumerate(FENCED.split(text)):
        in_code = place % 2 == 1
        blocks.append(part if in_code else PARAGRAPH.sub(partial(_filled, width), part))
    return "".join(blocks)


def _filled(width: int, found: re.Match[str]) -> str:
    hang = "  " if found[0].startswith("- ") else ""
    text = " ".join(found[0].split())
    return textwrap.fill(
        text, width, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False
    )
