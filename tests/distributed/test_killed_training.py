"""Training that is killed goes on to the same weights; `killed.py` does it as often as asked."""

import random
from pathlib import Path

import pytest

from retrograd.distributed.transports import gloo
from tests.distributed.killed import killed_once, undisturbed

pytestmark = pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar")


def test_the_same_weights_after_kill_9(tmp_path: Path) -> None:
    whole, seconds = undisturbed(tmp_path)
    rng = random.Random(1)
    assert killed_once(tmp_path / "killed", rng, seconds, list(whole)) > 0
