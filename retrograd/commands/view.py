"""`retrograd view SCRIPT [ARGS]`: run a program and see the life of its graph on a page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from retrograd.diagnostics.layout import HelpFormatter

from .program import add_program, problem_of_run, seconds

EXAMPLE = """\
examples:
  retrograd view train.py --epochs 3
  retrograd view -o life.html --json life.json train.py
  retrograd view --on retrograd --compare 0 5 train.py
  retrograd view --max-seconds 60 -m package.train

The page is one file that needs nothing else; it is written also when the program fails. A long
run keeps its first steps, its last ones and the one with most memory; --steps says how many.

exit status: the program's own; 2 wrong use, or the page could not be written.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "view",
        help="run a PyTorch program and write a page that shows the life of its graph",
        description="Run a PyTorch program as it is, record the life of its graph, and write a "
        "page on which it can be seen: what is saved for backward, by which line and module, what "
        "frees it and what holds it, step by step. A summary goes to standard error when the "
        "program has ended; its own output is untouched.",
        epilog=EXAMPLE,
        formatter_class=HelpFormatter,
        usage="retrograd view [OPTIONS] (SCRIPT | -m MODULE) [ARGS ...]",
    )
    parser.add_argument(
        "--on",
        choices=("torch", "retrograd"),
        help="what the program runs on; by default PyTorch where it is installed",
    )
    parser.add_argument(
        "-o", dest="page", metavar="FILE", default="graph.html", help="the page; graph.html"
    )
    parser.add_argument("--json", metavar="FILE", help="also write the recording for programs")
    parser.add_argument(
        "--steps", type=_steps, metavar="N", help="keep so many steps, 3 or more; by default 20"
    )
    parser.add_argument(
        "--every-step",
        action="store_true",
        help="record every step of a long run; by default steps are passed over so that it takes "
        "about twice its time at most",
    )
    parser.add_argument(
        "--compare",
        type=_step,
        nargs=2,
        metavar=("A", "B"),
        help="keep these two steps, counted from 0, and give the address at which the page has "
        "them side by side",
    )
    parser.add_argument(
        "--max-seconds",
        type=seconds,
        metavar="N",
        help="interrupt the program so many seconds after it has imported torch",
    )
    add_program(parser, "the program and its arguments")
    parser.set_defaults(run=run, parser=parser)


def _steps(text: str) -> int:
    return _number(text, 3)


def _step(text: str) -> int:
    return _number(text, 0)


def _number(text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} on")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Run the program, record it, and write the page."""
    files = {"-o": options.page, "--json": options.json}
    problem = problem_of_run(options, "--on", files)
    if problem is not None:
        options.parser.print_usage(sys.stderr)
        print(f"retrograd view: error: {problem}", file=sys.stderr)
        return 2
    from retrograd.graph.viewer import Order, view_program

    program = options.program if options.module is None else options.module
    order = Order(
        script=program[0] if options.module is None else None,
        module=None if options.module is None else program[0],
        arguments=program[1:],
        engine=options.on,
        page=Path(options.page),
        json=None if options.json is None else Path(options.json),
        compare=options.compare or [],
        every_step=options.every_step,
        max_seconds=options.max_seconds,
    )
    if options.steps is not None:
        order.steps = options.steps
    return view_program(order)
