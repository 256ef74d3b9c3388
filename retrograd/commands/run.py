"""`retrograd run SCRIPT [ARGS]`: a PyTorch program, as it is, on retrograd.

Nothing stands between Python and the program. The command only puts the folder that answers
`import torch` in front of Python's path, and becomes a plain Python with the program as its
argument: `__main__`, arguments, standard streams, signals and exit status are what they always are.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from retrograd.running.as_torch import SHIM

EXAMPLE = """\
examples:
  retrograd run train.py --epochs 3
  retrograd run -m package.train --epochs 3
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "run",
        help="run a PyTorch program on retrograd: `import torch` means retrograd there",
        description="Run a PyTorch program on retrograd. In it, and in the processes it starts, "
        "`import torch` means retrograd, whether or not PyTorch is installed.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="retrograd run [-h] (SCRIPT | -m MODULE) [ARGS ...]",
    )
    parser.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        metavar="SCRIPT",
        help="the program and its own arguments, as for `python`; - reads it from standard input",
    )
    parser.add_argument(
        "-m",
        dest="module",
        nargs=argparse.REMAINDER,
        metavar="MODULE",
        help="a module of a package to run as the program, and its arguments",
    )
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Become Python with the program; comes back only where a process cannot be replaced."""
    program: list[str] = options.program
    if options.module is not None:
        program = ["-m", *options.module]
    problem = _problem(program)
    if problem is not None:
        options.parser.print_usage(sys.stderr)
        print(f"retrograd run: error: {problem}", file=sys.stderr)
        return 2
    command = [sys.executable, *_interpreter_flags(), *program]
    environment = with_shim(os.environ)
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        os.execve(sys.executable, command, environment)
    try:
        return subprocess.call(command, env=environment)
    except KeyboardInterrupt:
        return 130


def _problem(program: Sequence[str]) -> str | None:
    """What is wrong with the program's name; None if it can be tried."""
    if not program:
        return "which program? Give a script, or -m and a module"
    first = program[0]
    if first == "-m":
        return None if len(program) > 1 else "-m needs the name of a module"
    if first != "-" and not os.path.exists(first):
        return f"there is no file {first!r} in {os.getcwd()}"
    return None


def _interpreter_flags() -> list[str]:
    """The options that this Python was started with, without those that would hide the path."""
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [flag for flag in flags if flag not in ("-E", "-I")]


def with_shim(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which `import torch` finds retrograd."""
    paths = [os.fspath(SHIM), *environment.get("PYTHONPATH", "").split(os.pathsep)]
    package = os.fspath(SHIM.parent.parent.parent)
    if os.path.abspath(sys.path[0]) == package:
        # `python -m retrograd` in a checkout: the program's own folder will take its place there
        paths.append(package)
    return {**environment, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
