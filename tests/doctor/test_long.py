"""Programs ended by time, by Ctrl-C, by their memory: what was seen is told all the same."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.doctor.running import HEALTHY, command, doctor
from tests.limits import LIMIT, ended_within

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and limits as Linux has")

NEVER_CLEARED = """\
import torch, time

layer = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(layer.parameters(), 0.01)
for step in range(8):
    layer(torch.ones(2, 3)).sum().backward()
    optimizer.step()
"""


def test_time_is_up_where_interrupts_are_ignored(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(NEVER_CLEARED + "time.sleep(900)\n")
    asked = [*command("--no-verify", "--engine", "retrograd", "--max-seconds", "2"), str(script)]
    ignoring = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *asked]
    done = subprocess.run(ignoring, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 1 and "zero-grad-misuse" in done.stderr, done.stderr
    assert "what comes after the first 2 seconds" in done.stderr


def test_interrupts_stay_ignored(tmp_path: Path) -> None:
    """Whoever put the program in the background meant that."""
    script = tmp_path / "program.py"
    text = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nprint('goes on')\n"
    script.write_text(HEALTHY + text)
    asked = [*command("--no-verify", "--engine", "retrograd", "--max-seconds", "60"), str(script)]
    ignoring = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *asked]
    done = subprocess.run(ignoring, capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stdout) == (0, "done\ngoes on\n")


def test_a_program_that_catches_the_interrupt_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from retrograd.watching import processes

    monkeypatch.setattr(processes, "PATIENCE", 1.0)
    script = tmp_path / "program.py"
    script.write_text(
        f"import pathlib, time\npathlib.Path({str(tmp_path / 'begun')!r}).touch()\n"
        "while True:\n    try:\n        time.sleep(900)\n"
        "    except KeyboardInterrupt:\n        pass\n"
    )
    started = time.monotonic()
    found = processes.wait([sys.executable, str(script)], 0.5, tmp_path / "begun")
    assert found == (-signal.SIGTERM, True) and time.monotonic() - started < LIMIT


def test_control_c_tells_what_was_seen(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(NEVER_CLEARED + "print('waits', flush=True)\ntime.sleep(900)\n")
    process = subprocess.Popen(
        [*command("--no-verify", "--engine", "retrograd"), str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with ended_within(process):
        assert process.stdout is not None and "waits\n" in process.stdout
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT)
    assert "KeyboardInterrupt" in errors and "zero-grad-misuse" in errors


FILLS_MEMORY = """\
import resource, torch
losses, blocks = [], []
layer = torch.nn.Linear(200, 200)
optimizer = torch.optim.SGD(layer.parameters(), 0.01)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (600 << 20), resource.RLIM_INFINITY))
for step in range(100000):
    optimizer.zero_grad()
    loss = layer(torch.ones(400, 200)).pow(2).mean()
    losses.append(loss)
    loss.backward()
    optimizer.step()
    if step > 20:
        blocks.append(bytearray(30 << 20))
"""


@pytest.mark.parametrize("engine", ["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_full_memory(engine: str, tmp_path: Path) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    run = doctor(tmp_path, FILLS_MEMORY, "--no-second-pass", engine=engine)
    assert run.report["error"].startswith(("MemoryError", "RuntimeError")), run.errors
    assert run.causes == ["accumulated-history"]


def test_a_program_that_is_killed_for_its_memory(tmp_path: Path) -> None:
    text = (
        "import os, signal\n"
        + NEVER_CLEARED.replace("range(8)", "range(10**9)").replace("0.01)", "1e-9)")
        + "    if step == 10:\n        began = time.monotonic()\n"
        "    if step > 10:\n        time.sleep(0.01)\n"
        "        if time.monotonic() - began > 8:\n            os.kill(os.getpid(), 9)\n"
    )
    run = doctor(tmp_path, text)
    assert run.status == 1 and run.causes == ["zero-grad-misuse"], run.errors
    assert "ended by SIGKILL" in " ".join(run.report["unseen"])
