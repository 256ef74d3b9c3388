"""`python -m benchmarks.size`: how many lines of Python each room of `retrograd/` has.

A room is a folder directly below `retrograd/`; modules beside the rooms are counted together. Blank
lines and comments count: they are read too. C and C++ stand in a column of their own.
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

from benchmarks.runner import ROOT

KINDS = {".py": "python", ".pyi": "stubs", ".c": "compiled", ".cpp": "compiled", ".h": "compiled"}
BESIDE = "(modules)"

Rooms = dict[str, dict[str, int]]


def rooms(checkout: Path) -> Rooms:
    """Lines of each kind for every room of a checkout."""
    package = checkout / "retrograd"
    found: Rooms = defaultdict(lambda: defaultdict(int))
    for path in package.rglob("*"):
        kind = KINDS.get(path.suffix)
        if kind is None or not path.is_file():
            continue
        parts = path.relative_to(package).parts
        room = parts[0] if len(parts) > 1 else BESIDE
        found[room][kind] += len(path.read_text(encoding="utf-8").splitlines())
    return {room: dict(found[room]) for room in sorted(found)}


def total(counted: Rooms, kind: str) -> int:
    return sum(lines.get(kind, 0) for lines in counted.values())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.size", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--baseline", type=Path, metavar="FOLDER", help="another checkout")
    options = parser.parse_args()
    here = rooms(ROOT)
    before = None if options.baseline is None else rooms(options.baseline)
    if options.json:
        print(json.dumps({"rooms": here, "baseline": before}, indent=2))
        return 0
    kinds = ("python", "compiled", "stubs")
    columns = [kind for kind in kinds if total(here, kind)]
    print(f"{'room':<20}" + "".join(f"{kind:>10}" for kind in columns), end="")
    print("" if before is None else f"{'baseline':>10}{'change':>9}")
    names = sorted({*here, *(before or {})})
    for name in [*names, "total"]:
        if name == "total":
            lines = {kind: total(here, kind) for kind in columns}
            old = 0 if before is None else total(before, "python")
        else:
            lines = here.get(name, {})
            old = 0 if before is None else before.get(name, {}).get("python", 0)
        text = f"{name:<20}" + "".join(f"{lines.get(kind, 0) or '':>10}" for kind in columns)
        if before is not None:
            text += f"{old or '':>10}{lines.get('python', 0) - old:>+9}"
        print(text.rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
