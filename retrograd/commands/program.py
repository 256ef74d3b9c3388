"""The program that `retrograd run`, `doctor` and `view` start: a script, or `-m` and a module."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Any


class CommandParser(argparse.ArgumentParser):
    """The parser of a command: options are written out, and a program's arguments are its own."""

    takes_program = False

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **keywords})

    def parse_known_args(  # type: ignore[override]  # the stub has overloads for other namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As always; what follows the program's name is not even looked at."""
        if not self.takes_program or args is None:
            return super().parse_known_args(args, namespace)
        own, program, module = self._apart(list(args))
        found, unknown = super().parse_known_args(own, namespace)
        found.program, found.module = program, module
        return found, unknown

    def _apart(self, args: list[str]) -> tuple[list[str], list[str], list[str] | None]:
        """The command's own arguments, and the program's: of a script, or of a module."""
        position = 0
        while position < len(args):
            word = args[position]
            if word == "--":
                return args[:position], args[position + 1 :], None
            if word.startswith("-m"):
                joined = [word[2:]] if word != "-m" else []
                return args[:position], [], [*joined, *args[position + 1 :]]
            if word == "-" or not word.startswith("-"):
                return args[:position], args[position:], None
            position += 1 + self._values_of(word)
        return args, [], None

    def _values_of(self, option: str) -> int:
        """How many of the following arguments belong to an option."""
        action = self._option_string_actions.get(option)
        if action is None or action.nargs == 0:
            return 0  # also `--json=FILE`, and an option that is not known: argparse complains
        return action.nargs if isinstance(action.nargs, int) else 1


def add_program(parser: argparse.ArgumentParser, script: str) -> None:
    """Let a command take a program and the program's own arguments."""
    assert isinstance(parser, CommandParser)
    parser.takes_program = True  # these two are here for the help: the parser takes them apart
    parser.add_argument("program", nargs="*", metavar="SCRIPT", help=script)
    parser.add_argument(
        "-m",
        dest="module",
        nargs=argparse.REMAINDER,
        metavar="MODULE",
        help="a module of a package to run as the program, and its arguments",
    )


def problem_of(options: argparse.Namespace) -> str | None:
    """What is wrong with the program's name; None if it can be tried."""
    if options.module is not None:
        return None if options.module else "-m needs the name of a module"
    if not options.program:
        return "which program? Give a script, or -m and a module"
    script: str = options.program[0]
    if script == "-":
        return None
    if os.path.isdir(script):
        if {"__main__.py", "__main__.pyc"}.isdisjoint(os.listdir(script)):
            return f"{script!r} is a folder without a __main__.py"
        return None
    if not os.path.exists(script):
        where = "" if os.path.isabs(script) else f" in {os.getcwd()}"
        return f"there is no file {script!r}{where}"
    return None


def problem_of_run(
    options: argparse.Namespace, engine: str, files: Mapping[str, str | None]
) -> str | None:
    """What is wrong with a command that watches a program; None if it can be started.

    engine   the option that chooses the library
    files    option -> the file that it asks for
    """
    from retrograd.watching.program import has_torch

    problem = problem_of(options)
    if problem is not None:
        return problem
    if options.module is None and options.program[0] == "-":
        return "a program from standard input has no lines to point at: save it to a file"
    for name, file in files.items():
        if file is not None and not os.path.isdir(os.path.dirname(os.path.abspath(file))):
            return f"{name}: there is no folder {os.path.dirname(file)!r}"
    if getattr(options, engine.strip("-")) == "torch" and not has_torch():
        return f"{engine} torch: PyTorch is not installed for this Python"
    return None


def seconds(text: str) -> float:
    """An option that is a number of seconds."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not found > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return found
