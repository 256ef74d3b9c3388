"""Which modes answer which question of the second pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.doctor.second_pass.cuts import CutWatch
from retrograd.doctor.second_pass.ignoring import IgnoringWatch
from retrograd.doctor.second_pass.number_trial import NumberTrial
from retrograd.doctor.second_pass.same_memory import SameMemoryWatch
from retrograd.doctor.second_pass.spoiled import SpoiledWatch
from retrograd.doctor.second_pass.unseen_writes import UnseenWriteWatch
from retrograd.doctor.second_pass.writes import WriteWatch
from retrograd.doctor.session import Watched

Answer = dict[str, Any]
Watching = CutWatch | IgnoringWatch | SameMemoryWatch | SpoiledWatch | WriteWatch


def watch_for(question: Answer, watched: Watched, decided: Callable[[Answer], None]) -> Watching:
    """What answers a question: it is entered before the run is watched.

    decided  called with the answer as soon as it is known
    """
    if question["mode"] == "cut":
        changed = "changed" in question
        return CutWatch(
            watched,
            question["parameters"],
            question["silent"],
            question["failing_call"],
            decided,
            NumberTrial(question["changed"], question["values"]) if changed else None,
        )
    if question["mode"] == "unseen":
        return UnseenWriteWatch(watched, decided)
    if question["mode"] == "ignoring":
        return IgnoringWatch(watched, question["names"], decided)
    if question["mode"] == "same":
        return SameMemoryWatch(watched, decided)
    if question["mode"] == "spoiled":
        return SpoiledWatch(watched, question["kind"], decided)
    return WriteWatch(watched)
