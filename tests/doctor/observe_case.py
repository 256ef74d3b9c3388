"""Runs labelled scripts on PyTorch and says how each one ended.

`Observer` starts this file as a process of its own, which imports torch once and forks for every
run: a script finds the fresh interpreter it would have under `python script.py`, without the wait.
Run it by hand with `python tests/doctor/observe_case.py SCRIPT ...`.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

SECONDS = 900  # for scripts that hang


class Observer:
    """A process that runs scripts: `Observer().run(path)` gives a dict (see `observe`)."""

    def __init__(self) -> None:
        self.server: subprocess.Popen[str] | None = None

    def run(self, script: Path, **options: Any) -> dict[str, Any]:
        """`options`: `probe` (of the label), `retain` (act as if every call kept its graph)."""
        if self.server is None:
            self.server = subprocess.Popen(
                [sys.executable, __file__, "--serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        assert self.server.stdin is not None and self.server.stdout is not None
        self.server.stdin.write(json.dumps({"script": str(script), **options}) + "\n")
        self.server.stdin.flush()
        answer = self.server.stdout.readline()
        if not answer:
            raise RuntimeError("the process that runs the scripts ended")
        result: dict[str, Any] = json.loads(answer)
        return result

    def close(self) -> None:
        if self.server is not None:
            assert self.server.stdin is not None and self.server.stdout is not None
            self.server.stdin.close()
            self.server.stdout.close()
            self.server.wait()
            self.server = None


def own_lines(error: BaseException, script: Path) -> list[dict[str, Any]]:
    """The frames of a traceback in the script or, if it has a folder of its own, in that folder."""
    folder = script.parent if script.name == "main.py" else None
    lines = []
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        if path == script or (folder is not None and folder in path.parents):
            root = script.parent if folder is None else folder.parent
            lines.append({"file": path.relative_to(root).as_posix(), "line": frame.lineno})
    return lines


def keep_every_graph() -> None:
    """What happens if `retain_graph=True` is added to every call."""
    import torch

    tensor_backward, backward, grad = (
        torch.Tensor.backward,
        torch.autograd.backward,
        torch.autograd.grad,
    )

    def retained_backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        return tensor_backward(self, gradient, True, create_graph, inputs)

    def retained_free_backward(tensors, grad_tensors=None, retain_graph=None, *rest, **named):
        return backward(tensors, grad_tensors, True, *rest, **named)

    def retained_grad(outputs, inputs, grad_outputs=None, retain_graph=None, *rest, **named):
        return grad(outputs, inputs, grad_outputs, True, *rest, **named)

    torch.Tensor.backward = retained_backward  # type: ignore[method-assign]
    torch.autograd.backward = retained_free_backward
    torch.autograd.grad = retained_grad


def grows(counts: list[int]) -> bool:
    """Whether the live graph after later optimiser steps is much larger than after the first two.

    >>> grows([9, 18, 27, 36, 45]), grows([9, 9, 9, 9, 9])
    (True, False)
    """
    return len(counts) > 3 and max(counts) > 2 * max(counts[:2])


def observe(script: Path, probe: dict[str, Any] | None, retain: bool) -> dict[str, Any]:
    """Run a script as `python script` does; call this in a process that ends afterwards.

    The answer: `status` ("ok", "error"), for errors `type`, `message` and `lines` (own frames,
    innermost last), the `warnings`, the live graph `nodes` after each optimiser step (asked by
    a probe of kind "graph-growth") and whether the probe found its `symptom`.
    """
    from case_probes import WATCHERS, graph_nodes  # next to this file, which runs as a script
    from torch.optim.optimizer import register_optimizer_step_post_hook

    kind = probe["kind"] if probe else None
    result: dict[str, Any] = {"status": "ok", "lines": [], "nodes": [], "symptom": None}
    if kind == "graph-growth":
        register_optimizer_step_post_hook(lambda *_: result["nodes"].append(len(graph_nodes())))
    watcher = WATCHERS[kind]() if kind in WATCHERS else None
    if retain:
        keep_every_graph()
    sys.argv = [str(script)]
    sys.path[0] = str(script.parent)
    space: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            space = runpy.run_path(str(script), run_name="__main__")
        except SystemExit as end:
            if end.code not in (None, 0):
                result.update(status="error", type="SystemExit", message=str(end.code))
        except BaseException as error:
            result.update(status="error", type=type(error).__name__, message=str(error))
            result["lines"] = own_lines(error, script)
    result["warnings"] = [f"{each.category.__name__}: {each.message}" for each in said]
    if kind == "expr":
        assert probe is not None
        result["symptom"] = bool(eval(probe["expr"], space))
    elif kind == "graph-growth":
        result["symptom"] = grows(result["nodes"])
    elif watcher is not None:
        result["symptom"] = watcher.symptom()
    elif kind == "warning":
        assert probe is not None
        result["symptom"] = any(probe["text"] in each for each in result["warnings"])
    return result


def in_fork(script: str, probe: dict[str, Any] | None = None, retain: bool = False) -> str:
    """`observe` in a child, as JSON, with what the script `printed`."""
    out, into = os.pipe()
    printed = os.memfd_create("printed")
    child = os.fork()
    if child == 0:
        os.close(out)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        sys.stdin = open(os.devnull)
        signal.alarm(SECONDS)
        try:
            with open(into, "w") as answer:
                json.dump(observe(Path(script).resolve(), probe, retain), answer)
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(into)
    with open(out) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    result = json.loads(text) if text else {"status": "died", "lines": [], "symptom": None}
    with open(printed, "rb") as file:
        file.seek(0)
        result["printed"] = file.read().decode(errors="replace")
    return json.dumps(result)


def main() -> None:
    import torch
    import torch.distributions
    import torch.func
    import torch.utils.checkpoint
    import torch.utils.data

    torch.set_num_threads(1)
    torch.optim.SGD([torch.zeros(1)])  # the first optimiser imports hundreds of modules
    gc.collect()
    gc.freeze()  # `graph_nodes` looks at what the script made, not at all of torch
    if sys.argv[1:] == ["--serve"]:
        for line in sys.stdin:
            print(in_fork(**json.loads(line)), flush=True)
    else:
        for script in sys.argv[1:]:
            print(script, json.dumps(json.loads(in_fork(script)), indent=1))


if __name__ == "__main__":
    main()
