"""When a program may run a second time, and what is said when it may not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.limits import LIMIT

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """\
import os
import sys
import torch

{effect}
lin = torch.nn.Linear(3, 2)
h = lin(torch.randn(4, 3)).sigmoid()
scaled = h * 2
with torch.no_grad():
    h[0] = 0.0
    scaled[0] = 1.0
{more}
(h + scaled).sum().backward()
"""

WRITES = """\
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "log.csv"), "a") as log:
    log.write("started\\n")
"""
WRITES_TEMPORARY = """\
import tempfile
with open(os.path.join(tempfile.mkdtemp(), "log.csv"), "a") as log:
    log.write("started\\n")
"""
WRITES_NAMED_TEMPORARY = """\
import tempfile
with open(os.path.join(tempfile.gettempdir(), "log.csv"), "a") as log:
    log.write("started\\n")
"""
DIFFERS = """\
marker = os.path.join(os.environ["XDG_CACHE_HOME"], "marker")
if os.path.exists(marker):
    raise ValueError("the second time is different")
open(marker, "w").close()
"""
SAVES = """\
state = {"process": os.getpid()}
torch.save(state, os.path.join(os.path.dirname(os.path.abspath(__file__)), "last.pt"))
"""

DRIVER = """\
import json, os, sys
from pathlib import Path
from retrograd.doctor.rules import errors
from retrograd.doctor.session import make, run_script
from retrograd.watching.engines import TorchEngine

watched = make(TorchEngine())
run_script(watched, Path(sys.argv[1]), [])
watched.second_pass.forced = sys.argv[2] == "forced"
found = errors.diagnose(watched)
print(json.dumps({
    "process": os.getpid(),
    "unseen": watched.unseen,
    "effects": list(watched.effects.seen),
    "found": [diagnosis.to_json() for diagnosis in found],
}))
"""


def _examine(folder: Path, effect: str, more: str = "", mode: str = "asked") -> dict[str, Any]:
    script = folder / "train.py"
    script.write_text(PROGRAM.format(effect=effect, more=more))
    (folder / "temporary").mkdir()
    (folder / "cache").mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": os.fspath(ROOT),
        "OMP_NUM_THREADS": "1",
        "TMPDIR": os.fspath(folder / "temporary"),
        "XDG_CACHE_HOME": os.fspath(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, os.fspath(script), mode],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _line_of(folder: Path, text: str) -> int:
    lines = (folder / "train.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def assert_both_lines_are_named(result: dict[str, Any], folder: Path) -> None:
    """Without a second run: each of the two lines that write in place may be the one."""
    (found,) = result["found"]
    assert found["category"] == "inplace-after-save"
    assert "was not seen" in found["report"]["why"]
    lines = [_line_of(folder, "h[0] ="), _line_of(folder, "scaled[0] =")]
    assert [place["line"] for place in found["created_at"]] == lines
    assert [fix["place"]["line"] for fix in found["report"]["fixes"]] == lines


def test_runs_again_if_only_temporary_files_were_written(tmp_path: Path) -> None:
    result = _examine(tmp_path, WRITES_TEMPORARY)
    assert result["unseen"] == []
    fix = result["found"][0]["fix"]
    assert (fix["kind"], fix["line"]) == ("clone-before-inplace", _line_of(tmp_path, "h[0] ="))


def test_a_temporary_file_with_a_name_of_its_own_choice_is_written_once(tmp_path: Path) -> None:
    result = _examine(tmp_path, WRITES_NAMED_TEMPORARY)
    assert result["effects"] == ["it wrote log.csv"]
    assert (tmp_path / "temporary" / "log.csv").read_text() == "started\n"


def test_does_not_run_again_unasked_after_writing_a_file(tmp_path: Path) -> None:
    result = _examine(tmp_path, WRITES)
    assert result["effects"] == ["it wrote log.csv"]
    assert result["unseen"] == [
        "which line wrote into the saved value: not run again, because it wrote log.csv"
        " (--second-pass permits it)"
    ]
    assert_both_lines_are_named(result, tmp_path)
    assert (tmp_path / "log.csv").read_text() == "started\n"


def test_runs_again_when_told_to(tmp_path: Path) -> None:
    result = _examine(tmp_path, WRITES, mode="forced")
    assert result["unseen"] == []
    assert result["found"][0]["fix"]["line"] == _line_of(tmp_path, "h[0] =")
    assert (tmp_path / "log.csv").read_text() == "started\nstarted\n"


def test_a_second_run_that_ends_differently_proves_nothing(tmp_path: Path) -> None:
    result = _examine(tmp_path, "", DIFFERS)
    assert result["unseen"] == [
        "which line wrote into the saved value: the second run ended in another way than the first"
    ]
    assert_both_lines_are_named(result, tmp_path)


def test_does_not_run_again_unasked_after_saving_a_checkpoint(tmp_path: Path) -> None:
    result = _examine(tmp_path, "", SAVES)
    assert result["effects"] == ["it wrote last.pt"]
    assert_both_lines_are_named(result, tmp_path)
    assert torch.load(tmp_path / "last.pt") == {"process": result["process"]}
