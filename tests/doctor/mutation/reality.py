"""Decides on real PyTorch whether a mutation is a fault, and whether a fix takes it back."""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.doctor.mutation.editing import Fault
from tests.doctor.mutation.originals import Original
from tests.forked import Machine

SECONDS = 600.0  # for what hangs without working
MOST_STEPS = 120  # of a program that is broken: longer ones show nothing else
ERRORS = (
    "Trying to backward through the graph a second time",
    "modified by an inplace operation",
    "does not require grad",
    "a leaf Variable that requires grad",
    "grad can be implicitly created only for scalar",
    "can't optimize a non-leaf",
    "appears to not have been used in the graph",
)
"""An error of another kind is not what was meant: the mutation broke the program otherwise."""

CHANGES_TRAINING = {
    "zero_grad dropped",
    "zero_grad between backward and step",
    "zero_grad, step, backward",
    "step before backward",
    "create_graph became retain_graph",
    "loss rewrapped",
    "loss detached and required",
    "optimizer over a copy",
    "model replaced after the optimizer",
}
KEEPS_GRAPHS = {
    "item() dropped",
    "losses kept in a list",
    "running sum of losses",
    "running sum reset every few",
    "losses kept for an epoch",
}
CUTS = {"forward under no_grad", "cut by .data", "cut by item()", "cut by NumPy"}


class Reality:
    """Runs programs on PyTorch, each text once."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._known: dict[str, dict[str, Any]] = {}

    def seen(self, original: Original, file: Path | None = None, text: str = "") -> dict[str, Any]:
        """What `observed` says about a program with one file's text replaced."""
        key = hashlib.sha256(f"{original.name} {file} {text}".encode()).hexdigest()
        if key not in self._known:
            with tempfile.TemporaryDirectory(prefix="retrograd-run-") as folder:
                script = original.written(Path(folder), file, text)
                self._known[key] = self._run(script)
        return self._known[key]

    def _run(self, script: Path) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="retrograd-seen-") as folder:
            answer = Path(folder, "answer")
            module = "tests.doctor.mutation.observed"
            asked = ["-m", module, os.fspath(script), os.fspath(answer)]
            self.machine.python(asked, script.parent, SECONDS)
            if not answer.exists():
                return {"error": "ended without an answer", "line": None, "steps": 0}
            result: dict[str, Any] = pickle.loads(answer.read_bytes())
            return result

    def verdict(self, original: Original, file: Path, fault: Fault) -> tuple[str, Any]:
        """ "raises", "silent", "other" (another training, no fault by itself) or "" (the same)."""
        healthy = self.seen(original, file, fault.reference)
        if healthy["error"] or not 0 < healthy["steps"] <= MOST_STEPS:
            return "", None
        broken = self.seen(original, file, fault.text)
        if broken["error"]:
            raised = any(words in broken["error"] for words in ERRORS)
            return ("raises" if raised else ""), broken["line"]
        return _silent(fault.kind, healthy, broken), None

    def restored(self, original: Original, file: Path, fault: Fault, text: str) -> bool:
        """Whether a program trains and keeps what the healthy one does."""
        healthy = self.seen(original, file, fault.reference)
        fixed = self.seen(original, file, text)
        if fixed["error"]:
            return False
        return same_training(healthy, fixed) and not _above(healthy, fixed, "nodes")


def _silent(kind: str, healthy: dict[str, Any], broken: dict[str, Any]) -> str:
    other = "" if same_training(healthy, broken) else "other"
    if kind in CHANGES_TRAINING:
        return other and "silent"
    if kind in KEEPS_GRAPHS:
        return "silent" if _above(healthy, broken, "nodes") else other
    if kind == "needless retain_graph":
        return "silent" if _above(healthy, broken, "holding") else other
    if kind in CUTS:
        lost = any(
            had and not has for had, has in zip(healthy["reached"], broken["reached"], strict=False)
        )
        return "silent" if lost else other
    if kind == "detach dropped":
        more = [b - h for h, b in zip(healthy["nodes"], broken["nodes"], strict=False)]
        return "silent" if len(more) > 3 and more[-1] > max(more[:2]) else other
    return other


def _above(healthy: dict[str, Any], broken: dict[str, Any], what: str) -> bool:
    return any(b > h for h, b in zip(healthy[what], broken[what], strict=False))


def same_training(one: dict[str, Any], two: dict[str, Any]) -> bool:
    """Whether two runs end with the same parameters."""
    first, second = one["values"], two["values"]
    if [each.shape for each in first] != [each.shape for each in second]:
        return False
    return all(
        np.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True)
        for a, b in zip(first, second, strict=True)
    )
