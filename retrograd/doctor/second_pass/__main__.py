"""The process of the second pass: `python -m retrograd.doctor.second_pass question.json`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from retrograd.doctor import session
from retrograd.doctor.second_pass.cuts import CutWatch
from retrograd.doctor.second_pass.number_trial import NumberTrial, seed
from retrograd.doctor.second_pass.runner import kind_of
from retrograd.doctor.second_pass.unseen_writes import UnseenWriteWatch
from retrograd.doctor.second_pass.writes import WriteWatch
from retrograd.running.as_torch import install
from retrograd.watching import effects
from retrograd.watching.engines import Engine, RetrogradEngine, TorchEngine

Answer = dict[str, Any]


def main(config: str) -> None:
    """Run the program that a question names and write the answer."""
    question = json.loads(Path(config).read_text())
    watched = session.make(_engine(question))

    def answer(found: Answer, stopped: bool) -> None:
        """Write the answer and leave, with no further effect."""
        effects.listen(None)
        found["stopped"] = stopped
        found["error"] = "" if watched.error is None else kind_of(watched.error)
        Path(question["answer"]).write_text(json.dumps(found))
        os._exit(0)

    def forbid(sentence: str) -> None:
        answer({"refused": f"the second run was stopped when {sentence}"}, True)

    watch: CutWatch | WriteWatch
    if question["mode"] == "cut":
        watch = CutWatch(
            watched,
            question["parameters"],
            question["silent"],
            question["failing_call"],
            lambda found: answer(found, True),
            NumberTrial(question["changed"], question["values"]) if "changed" in question else None,
        )
        if question["silent"]:
            seed(watched.engine.torch)
    elif question["mode"] == "unseen":
        watch = UnseenWriteWatch(watched, lambda found: answer(found, True))
    else:
        watch = WriteWatch(watched)
    if not question["forced"]:
        watched.effects_told = forbid
    with watch:
        session.run_script(watched, Path(question["script"]), question["arguments"])
    answer(watch.found(), False)


def _engine(question: dict[str, object]) -> Engine:
    """What the first run was on."""
    if question.get("engine") != "retrograd":
        return TorchEngine()
    install()
    return RetrogradEngine()


if __name__ == "__main__":
    main(sys.argv[1])
