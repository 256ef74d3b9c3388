"""`retrograd explain RG101`: the page of an error code."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap

from retrograd.diagnostics.catalogue import CATALOGUE, similar
from retrograd.diagnostics.pages import parse_page, read_page


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "explain",
        help="say what an error code means, with an example that fails and one that works",
        description="Say what an error code means. Without a code, list all of them.",
        epilog="example:\n  retrograd explain RG101",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("code", nargs="?", metavar="CODE", help="such as RG101")
    parser.add_argument("--json", action="store_true", help="print data for programs")
    parser.set_defaults(run=explain)


def explain(options: argparse.Namespace) -> int:
    """Print a page, or the list of codes."""
    if options.code is None:
        _list_codes(options.json)
        return 0
    code = options.code.upper()
    if code not in CATALOGUE:
        by_slug = {entry.slug: entry.code for entry in CATALOGUE.values()}
        code = by_slug.get(options.code.lower(), "")
    if not code:
        print(f"retrograd: there is no code {options.code}", file=sys.stderr)
        near = similar(options.code)
        if near:
            print("did you mean:", file=sys.stderr)
            for other in near:
                print(f"  {other}  {CATALOGUE[other].summary}", file=sys.stderr)
        else:
            print("`retrograd explain` lists all codes", file=sys.stderr)
        return 2
    if options.json:
        page = parse_page(code)
        examples = {"fails": page.fails, "works": page.works}
        data = {**CATALOGUE[code].to_dict(), "sections": page.sections, "examples": examples}
        print(json.dumps(data, indent=2))
    else:
        _print_page(read_page(code))
    return 0


def _list_codes(as_json: bool) -> None:
    if as_json:
        print(json.dumps([entry.to_dict() for entry in CATALOGUE.values()], indent=2))
        return
    width = _width()
    family = ""
    for entry in CATALOGUE.values():
        if entry.family != family:
            family = entry.family
            print(("" if entry is next(iter(CATALOGUE.values())) else "\n") + family)
        indent = " " * 9
        print(textwrap.fill(f"  {entry.code}  {entry.summary}", width, subsequent_indent=indent))
    print("\nretrograd explain CODE tells more")


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
    print(_wrapped(text, _width()), end="")


def _wrapped(text: str, width: int) -> str:
    """The page with its paragraphs and lists wrapped; code stays as it is."""
    lines: list[str] = []
    in_code = False
    for line in text.splitlines():
        if line.startswith("```"):
            in_code = not in_code
        if in_code or len(line) <= width:
            lines.append(line)
        else:
            hang = "  " if line.startswith("- ") else ""
            lines += textwrap.wrap(line, width, subsequent_indent=hang, break_long_words=False)
    return "\n".join(lines) + "\n"


def _width() -> int:
    return min(100, shutil.get_terminal_size((100, 24)).columns)
