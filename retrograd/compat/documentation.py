"""Writes pages of the documentation: ``python -m retrograd.compat.documentation docs/ops.md``.

The name of the file says which page: ``ops.md``, ``errors.md`` or ``lint.md``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from retrograd.compat.error_page import error_page
from retrograd.compat.op_table import op_page
from retrograd.lint.page import lint_page

PAGES = {"ops.md": op_page, "errors.md": error_page, "lint.md": lint_page}


def main() -> None:
    """Write the pages to the paths given."""
    paths = [Path(argument) for argument in sys.argv[1:]]
    if not paths or any(path.name not in PAGES for path in paths):
        sys.exit(f"usage: python -m retrograd.compat.documentation PATH/{{{','.join(PAGES)}}} ...")
    for path in paths:
        written = path.with_suffix(".new")
        written.write_text(PAGES[path.name](), encoding="utf-8")
        written.replace(path)


if __name__ == "__main__":
    main()
