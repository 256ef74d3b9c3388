"""The report in the README is what its program prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.limits import LIMIT

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def test_report_in_the_readme(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```py\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    (shown,) = re.findall(r"^```text\n(RuntimeError: .*?)^```$", README, re.MULTILINE | re.DOTALL)
    (tmp_path / "train_rnn.py").write_text(program)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RETROGRAD_")}
    done = subprocess.run(
        [sys.executable, "train_rnn.py"],
        cwd=tmp_path,
        env={**kept, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    message, report = shown.split("\n\n", 1)
    assert done.stderr.endswith("\n\n" + report)
    # The message is one long line; the README shows its beginning.
    beginning = " ".join(message.removesuffix(" [...]").split())
    assert beginning in done.stderr
    assert message.endswith("[...]")
