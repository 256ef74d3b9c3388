"""Store what PyTorch does with every case: ``python -m tests.tensor.record``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tensor.cases import cases
from tests.tensor.outcomes import outcome

PLACE = Path(__file__).with_name("recorded.json")


def record() -> dict[str, dict[str, object]]:
    """The outcome of every expression on PyTorch, by group."""
    import torch

    torch.set_warn_always(True)
    found: dict[str, dict[str, object]] = {}
    for group, setup, expression in cases():
        found.setdefault(group, {})[expression] = outcome(torch, setup, expression)
    return found


if __name__ == "__main__":
    PLACE.write_text(json.dumps(record(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
