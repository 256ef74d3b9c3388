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
  retrograd run --nproc-per-node 4 train.py
"""

# Options of `torchrun`: with one of them the program is started in several processes.
_LAUNCHER = """
nnodes nproc-per-node rdzv-backend rdzv-endpoint rdzv-id rdzv-conf standalone max-restarts role
log-dir redirects tee local-ranks-filter node-rank master-addr master-port local-addr
signals-to-handle shutdown-timeout
""".split()


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "run",
        help="run a PyTorch program on retrograd: `import torch` means retrograd there",
        description="Run a PyTorch program on retrograd. In it, and in the processes it starts, "
        "`import torch` means retrograd, whether or not PyTorch is installed.",
        epilog=EXAMPLE,
        formatter_class=HelpFormatter,
        usage="retrograd run [-h] [--nproc-per-node N ...] (SCRIPT | -m MODULE) [ARGS ...]",
    )
    several = parser.add_argument_group(
        "several processes", "the options of torchrun (docs/distributed.md)"
    )
    several.add_argument("--nproc-per-node", metavar="N", help="how many: a number, auto or cpu")
    for name in _LAUNCHER:
        if name == "standalone":
            several.add_argument("--standalone", action="store_true", help=argparse.SUPPRESS)
        elif name != "nproc-per-node":
            several.add_argument(f"--{name}", metavar="VALUE", help=argparse.SUPPRESS)
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
    told = _told(options)
    if told:
        from retrograd.distributed.run import launch

        os.environ["PYTHONPATH"] = path
        python = [sys.executable, *_interpreter_flags()]
        return launch([*told, *program], "retrograd run", python)
    environment = {**os.environ, "PYTHONPATH": path}
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        os.execve(sys.executable, command, environment)
    try:
        return subprocess.call(command, env=environment)
    except KeyboardInterrupt:
        return 130


def _told(options: argparse.Namespace) -> list[str]:
    """What was said of several processes, for the launcher."""
    found = []
    for name in _LAUNCHER:
        value = getattr(options, name.replace("-", "_"))
        if value is True:
            found.append(f"--{name}")
        elif value:
            found.append(f"--{name}={value}")
    return found


def _interpreter_flags() -> list[str]:
    """The options that this Python was started with, without those that would hide the path."""
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [flag for flag in flags if flag not in ("-E", "-I")]
