"""Inside a process: a program runs on real PyTorch; what it has trained and kept is written down.

`python -m tests.doctor.mutation.observed SCRIPT ANSWER`. The answer (a pickle) says how the program
ended, what the optimizers' parameters were at the end, which of them ever had a gradient, how many
graph nodes were alive after the first steps and how many of them still held saved tensors.
"""

from __future__ import annotations

import os
import pickle
import random
import resource
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

PROCESSOR_SECONDS = 12  # a mutant may wait for a loss that never falls
SAMPLED = 10  # steps at which the living graph is counted


class Seen:
    """Hooks on every optimizer step."""

    def __init__(self) -> None:
        from torch.optim.optimizer import (
            register_optimizer_step_post_hook,
            register_optimizer_step_pre_hook,
        )

        self.parameters: list[Any] = []
        self.known: set[int] = set()
        self.reached: set[int] = set()
        self.steps = 0
        self.nodes: list[int] = []
        self.holding: list[int] = []
        register_optimizer_step_pre_hook(self.before)
        register_optimizer_step_post_hook(self.after)

    def before(self, optimizer: Any, *_: Any) -> None:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if id(parameter) not in self.known:
                    self.known.add(id(parameter))
                    self.parameters.append(parameter)
                if parameter.grad is not None and bool(parameter.grad.count_nonzero()):
                    self.reached.add(id(parameter))

    def after(self, *_: Any) -> None:
        self.steps += 1
        if self.steps <= SAMPLED:
            from tests.doctor.case_probes import graph_nodes, holds_saved_tensors

            nodes = graph_nodes()
            self.nodes.append(len(nodes))
            if self.steps in (2, 3):
                self.holding.append(sum(map(holds_saved_tensors, list(nodes)[:500])))


def observe(script: Path) -> dict[str, Any]:
    """Run the script; what was seen, as plain data."""
    import numpy
    import torch

    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS + 5))
    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)
    seen = Seen()
    result: dict[str, Any] = {"error": "", "line": None}
    sys.argv, sys.path[0] = [os.fspath(script)], os.fspath(script.parent)
    try:
        runpy.run_path(os.fspath(script), run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            result["error"] = f"SystemExit: {end.code}"
    except BaseException as error:
        result["error"] = f"{type(error).__name__}: {str(error)[:300]}"
        own = [
            (os.path.relpath(frame.filename, script.parent), frame.lineno)
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename).is_relative_to(script.parent)
        ]
        result["line"] = own[-1] if own else None
    result["values"] = [each.detach().double().cpu().numpy().copy() for each in seen.parameters]
    result["reached"] = [id(each) in seen.reached for each in seen.parameters]
    result.update(steps=seen.steps, nodes=seen.nodes, holding=seen.holding)
    return result


if __name__ == "__main__":
    program, answer = map(Path, sys.argv[1:3])
    answer.write_bytes(pickle.dumps(observe(program)))
