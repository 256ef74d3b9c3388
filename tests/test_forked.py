"""A forked Python does what a started one does: output, errors, statuses, signals, arguments."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests import forked

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are started there")

PROGRAMS = {
    "arguments": "import os, sys\nprint(sys.argv, sys.path, __name__, __file__, os.getcwd())",
    "input": "import sys\nprint(sys.stdin.read().upper())",
    "status": "import sys\nprint('out')\nsys.exit(3)",
    "said": "raise SystemExit('no more')",
    "error": "def deeper():\n    1 / 0\n\ndeeper()",
    "report": "import retrograd as torch\nx = torch.ones(2, requires_grad=True)\n"
    "y = (x * x).sum()\ny.backward()\ny.backward()",
    "hook": "import sys\nsys.excepthook = lambda *found: print(found[0], found[1])\n1 / 0",
    "exit functions": "import atexit, threading, time\natexit.register(print, 'last')\n"
    "threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()",
    "interrupt": "import os, signal\nos.kill(os.getpid(), signal.SIGINT)",
    "kill": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "pickle": "import pickle\nclass Kept: pass\nprint(type(pickle.loads(pickle.dumps(Kept()))))",
    "environment": "import os\nprint(os.environ.get('GIVEN'), os.environ.get('HOME'))",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_a_started_one(name: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAMS[name])
    environment = {"PYTHONPATH": str(forked.ROOT), "GIVEN": "1", "PATH": os.environ["PATH"]}
    command = ["program.py", "-m", "--two"]
    real = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env=environment,
        input="given",
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    found = forked.python(command, tmp_path, environment, "given")
    assert (found.returncode, found.stdout, found.stderr) == (
        real.returncode,
        real.stdout,
        real.stderr,
    )


def test_what_hangs_is_ended(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        forked.python(["-c", "import time\ntime.sleep(900)"], tmp_path, seconds=0.2)


def test_an_end_that_is_there_before_the_number_is_read(tmp_path: Path) -> None:
    address = str(tmp_path / "door")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(address)
        door.listen(1)

        def answer() -> None:
            line, _ = door.accept()
            line.recv(1 << 20)
            line.sendall(b"123\n-2")
            line.close()

        thread = threading.Thread(target=answer)
        thread.start()
        process = forked.Forked([sys.executable, "-c", ""], address)
        thread.join()
    assert (process.pid, process.wait()) == (123, -2)
