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

from retrograd.diagnostics.layout import HelpFormatter
from retrograd.running.as_torch import path_with_shim

from .program import add_program, problem_of

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
        formatter_class=HelpFormatter,
        usage="retrograd run [-h] (SCRIPT | -m MODULE) [ARGS ...]",
    )
    add_program(
        parser, "the program and its own arguments, as for `python`; - reads it from standard input"
    )
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Become Python with the program; comes back only where a process cannot be replaced."""
    problem = problem_of(options)
    if problem is not None:
        options.parser.print_usage(sys.stderr)
        print(f"retrograd run: error: {problem}", file=sys.stderr)
        return 2
    program = options.program if options.module is None else ["-m", *options.module]
    command = [sys.executable, *_interpreter_flags(), *program]
    path = path_with_shim(os.environ.get("PYTHONPATH", ""))
    environment = {**os.environ, "PYTHONPATH": path}
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        os.execve(sys.executable, command, environment)
    try:
        return subprocess.call(command, env=environment)
    except KeyboardInterrupt:
        return 130


def _interpreter_flags() -> list[str]:
    """The options that this Python was started with, without those that would hide the path."""
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [flag for flag in flags if flag not in ("-E", "-I")]
