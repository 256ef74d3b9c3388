"""Runs one example script on a library and records all that it leaves behind."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


def run_example(name: str, library: str) -> dict[str, Any]:
    """Printed text, values and gradients of every tensor, parameters, and how the script ended."""
    module = importlib.import_module(library)
    module.manual_seed(0)
    text = (EXAMPLES / f"{name}.py").read_text()
    text = re.sub(r"^import torch$", f"import {library} as torch", text, flags=re.MULTILINE)
    text = re.sub(r"^import torch\.", f"import {library}.", text, flags=re.MULTILINE)
    scope: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    ended = "finished"
    line = None
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(text, f"<{name}>", "exec"), scope)
    except Exception as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        ended = f"{'RuntimeError' if 'RuntimeError' in kinds else kinds[0]}: {error}"
        frame = error.__traceback__
        while frame is not None and frame.tb_frame.f_code.co_filename != f"<{name}>":
            frame = frame.tb_next
        line = None if frame is None else frame.tb_lineno
    values: dict[str, Any] = {}
    for key, value in sorted(scope.items()):
        if hasattr(value, "requires_grad") and hasattr(value, "tolist"):
            _describe(values, key, value)
        elif hasattr(value, "state_dict") and hasattr(value, "named_parameters"):
            for path, parameter in value.named_parameters():
                _describe(values, f"{key}.{path}", parameter)
    return {"ended": ended, "line": line, "printed": printed.getvalue(), "values": values}


def _describe(values: dict[str, Any], key: str, tensor: Any) -> None:
    values[key] = tensor.detach().tolist()
    if tensor.is_leaf and tensor.grad is not None:
        values[f"{key}.grad"] = tensor.grad.tolist()
