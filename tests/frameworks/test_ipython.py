"""`%%doctor` in IPython itself: a page where there is something to say, fixes that were tried."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.slow]

SESSION = '''\
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()


def publish(data, *rest, **more):
    print("PUBLISHED", sorted(data), data["text/plain"])


shell.display_pub.publish = publish
LOOP = """
for _ in range(3):
    state = torch.tanh(state * weight + 1)
    state.sum().backward()
"""
for cell in (
    "%load_ext retrograd.doctor\\nimport torch",
    "weight = torch.ones(3, requires_grad=True)\\nstate = torch.zeros(3)",
    "%%doctor\\n(weight * weight).sum().backward()",
    "%%doctor" + LOOP,
    "!true",
    "%%doctor\\nstate = torch.zeros(3)" + LOOP,
):
    print("CELL")
    shell.run_cell(cell, store_history=True)
'''


def test_cells(tmp_path: Path) -> None:
    pytest.importorskip("IPython", reason="IPython is not installed: make frameworks")
    (tmp_path / "session.py").write_text(SESSION)
    done = subprocess.run(
        [sys.executable, "session.py"],
        cwd=tmp_path,
        env={**os.environ, "IPYTHONDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    _, _, _, healthy, faulty, _, after = done.stdout.split("CELL\n")
    assert "PUBLISHED" not in healthy
    for shown in (faulty, after):
        assert "PUBLISHED ['text/html', 'text/plain'] error[stale-state-carried]" in shown
        assert "state.detach()" in shown
        assert f"{os.sep}doctor{os.sep}" not in shown and f"{os.sep}watching{os.sep}" not in shown
    assert "tried: ran to the end without an error or a report" in faulty
    assert "not tried: cell 5 uses `system`" in after
