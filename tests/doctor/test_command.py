"""`retrograd doctor`: its options, exit statuses, files, and what it leaves alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.doctor.running import HEALTHY, ROOT, TWICE, command, doctor
from tests.limits import LIMIT


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    asked = [*command()[1:], *arguments]
    environment = {**os.environ, **environment}
    return forked.python(asked, cwd, environment, imported=forked.WITH_DOCTOR)


def test_exit_statuses(tmp_path: Path) -> None:
    assert doctor(tmp_path, HEALTHY).status == 0
    assert doctor(tmp_path, TWICE).status == 1
    ended = doctor(tmp_path, HEALTHY + "raise SystemExit(9)\n")
    assert (ended.status, ended.report["status"]) == (9, "failed")
    wrong = "import argparse, torch\nargparse.ArgumentParser().parse_args(['--no-such'])\n"
    assert doctor(tmp_path, wrong).status == 2
    assert doctor(tmp_path, HEALTHY + "raise SystemExit(9)\n", "--passthrough").status == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which program?"),
        (["-m"], "-m needs the name of a module"),
        (["nowhere.py"], "there is no file 'nowhere.py'"),
        (["-"], "save it to a file"),
        (["--json", "no/such/report.json", "x.py"], "--json: there is no folder 'no/such'"),
        (["--apply", "--no-verify", "x.py"], "does not go with --no-verify"),
        (["--max-seconds", "-1", "x.py"], "is not a number of seconds above 0"),
        (["."], "is a folder without a __main__.py"),
    ],
)
def test_wrong_use(arguments: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("print('ran')\n")
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""


def test_a_module_that_is_not_there(tmp_path: Path) -> None:
    done = run("-m", "no_such_module", cwd=tmp_path)
    assert done.returncode == 2 and "No module named no_such_module" in done.stderr


def test_a_module_of_a_package(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "losses.py").write_text("def loss(w):\n    return (w * w).sum()\n")
    (package / "train.py").write_text(
        "import sys, torch\nfrom .losses import loss\nprint(sys.argv[1:], __package__)\n"
        "w = torch.ones(2, requires_grad=True)\nvalue = loss(w)\n"
        "value.backward()\nvalue.backward()\n"
    )
    done = run(
        *("--no-verify", "--engine", "retrograd", "--json", "out.json"),
        *("-m", "package.train", "--epochs", "3"),
        cwd=tmp_path,
    )
    assert done.stdout == "['--epochs', '3'] package\n" and done.returncode == 1
    found = json.loads((tmp_path / "out.json").read_text())["diagnoses"][0]
    assert found["error_line"] == {"file": str(package / "train.py"), "line": 7}


def test_a_folder_with_a_main(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "__main__.py").write_text("import helper, torch\nprint(helper.value)\n")
    (folder / "helper.py").write_text("value = 5\n")
    done = run("--engine", "retrograd", "app", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "5\n")


def test_python_dash_m_retrograd(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(TWICE)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "retrograd", "doctor", "--no-verify"),
            *("--engine", "retrograd", str(tmp_path / "p.py")),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 1 and "error[same-loss-twice]" in done.stderr


def test_the_report_for_programs(tmp_path: Path) -> None:
    report = doctor(tmp_path, TWICE).report
    assert report["version"] == 1 and report["engine"] == "retrograd"
    assert report["script"] == str(tmp_path / "program.py")
    assert report["status"] == "diagnosed" and report["exit_status"] == 1
    assert report["error"].startswith("RuntimeError: Trying to backward through the graph a second")
    found = report["diagnoses"][0]
    place = {"file": str(tmp_path / "program.py"), "line": 6}
    assert found["category"] == "same-loss-twice" and found["error_line"] == place
    assert found["freed_at"] == {**place, "line": 5}
    assert found["fix"] == {"kind": "remove-extra-backward", **place}
    assert not list(tmp_path.glob(".report.json*"))


def test_a_relative_path_and_a_page(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(TWICE)
    done = run(
        *("--no-verify", "--engine", "retrograd", "--html", "out.html", "--json", "out.json"),
        "p.py",
        cwd=tmp_path,
    )
    assert done.returncode == 1 and "--> p.py:6" in done.stderr
    page = (tmp_path / "out.html").read_text()
    assert "same-loss-twice" in page and "loss.backward()" in page
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["diagnoses"][0]["error_line"]["file"] == str(tmp_path / "p.py")


def test_a_program_for_retrograd_needs_no_option(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(TWICE.replace("import torch", "import retrograd as torch"))
    done = run("--no-verify", "p.py", cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert done.returncode == 1 and "error[same-loss-twice]" in done.stderr
    assert "(retrograd)" in done.stderr


def test_help_has_an_example(tmp_path: Path) -> None:
    done = run("--help", cwd=tmp_path)
    assert done.returncode == 0 and "retrograd doctor train.py --epochs 3" in done.stdout


def test_no_second_run_where_it_is_not_wanted(tmp_path: Path) -> None:
    text = HEALTHY.replace(".sum()", ".detach().sum()").replace("done", "ran")
    (tmp_path / "count.txt").write_text("")
    counted = f"open({str(tmp_path / 'count.txt')!r}, 'a').write('x')\n{text}"
    doctor(tmp_path, counted, "--no-second-pass")
    assert (tmp_path / "count.txt").read_text() == "x"
    process = "import subprocess\nsubprocess.run(['true'])\n"
    doctor(tmp_path, process + counted)  # it starts a process: not run again unasked
    assert len((tmp_path / "count.txt").read_text()) == 2


@pytest.mark.torch
def test_torch_is_the_default_where_it_is_installed(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = "import os\nos.environ['OMP_NUM_THREADS'] = '1'\n" + TWICE + "\n"
    (tmp_path / "p.py").write_text(text)
    done = run("--no-verify", "--json", "out.json", "p.py", cwd=tmp_path)
    report = json.loads((tmp_path / "out.json").read_text())
    assert done.returncode == 1 and report["engine"] == "torch"
    assert report["diagnoses"][0]["category"] == "same-loss-twice"
