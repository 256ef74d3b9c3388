"""Programs that are in the doctor's way: it stays out of theirs, and says what it could not see."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doctor.running import HEALTHY, TWICE, command, doctor
from tests.limits import LIMIT, ended_within


def plain(folder: Path, name: str = "program.py", *arguments: str) -> tuple[int, str, str]:
    """The same program under Python alone, with retrograd for torch."""
    from retrograd.running.as_torch import path_with_shim
    from tests.doctor.running import ROOT

    environment = {**os.environ, "PYTHONPATH": path_with_shim(str(ROOT))}
    done = subprocess.run(
        [sys.executable, str(folder / name), *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_syntax_error_is_printed_as_python_does(tmp_path: Path) -> None:
    run = doctor(tmp_path, "import torch\nif True print(1)\n")
    assert run.status == 1 and run.out == "" and run.causes == []
    assert run.errors.startswith(plain(tmp_path)[2])


def test_an_error_has_no_frames_of_the_doctor(tmp_path: Path) -> None:
    run = doctor(tmp_path, TWICE)
    assert run.causes == ["same-loss-twice"] and run.status == 1
    assert f"{os.sep}doctor{os.sep}" not in run.errors.partition("error[")[0]
    # those of the library differ: what is watched goes through Python, not the compiled core
    assert _own_frames(run.errors, tmp_path) == _own_frames(plain(tmp_path)[2], tmp_path) != []


def _own_frames(text: str, folder: Path) -> list[str]:
    """The lines of a traceback about the program itself."""
    trace = text.partition("RuntimeError")[0]
    return [line for line in trace.splitlines() if str(folder) in line]


def test_an_error_that_is_not_autograds(tmp_path: Path) -> None:
    text = "import torch\ndef f():\n    return {}['key']\nf()\n"
    run = doctor(tmp_path, text)
    assert (run.status, run.causes, run.report["status"]) == (1, [], "failed")
    assert run.errors.startswith(plain(tmp_path)[2])


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("import sys; sys.exit(3)", 3),
        ("import sys; sys.exit()", 0),
        ("import sys; sys.exit('no data')", 1),
        ("raise SystemExit(4)", 4),
        ("import atexit; atexit.register(print, 'later'); raise SystemExit(5)", 5),
        ("import os; print('', end='', flush=True); os._exit(6)", 6),
        ("try:\n    raise SystemExit(7)\nfinally:\n    print('end')", 7),
        ("import threading, sys; threading.Thread(target=sys.exit, args=(8,)).start()", 0),
    ],
)
def test_ends_of_all_kinds(ending: str, status: int, tmp_path: Path) -> None:
    run = doctor(tmp_path, f"{HEALTHY}{ending}\n", "--passthrough")
    assert (run.status, run.report["exit_status"], run.causes) == (status, status, [])
    assert plain(tmp_path)[:2] == (status, run.out)


def test_a_program_that_is_killed(tmp_path: Path) -> None:
    text = "import os, signal, torch\nos.kill(os.getpid(), signal.SIGKILL)\n"
    run = doctor(tmp_path, text)
    assert run.status == 128 + signal.SIGKILL
    assert "SIGKILL" in run.report["unseen"][0]


def test_without_torch_in_the_program(tmp_path: Path) -> None:
    run = doctor(tmp_path, "print('hello')\n")
    assert (run.status, run.out, run.causes) == (0, "hello\n", [])


def test_threads_are_watched_and_waited_for(tmp_path: Path) -> None:
    body = TWICE.replace("\n", "\n    ")
    text = f"def work():\n    {body}\nimport threading\nthreading.Thread(target=work).start()\n"
    run = doctor(tmp_path, text + "print('main ends')\n")
    assert run.out == "main ends\n" and run.causes == ["same-loss-twice"]
    assert "Exception in thread" in run.errors


def test_a_pool_of_threads_does_not_hang(tmp_path: Path) -> None:
    text = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "pool = ThreadPoolExecutor(2)\nprint(sum(pool.map(abs, [-1, 2])))\n"
    )
    run = doctor(tmp_path, HEALTHY + text)
    assert (run.status, run.out) == (0, "done\n3\n")


def test_forked_and_spawned_processes(tmp_path: Path) -> None:
    text = (
        "import multiprocessing as mp, os, sys, torch\n"
        "def work(queue):\n    queue.put((__name__, os.path.basename(sys.argv[0])))\n"
        "if __name__ == '__main__':\n"
        "    for kind in ('fork', 'spawn'):\n"
        "        context = mp.get_context(kind)\n"
        "        queue = context.Queue()\n"
        "        process = context.Process(target=work, args=(queue,))\n"
        "        process.start()\n"
        "        print(kind, queue.get(), flush=True)\n"
        "        process.join()\n"
        "    if os.fork() == 0:\n"
        "        print('child', flush=True)\n"
        "        sys.exit(0)\n"
        "    os.wait()\n"
        "    print('end')\n"
    )
    run = doctor(tmp_path, text)
    assert run.status == 0
    assert run.out.splitlines() == [
        "fork ('__main__', 'program.py')",
        "spawn ('__mp_main__', 'program.py')",
        "child",
        "end",
    ]
    assert run.errors.count("retrograd doctor") == 1


def test_workers_of_a_data_loader(tmp_path: Path) -> None:
    text = (
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "data = TensorDataset(torch.arange(8.0))\n"
        "weight = torch.ones(1, requires_grad=True)\n"
        "if __name__ == '__main__':\n"  # from 3.14 on workers are not forked from the program
        "    for epoch in range(2):\n"
        "        for (batch,) in DataLoader(data, batch_size=4, num_workers=2):\n"
        "            (weight * batch).sum().backward()\n"
        "    print(weight.grad.item())\n"
    )
    run = doctor(tmp_path, text)
    assert (run.status, run.out, run.causes) == (0, "56.0\n", [])


def test_a_subprocess_of_this_python(tmp_path: Path) -> None:
    text = "import subprocess, sys, torch\nsubprocess.run([sys.executable, '-c', 'print(1)'])\n"
    run = doctor(tmp_path, text)
    assert (run.status, run.out) == (0, "1\n")
    assert run.report["effects"] == ["it started a process"]


def test_a_program_that_replaces_backward(tmp_path: Path) -> None:
    text = (
        "import torch\noriginal = torch.Tensor.backward\n"
        "def backward(self, *args, **keywords):\n"
        "    print('mine')\n    return original(self, *args, **keywords)\n"
        "torch.Tensor.backward = backward\n" + TWICE
    )
    run = doctor(tmp_path, text)
    assert run.out == "mine\nmine\n" and run.causes == ["same-loss-twice"]


def test_a_program_that_traces_itself(tmp_path: Path) -> None:
    text = (
        "import sys, torch\nlines = []\n"
        "def trace(frame, event, arg):\n    lines.append(event)\n    return trace\n"
        "sys.settrace(trace)\n" + HEALTHY + "sys.settrace(None)\nprint(len(lines) > 10)\n"
    )
    run = doctor(tmp_path, text)
    assert (run.status, run.out) == (0, "done\nTrue\n")
    if sys.version_info < (3, 12):
        assert "trace function" in " ".join(run.report["unseen"])


def test_a_recursion_error(tmp_path: Path) -> None:
    text = (
        "import torch\ndef down(n):\n    return down(n + 1)\n"
        "try:\n    down(0)\nexcept RecursionError:\n    print('deep')\n" + HEALTHY
    )
    run = doctor(tmp_path, text)
    assert (run.status, run.out) == (0, "deep\ndone\n")


def test_a_program_that_removes_itself(tmp_path: Path) -> None:
    run = doctor(tmp_path, "import os\nos.remove(__file__)\n" + TWICE)
    assert run.causes == ["same-loss-twice"]
    assert "loss.backward()" in run.errors.partition("error[same-loss-twice]")[2]


def test_another_encoding(tmp_path: Path) -> None:
    text = "# -*- coding: latin-1 -*-\nname = 'é'\nprint(len(name))\n" + TWICE
    run = doctor(tmp_path, text.encode("latin-1"))
    assert run.out == "1\n" and run.causes == ["same-loss-twice"]


def test_standard_input_and_arguments_are_the_programs(tmp_path: Path) -> None:
    text = "import sys, torch\nprint(sys.argv, input(), sys.stdin.read())\n"
    run = doctor(tmp_path, text, arguments=("-m", "--json", "x"), given="one\ntwo")
    assert run.out == f"{[str(tmp_path / 'program.py'), '-m', '--json', 'x']} one two\n"


def test_what_the_program_sees_of_itself(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("value = 7\n")
    text = (
        "import sys, beside, __main__\n"
        "print(__name__, __file__, __spec__, __package__, __builtins__.__name__)\n"
        "print(sys.path[0], __main__.beside.value, sys.argv[0], globals() is vars(__main__))\n"
    )
    run = doctor(tmp_path, text)
    assert run.out == plain(tmp_path)[1]


def test_files_that_stay_open_are_written(tmp_path: Path) -> None:
    text = HEALTHY + "log = open('log.txt', 'w')\nlog.write('all of it')\n"
    assert doctor(tmp_path, text).status == 0
    assert (tmp_path / "log.txt").read_text() == "all of it"


def test_a_folder_that_changes(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    run = doctor(tmp_path, "import os\nos.chdir('other')\n" + TWICE)
    assert run.causes == ["same-loss-twice"]


def test_much_output(tmp_path: Path) -> None:
    run = doctor(tmp_path, "import torch\nfor i in range(50000):\n    print('line', i)\n")
    assert run.out.count("\n") == 50000 and run.status == 0


def test_an_error_that_the_program_catches(tmp_path: Path) -> None:
    text = "try:\n    " + TWICE.replace("\n", "\n    ") + "\nexcept RuntimeError:\n    {end}\n"
    healthy = doctor(tmp_path, text.format(end="print('so it is')"))
    assert (healthy.status, healthy.causes) == (0, [])
    assert "caught" in healthy.report["unseen"][0]
    gave_up = doctor(tmp_path, text.format(end="raise SystemExit('failed')"))
    assert (gave_up.status, gave_up.causes) == (1, ["same-loss-twice"])


def test_a_hook_for_exceptions(tmp_path: Path) -> None:
    text = "import sys\nsys.excepthook = lambda *found: print('hook', found[0].__name__)\n" + TWICE
    run = doctor(tmp_path, text)
    assert run.out == "hook RuntimeError\n" and run.causes == ["same-loss-twice"]


def test_control_c(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(HEALTHY + "print('waits', flush=True)\nimport time\ntime.sleep(900)\n")
    process = subprocess.Popen(
        [*command("--engine", "retrograd"), str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # no terminal: the signal has to be passed on
    )
    with ended_within(process):
        assert process.stdout is not None
        assert "waits\n" in process.stdout  # reads up to that line
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert "KeyboardInterrupt" in errors and "retrograd doctor: no" in errors


def test_a_program_whose_time_is_up(tmp_path: Path) -> None:
    text = "import time\n" + HEALTHY + "while True:\n    time.sleep(0.05)\n"
    run = doctor(tmp_path, text, "--max-seconds", "1.5")
    assert (run.status, run.report["status"]) == (0, "healthy")
    assert "first 1.5 seconds" in run.report["unseen"][-1]


@pytest.mark.torch
def test_torch_that_replaces_the_engines_entry(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = (
        "import torch\noriginal = torch.autograd._engine_run_backward\n"
        "def run(*args, **keywords):\n    print('mine')\n    return original(*args, **keywords)\n"
        "torch.autograd._engine_run_backward = run\n" + TWICE
    )
    run = doctor(tmp_path, text, engine="torch")
    assert run.out == "mine\nmine\n" and run.causes == ["same-loss-twice"]


@pytest.mark.torch
def test_a_program_that_looks_for_torch_first(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = (
        "import importlib.util\nspec = importlib.util.find_spec('torch')\n"
        "print(spec.loader.get_filename('torch') == spec.origin)\n"
        "def load():\n    import torch\n    return torch.__spec__.loader.__class__.__name__\n"
        "print(load())\n" + TWICE
    )
    run = doctor(tmp_path, text, engine="torch")
    assert run.out == "True\nSourceFileLoader\n" and run.causes == ["same-loss-twice"]


@pytest.mark.torch
def test_workers_of_pytorchs_data_loader(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = (
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "data = TensorDataset(torch.arange(8.0))\n"
        "weight = torch.ones(1, requires_grad=True)\n"
        "for (batch,) in DataLoader(data, batch_size=4, num_workers=1):\n"
        "    loss = (weight * batch).sum()\n    loss.backward()\n"
        "print(weight.grad.item())\nloss.backward()\n"
    )
    run = doctor(tmp_path, text, engine="torch")
    assert (run.status, run.out, run.causes) == (1, "28.0\n", ["same-loss-twice"])


def test_where_torch_is_not_installed(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import sys\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch':\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hide())\n"
    )
    (tmp_path / "p.py").write_text(TWICE)
    environment = {**os.environ, "PYTHONPATH": str(hidden)}
    asked = [*command("--no-verify"), "p.py"]
    done = subprocess.run(
        asked, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 1 and "1 finding (retrograd)" in done.stderr
    asked = [*command("--engine", "torch"), "p.py"]
    done = subprocess.run(
        asked, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 2 and "PyTorch is not installed" in done.stderr
