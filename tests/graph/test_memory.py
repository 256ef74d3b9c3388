"""Claims about memory, each in a fresh process: arrays are counted, and resident pages confirm it.

The model and the measures are those of `benchmarks.retention`, whose figures the pages quote; here
it is the direction that counts, and by how much at least.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from benchmarks.memory import STATUS
from benchmarks.retention import WAYS, in_a_process

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not STATUS.exists(), reason="peak memory is read from /proc"),
]


@cache
def arrays(way: str) -> dict[str, Any]:
    return in_a_process(way, "medium", "arrays")


@cache
def resident(way: str) -> int:
    found: int = in_a_process(way, "medium", "pages")["resident"]
    return found


def test_the_control_counts_the_same_bytes() -> None:
    assert arrays("control") == arrays("plain")


@pytest.mark.parametrize("way", WAYS)
def test_gradients_have_the_same_bits(way: str) -> None:
    assert arrays(way)["gradients"] == arrays("plain")["gradients"]


# what falls to which share of `retain_graph=True` at most
CLAIMS = {
    ("list", "held_first"): 0.9,  # the first head, of six layers
    ("list", "ledger_first"): 0.9,
    ("recompute", "held_first"): 0.6,  # masks of dropout stay
    ("recompute", "ledger_first"): 0.6,
    ("recompute", "peak_second"): 0.6,
    ("scope", "ledger_forward"): 0.1,
    ("scope", "held_forward"): 0.1,
    ("scope", "peak_forward"): 0.3,
    ("scope", "peak_first"): 0.35,
    ("scope", "peak"): 0.35,
    ("disk", "ledger_forward"): 0.05,
    ("disk", "held_forward"): 0.05,
    ("disk", "peak"): 0.2,
    ("half", "held_forward"): 0.6,
    ("half", "peak"): 0.7,
    ("quarter", "held_forward"): 0.3,
    ("quarter", "peak"): 0.45,
}


@pytest.mark.parametrize(("way", "fact"), CLAIMS)
def test_counted_arrays(way: str, fact: str) -> None:
    assert arrays(way)[fact] <= CLAIMS[way, fact] * arrays("plain")[fact]


def test_the_ledger_agrees_with_the_arrays() -> None:
    """Of a plain graph the ledger counts every byte that the forward left, but for the losses."""
    facts = arrays("plain")
    assert 0 <= facts["held_forward"] - facts["ledger_forward"] < 0.01 * facts["held_forward"]


def test_the_host_moves_nothing_of_the_cpu() -> None:
    assert arrays("host")["peak"] == arrays("plain")["peak"]


@pytest.mark.parametrize(
    ("way", "share"), [("scope", 0.5), ("disk", 0.5), ("half", 0.8), ("quarter", 0.6)]
)
def test_resident_memory(way: str, share: float) -> None:
    assert resident(way) <= share * resident("plain")
