"""The command line: `retrograd COMMAND`, also as `python -m retrograd COMMAND`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import __version__
from .commands import compat, doctor, explain, info, lint, run, view
from .commands.program import CommandParser

COMMANDS = (run, doctor, view, lint, compat, explain, info)
"""In the order of `retrograd --help`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the result is the process's exit status."""
    parser = CommandParser(
        prog="retrograd",
        description="PyTorch's autograd in Python, with a graph you can see.",
        epilog="`retrograd COMMAND --help` has examples.",
    )
    parser.add_argument("--version", action="version", version=f"retrograd {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    options = parser.parse_args(arguments)
    if not hasattr(options, "run"):
        parser.print_help()
        return 2
    try:
        status: int = options.run(options)
    except BrokenPipeError:
        # The reader (`| head`) has seen enough. Python would complain again while closing stdout.
        sys.stdout = None
        return 0
    return status
