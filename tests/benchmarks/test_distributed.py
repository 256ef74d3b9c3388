"""The benchmark of data parallel steps runs, and both libraries reach the same losses."""

import re

import pytest

from retrograd.distributed.transports import gloo

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar"),
]


def test_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import distributed

    monkeypatch.setitem(distributed.WORKLOADS, "small", 2)
    row = distributed.compare("small", 2, 1)
    number = r"\d+\.\d\d"
    times = rf"{number} \({number}\)"
    assert re.fullmatch(rf"\| small \| 2 \| {times} \| {times} \| {number} \| {number} \|", row)
