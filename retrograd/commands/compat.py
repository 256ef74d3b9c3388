"""`retrograd compat PATH`: will this code run on retrograd, and if not, which lines will not."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from pathlib import Path
from typing import Any

from retrograd.diagnostics.layout import HelpFormatter, counted, text_width

EXAMPLE = """\
examples:
  retrograd compat train.py
  retrograd compat src --json > names.json

The status is 0 if all names are there, 1 if some are missing or refuse, 2 if nothing could be read.
"""

TITLES = {
    "absent": "missing",
    "refuses": "there, and raises when used",
    "differs": "there, and differs from PyTorch",
    "works": "supported",
}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "compat",
        help="the torch names that code uses: which are supported, differ or are missing",
        description="List the names of PyTorch that code uses and what became of them here. The "
        "code is read, not run.",
        epilog=EXAMPLE,
        formatter_class=HelpFormatter,
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file or a folder")
    parser.add_argument("--json", action="store_true", help="print data for programs")
    parser.add_argument("--all", action="store_true", help="list the supported names as well")
    parser.set_defaults(run=compat)


def compat(options: argparse.Namespace) -> int:
    """Print the report; the exit status says whether all names are there."""
    for path in options.paths:
        if not path.exists():
            print(f"retrograd compat: error: there is no {path}", file=sys.stderr)
            return 2
    report = collect(options.paths)
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        _print(report, options.all)
    if report["files"] == len(report["unreadable"]):
        return 2
    names = report["names"]
    failing = any(n["status"] in ("absent", "refuses") and n["certain"] for n in names)
    return 1 if failing or report["packages"] or report["unreadable"] else 0


def collect(paths: list[Path]) -> dict[str, Any]:
    """The names by status, each with its places, as plain data."""
    from retrograd.compat.scan import scan_paths
    from retrograd.compat.status import STATUSES, status_of

    found = scan_paths(paths)
    places: dict[str, list[dict[str, object]]] = {}
    certain: dict[str, bool] = {}
    for use in found.uses:
        places.setdefault(use.name, []).append({"file": use.file, "line": use.line})
        certain[use.name] = certain.get(use.name, False) or use.certain
    names = []
    for name in sorted(places):
        status = status_of(name)
        names.append(
            {
                "name": name,
                "status": status.status,
                "note": status.note,
                "certain": certain[name],
                "places": places[name],
            }
        )
    return {
        "files": found.files,
        "counts": {kind: sum(n["status"] == kind for n in names) for kind in STATUSES},
        "names": names,
        "packages": [vars(use) for use in found.packages],
        "star_imports": [vars(use) for use in found.stars],
        "unreadable": [{"file": file, "reason": reason} for file, reason in found.unreadable],
    }


def _print(report: dict[str, Any], everything: bool) -> None:
    width = text_width()
    if not report["files"]:
        print("there are no Python files here")
        return
    for kind in ("absent", "refuses", "differs", "works"):
        names = [entry for entry in report["names"] if entry["status"] == kind]
        if kind == "works" and not everything:
            continue
        # what is missing may not be a tensor's member at all: said apart
        sure = [entry for entry in names if entry["certain"] or kind == "works"]
        _print_names(TITLES[kind], sure, width)
        if kind in ("absent", "refuses"):
            unsure = [entry for entry in names if not entry["certain"]]
            _print_names(f"{TITLES[kind]}, if it is a tensor's", unsure, width)
    if report["packages"]:
        print("packages that need PyTorch's compiled parts")
        for use in report["packages"]:
            print(f"  {use['name']}  {use['file']}:{use['line']}")
    for use in report["star_imports"]:
        print(f"{use['file']}:{use['line']}: what `from {use['name']} import *` brings is not seen")
    for entry in report["unreadable"]:
        print(f"{entry['file']}: {entry['reason']}")
    counts = report["counts"]
    print(
        f"{counted(report['files'], 'file')}, {counted(len(report['names']), 'name')} of PyTorch: "
        f"{counts['works']} supported, {counts['differs']} differ, {counts['refuses']} refuse, "
        f"{counts['absent']} missing"
    )


def _print_names(title: str, names: list[dict[str, Any]], width: int) -> None:
    if not names:
        return
    print(title)
    for entry in names:
        print(f"  {entry['name']}")
        if entry["note"]:
            print(
                textwrap.fill(
                    entry["note"], width, initial_indent=" " * 6, subsequent_indent=" " * 6
                )
            )
        if entry["status"] != "works":
            shown = [f"{place['file']}:{place['line']}" for place in entry["places"][:5]]
            more = len(entry["places"]) - len(shown)
            text = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
            print(textwrap.fill(text, width, initial_indent=" " * 6, subsequent_indent=" " * 6))
    print()
