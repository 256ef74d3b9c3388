"""`retrograd doctor SCRIPT [ARGS]`: run a PyTorch program and explain its autograd mistakes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from retrograd.diagnostics.layout import HelpFormatter

from .program import add_program, problem_of_run, seconds

EXAMPLE = """\
examples:
  retrograd doctor train.py --epochs 3
  retrograd doctor --json report.json --html report.html train.py
  retrograd doctor --max-seconds 60 -m package.train
  retrograd doctor --engine retrograd train.py     # where PyTorch is not installed

exit status: 1 a mistake was found; else the program's own, 130 if it was interrupted; 2 also for
wrong use; with --passthrough always the program's own.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "doctor",
        help="run a PyTorch program, explain its autograd mistakes, and try the fixes",
        description="Run a PyTorch program as it is, watch it, and explain its autograd mistakes: "
        "what happened, on which lines, why, and what to change. The report goes to standard "
        "error when the program has ended; its own output is untouched.",
        epilog=EXAMPLE,
        formatter_class=HelpFormatter,
        usage="retrograd doctor [OPTIONS] (SCRIPT | -m MODULE) [ARGS ...]",
    )
    parser.add_argument(
        "--engine",
        choices=("torch", "retrograd"),
        help="what the program runs on; by default PyTorch where it is installed",
    )
    parser.add_argument("--json", metavar="FILE", help="also write the report for programs")
    parser.add_argument(
        "--html",
        metavar="FILE",
        help="also write the report as a web page, with the graph of the run",
    )
    parser.add_argument(
        "--verify",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="try the proposed fixes on a copy of the program; by default if it took under 20 s "
        "and did nothing that must not happen twice",
    )
    parser.add_argument(
        "--apply", action="store_true", help="write the best fix that was tried into the files"
    )
    parser.add_argument("--yes", action="store_true", help="with --apply: do not ask before")
    parser.add_argument(
        "--second-pass",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the program may run once more where a question needs slower watching; by "
        "default if it was short and did nothing that must not happen twice",
    )
    parser.add_argument(
        "--max-seconds",
        type=seconds,
        metavar="N",
        help="interrupt the program so many seconds after it has imported torch, and report what "
        "was seen",
    )
    parser.add_argument(
        "--passthrough", action="store_true", help="end with the program's own exit status"
    )
    add_program(parser, "the program and its arguments")
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Run the program under the doctor and report."""
    problem = _problem(options)
    if problem is not None:
        options.parser.print_usage(sys.stderr)
        print(f"retrograd doctor: error: {problem}", file=sys.stderr)
        return 2
    from retrograd.doctor.supervisor import Order, examine

    if options.module is not None:
        script, module, arguments = None, options.module[0], options.module[1:]
    else:
        script, module, arguments = options.program[0], None, options.program[1:]
    order = Order(
        script=script,
        module=module,
        arguments=arguments,
        engine=options.engine,
        second_pass=options.second_pass,
        verify=options.verify,
        apply=options.apply,
        yes=options.yes,
        max_seconds=options.max_seconds,
        json=None if options.json is None else Path(options.json),
        html=None if options.html is None else Path(options.html),
        passthrough=options.passthrough,
    )
    return examine(order)


def _problem(options: argparse.Namespace) -> str | None:
    """What is wrong with the command line; None if the program can be started."""
    files = {"--json": options.json, "--html": options.html}
    problem = problem_of_run(options, "--engine", files)
    if problem is None and options.apply and options.verify is False:
        return "--apply writes only what was tried: it does not go with --no-verify"
    return problem
