"""What a program does outside is heard, whatever it does it with; then it is not run again."""

import ctypes
import multiprocessing
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from retrograd.watching import effects
from tests.doctor.running import doctor

LIMIT = 120.0


def heard(act: Callable[[], object]) -> list[str]:
    """The sentences about what a function does."""
    found: list[str] = []
    effects.listen(found.append)
    try:
        act()
    finally:
        effects.listen(None)
    return found


def _udp() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", 9))


def _unix(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(path / "s"))


def _kill() -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    os.kill(sleeper.pid, 15)
    sleeper.communicate(timeout=LIMIT)


def _spawn() -> None:
    process = multiprocessing.get_context("spawn").Process(target=os.getpid)
    process.start()
    process.join(LIMIT)


def _database(path: Path) -> None:
    sqlite3.connect(path / "runs.db").close()


def _fixed_temporary_name(path: Path) -> None:
    folder = Path(tempfile.gettempdir(), path.name)
    folder.mkdir()
    (folder / "log.csv").write_text("x")
    shutil.rmtree(folder)


def _c_library() -> None:
    ctypes.CDLL(None).getpid()


EFFECTS: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: (path / "new").mkdir(), "it made the folder new"),
    (lambda path: os.makedirs(path / "a" / "b"), "it made the folder a"),
    (lambda path: os.symlink("x", path / "link"), "it made the link link"),
    (lambda path: os.link(path / "old.txt", path / "hard"), "it made the link hard"),
    (lambda path: os.rename(path / "old.txt", path / "new.txt"), "it removed or moved old.txt"),
    (lambda path: os.chmod(path / "old.txt", 0o600), "it called os.chmod on old.txt"),
    (lambda path: (path / "t").touch(), "it wrote t"),
    (lambda path: shutil.copyfile(path / "old.txt", path / "copy"), "it wrote copy"),
    (lambda path: os.open(path / "old.txt", os.O_RDWR | os.O_APPEND), "it wrote old.txt"),
    (_database, "it opened the database runs.db"),
    (lambda path: _udp(), "it opened a socket"),
    (_unix, "it opened a socket"),
    (lambda path: _kill(), "it sent a signal"),
    (lambda path: _spawn(), "it started a process"),
    (lambda path: os.system("true"), "it started a process"),
    (_fixed_temporary_name, "it wrote log.csv"),
    (lambda path: _c_library(), "it called C through ctypes"),
]


@pytest.mark.parametrize(("act", "sentence"), EFFECTS, ids=range(len(EFFECTS)))
def test_heard(act: Callable[[Path], object], sentence: str, tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("x")
    assert sentence in heard(lambda: act(tmp_path))


def _own_temporary_files() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "inside").mkdir()
        Path(folder, "inside", "x").write_text("x")
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
    with tempfile.TemporaryFile() as file:
        file.write(b"x")


HARMLESS: list[Callable[[Path], object]] = [
    lambda path: (path / "old.txt").read_text(),
    lambda path: os.makedirs(path, exist_ok=True),
    lambda path: os.listdir(path),
    lambda path: os.kill(os.getpid(), 0),
    lambda path: sqlite3.connect(":memory:").close(),
    lambda path: open(os.devnull, "w").close(),
    lambda path: socket.gethostname(),
    lambda path: _own_temporary_files(),
]


@pytest.mark.parametrize("act", HARMLESS, ids=range(len(HARMLESS)))
def test_what_changes_nothing(act: Callable[[Path], object], tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("x")
    assert heard(lambda: act(tmp_path)) == []


def test_packages_that_cannot_be_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("h5py")
    monkeypatch.setitem(sys.modules, "h5py", module)
    monkeypatch.setitem(globals(), "File", type("File", (), {"__module__": "h5py._hl.files"}))
    found = effects.Effects()
    found.start()
    found.stop()
    assert "it uses h5py, whose effects cannot be heard" in found.seen


PROGRAM = """\
import os, sqlite3, sys, tempfile, torch
database = sqlite3.connect("runs.db")
database.execute("create table if not exists r(x)")
database.execute("insert into r values(1)")
database.commit()
os.mkdir(f"run_{len(os.listdir('.'))}")
weight = torch.ones(3, requires_grad=True)
hidden = weight * 2
optimizer = torch.optim.SGD([weight], 0.1)
for i in range(5):
    loss = (hidden * hidden).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def run_once(folder: Path, engine: str) -> None:
    run = doctor(folder, PROGRAM, engine=engine, verify=True)
    assert run.causes and run.status == 1
    fix = run.report["diagnoses"][0]["report"]["fixes"][0]
    assert "not tried: the program opened the database runs.db" in fix["verification"]
    assert "--verify tries it" in fix["verification"]
    rows = sqlite3.connect(folder / "runs.db").execute("select count(*) from r").fetchone()
    assert rows == (1,) and len(list(folder.glob("run_*"))) == 1


def test_it_runs_once(tmp_path: Path) -> None:
    run_once(tmp_path, "retrograd")


@pytest.mark.torch
def test_it_runs_once_on_pytorch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    run_once(tmp_path, "torch")


LOADS = """\
import torch
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        {act}
        return torch.ones(1)

weight = torch.ones(1, requires_grad=True)
if __name__ == "__main__":
    for batch in DataLoader(Data(), num_workers=2, multiprocessing_context="fork"):
        (weight * batch).sum().backward()
"""


@pytest.mark.parametrize("engine", ["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def test_workers_of_a_loader(engine: str, tmp_path: Path) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    assert doctor(tmp_path, LOADS.format(act="pass"), engine=engine).report["effects"] == []
    act = f"open({str(tmp_path / 'log')!r}, 'a').write('x')"
    run = doctor(tmp_path, LOADS.format(act=act), engine=engine)
    assert run.report["effects"] == ["it wrote log"]


@pytest.mark.torch
def test_pytorch_below_python(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = (
        "import torch\ntorch.jit.script(torch.nn.Linear(2, 1)).save('scripted.pt')\n"
        "import torch.distributed as dist\n"
        "dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)\n"
        "torch.save([], 'plain.pt')\n"
    )
    run = doctor(tmp_path, text, engine="torch")
    heard = run.report["effects"]
    assert {"it wrote scripted.pt", "it wrote plain.pt", effects.JOINED} <= set(heard)


def test_a_program_that_breaks_open(tmp_path: Path) -> None:
    text = (
        "import builtins, io, torch\nbuiltins.open = io.open = None\n"
        "weight = torch.ones(3, requires_grad=True)\nloss = (weight * weight).sum()\n"
        "loss.backward()\nloss.backward()\n"
    )
    run = doctor(tmp_path, text)
    assert run.causes == ["same-loss-twice"] and run.report["unseen"] == []
