"""How much is untyped: ``python -m retrograd.compat.type_counts``, by room.

Counts the words ``Any`` and the comments ``type: ignore`` in the package's Python files.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
_WORDS = {"Any": re.compile(r"\bAny\b"), "type: ignore": re.compile(r"#\s*type: ignore")}


def type_counts() -> dict[str, Counter[str]]:
    """Both counts by room: a folder of the package, or "." for the files beside the folders.

    >>> sorted(type_counts()["autograd"])
    ['Any', 'type: ignore']
    """
    found: dict[str, Counter[str]] = {}
    for path in _PACKAGE.rglob("*.py"):
        inside = path.relative_to(_PACKAGE)
        room = inside.parts[0] if len(inside.parts) > 1 else "."
        text = path.read_text(encoding="utf-8")
        counts = found.setdefault(room, Counter())
        counts.update({word: len(pattern.findall(text)) for word, pattern in _WORDS.items()})
    return found


def main() -> None:
    """Print the rooms, those with most first, and the sums."""
    rooms = type_counts()
    for room, counts in sorted(rooms.items(), key=lambda item: -item[1]["Any"]):
        print(f"{room:16} {counts['Any']:6} Any {counts['type: ignore']:5} type: ignore")
    total = sum(rooms.values(), Counter())
    print(f"{'all':16} {total['Any']:6} Any {total['type: ignore']:5} type: ignore")


if __name__ == "__main__":
    main()
