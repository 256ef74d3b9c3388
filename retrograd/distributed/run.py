"""`python -m torch.distributed.run`, which is `torchrun`: a program in several processes.

>>> torch.distributed.run.main(["--help"])
Traceback (most recent call last):
SystemExit: 0
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from retrograd.distributed.launcher.agent import Agent, Interrupted
from retrograd.distributed.launcher.failures import ChildFailedError
from retrograd.distributed.launcher.options import Refused, parser, planned
from retrograd.distributed.names import DistError

__all__ = ["main"]

_THREADS = """
*****************************************
Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your \
system being overloaded, please further tune the variable for optimal performance in your \
application as needed. 
*****************************************"""


def main(args: Sequence[str] | None = None) -> None:
    """Start a program in several processes, and end with their status."""
    status = launch(sys.argv[1:] if args is None else args, "torchrun")
    if status:
        sys.exit(status)


def launch(
    args: Sequence[str],
    name: str,
    python: Sequence[str] | None = None,
    local_rank: bool = False,
) -> int:
    """The same; the status.

    local_rank  whether the program gets its local rank as an argument, too
    """
    options = parser(name)
    found = options.parse_args(list(args))
    try:
        plan = planned(found, python or [os.environ.get("PYTHON_EXEC", sys.executable)])
        if local_rank:
            plan.rank_at = len(plan.program) - len(found.training_script_args)
    except Refused as refused:
        options.print_usage(sys.stderr)
        print(f"{name}: error: {refused}", file=sys.stderr)
        return 2
    if plan.processes > 1 and "OMP_NUM_THREADS" not in os.environ:
        print(_THREADS, file=sys.stderr, flush=True)
    agent = None
    try:
        agent = Agent(plan)
        agent.run()
    except Interrupted as interrupted:
        print(f"{name}: all processes were ended by {interrupted}", file=sys.stderr)
        return 128 + interrupted.number
    except KeyboardInterrupt:
        return 130
    except ChildFailedError as failed:
        print(failed, file=sys.stderr)
        return 1
    except DistError as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        return 1
    finally:
        if agent is not None:
            agent.close()
    return 0


if __name__ == "__main__":
    main()
