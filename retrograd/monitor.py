"""Counters and events of PyTorch itself: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.monitor",
        "the library does not log events of its own; use Python's logging",
        functions="log_event register_event_handler unregister_event_handler",
        classes="""
        Aggregation Event EventHandlerHandle Stat TensorboardEventHandler
        """,
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
