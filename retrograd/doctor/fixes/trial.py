"""One trial of a fix: the watched process again, on edited texts, without effects."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Sequence
from typing import Any

from retrograd.doctor.fixes.overlay import lay_over
from retrograd.doctor.result import Result
from retrograd.doctor.session import Watched
from retrograd.doctor.watched_process import Watch
from retrograd.watching.effects import Effects
from retrograd.watching.engines import Engine, Original
from retrograd.watching.files import as_json, write_atomically
from retrograd.watching.torch_types import TensorLike


class Stopped(BaseException):
    """The trial has seen enough: time is up, or the program is about to do something for good."""


class _Forbidden(Effects):
    """Ends the trial before an effect happens."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial.answer.parent)
        self._trial = trial

    def _note(self, sentence: str) -> None:
        self._trial.stopped = sentence  # here too: a program may catch everything
        raise Stopped(sentence)


class Trial(Watch):
    """A run whose answer also says whether the losses were finite, and why it stopped early."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        asked = config["trial"]
        self.seconds: float = asked["seconds"]
        self.stopped = ""
        self.finite = True
        if not asked["forced"]:
            self.effects = _Forbidden(self)
        lay_over({file: base64.b64decode(data) for file, data in asked["texts"].items()})

    def begin(self, engine: Engine) -> None:
        """Watch, and look at every loss that is sent back."""
        super().begin(engine)
        assert self.watched is not None
        self.watched.recorder.pulse = None  # the answer of a trial has another form
        self.watched.recorder.name_parameters()
        self.look_at_losses(engine)

    def look_at_losses(self, engine: Engine) -> None:
        """At every backward call: is the loss finite, and is there time left?"""
        torch = engine.torch
        until = 0.0

        def watcher(
            outputs: Sequence[TensorLike],
            retain: bool,
            create: bool,
            inputs: Sequence[TensorLike],
            accumulates: bool,
            run: Original,
        ) -> Any:
            nonlocal until
            now = time.monotonic()
            until = until or now + self.seconds  # imports and the first step's own do not count
            if now > until:
                raise Stopped("its time was up")
            for output in outputs:
                if isinstance(output, torch.Tensor) and output.is_floating_point():
                    self.finite = self.finite and _is_finite(torch, output)
            return run()

        engine.watch(watcher)

    def _diagnose(self, watched: Watched, result: Result) -> None:
        if isinstance(self.error, Stopped):
            self.stopped = str(self.error)
            self.error, watched.error = None, None
            result.status, result.error = 0, ""
        super()._diagnose(watched, result)

    def write(self, result: Result) -> None:
        """The answer of a plain run, and what the trial knows besides."""
        found = json.loads(as_json(result.to_data()))
        known = {"result": found, "stopped": self.stopped, "finite": self.finite}
        write_atomically(self.answer, as_json(known))


def _is_finite(torch: Any, output: TensorLike) -> bool:
    try:
        return bool(torch.isfinite(output.detach()).all())
    except RuntimeError:
        return True  # under vmap() it stands for many, and none of them can be asked for
