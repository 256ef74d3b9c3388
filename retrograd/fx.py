"""Graphs taken from Python code: there are none, models run as they are written."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.fx",
        "there is no compiler; call the model or function itself",
        functions="map_arg replace_pattern symbolic_trace",
        classes="Graph GraphModule Interpreter Node Proxy Tracer Transformer",
    )
)


def wrap(fn_or_name: Any) -> Any:
    """The function itself, which a trace would not look into."""
    return fn_or_name


def has_side_effect(fn: Any) -> Any:
    """The function itself, which a graph would keep."""
    return fn


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
