"""What is kept of a very long run."""

import random
from typing import Any

import pytest

import retrograd
from retrograd.doctor import session
from retrograd.doctor.library import watch
from retrograd.watching import recorder, windowed
from retrograd.watching.windowed import Windowed


def test_positions_stay() -> None:
    draw = random.Random(0)
    records: Windowed[int] = Windowed(3, 8)
    for number in range(200):
        records.append(number)
        if number == 150:
            records.forget(lambda item: item < 2 or item > 146)
        kept = [item for item in range(number + 1) if records.is_kept(item)]
        assert len(records) == number + 1 and records[-1] == number
        assert list(records) == kept and list(reversed(records)) == kept[::-1]
        for _ in range(5):
            low, high = sorted(draw.choices(range(number + 3), k=2))
            assert records[low:high] == [item for item in kept if low <= item < high]
    assert kept[:2] == [0, 1] and len(kept) < 14
    with pytest.raises(IndexError, match="forgotten"):
        records[5]


def train(steps: int, clear: bool) -> Any:
    layer = retrograd.nn.Linear(2, 1)
    optimizer = retrograd.optim.SGD(layer.parameters(), 1e-6)
    for _ in range(steps):
        layer(retrograd.ones(1, 2)).sum().backward()
        optimizer.step()
        if clear:
            optimizer.zero_grad()
    watched = session.current()
    assert watched is not None
    return watched.recorder


@pytest.mark.parametrize("clear", [False, True])
def test_a_long_run_is_thinned_and_judged_alike(
    clear: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windowed, "FIRST", 10)
    monkeypatch.setattr(windowed, "NEWEST", 40)
    monkeypatch.setattr(recorder, "THINNED_EVERY", 20)
    with watch(engine="retrograd") as report:
        seen = train(600, clear)
    assert len(seen.calls) == 600 and len(list(seen.calls)) <= 60
    assert len(seen.gradients.steps) == 600 and len(list(seen.gradients.steps)) <= 80
    assert len(seen.gradients.zeros) <= 80 and len(seen.gradients.dirty) <= 80
    causes = [found.cause for found in report.diagnoses]
    assert causes == ([] if clear else ["zero-grad-misuse"]) and report.unseen == []
