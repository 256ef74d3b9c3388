"""How the commands lay out what they print: help, the width of lines, numbers of things."""

from __future__ import annotations

import argparse
import shutil
import textwrap

WIDEST = 100


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps a description of one paragraph, and leaves examples as they are written."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return super()._fill_text(text, width, indent)
        return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent)

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if action.nargs == argparse.REMAINDER and action.option_strings:
            return f"{action.metavar} ..."  # argparse's own form is the dots alone
        return super()._format_args(action, default_metavar)


def text_width() -> int:
    """The columns to fill: the terminal's, or COLUMNS, and not more than is good to read."""
    return min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "file"), counted(2, "file")
    ('1 file', '2 files')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")
