"""The process of the second pass: `python -m retrograd.doctor.second_pass question.json`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from retrograd.doctor import session
from retrograd.doctor.second_pass.modes import Answer, watch_for
from retrograd.doctor.second_pass.number_trial import seed
from retrograd.doctor.second_pass.runner import kind_of
from retrograd.running.as_torch import install
from retrograd.watching import effects
from retrograd.watching.engines import Engine, RetrogradEngine, TorchEngine


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

    watch = watch_for(question, watched, lambda found: answer(found, True))
    if question.get("silent"):
        seed(watched.engine.torch)
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
