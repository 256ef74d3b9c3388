"""`python -m torch.distributed.launch`, the older form of `torch.distributed.run`.

It gives the program an argument ``--local-rank=N``, unless it is told ``--use-env``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from retrograd.distributed.run import launch

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> None:
    """Start a program in several processes, and end with their status."""
    given = list(sys.argv[1:] if args is None else args)
    own = [word for word in given if word not in ("--use-env", "--use_env")]
    status = launch(own, "torch.distributed.launch", local_rank=len(own) == len(given))
    if status:
        sys.exit(status)


if __name__ == "__main__":
    main()
