"""PyTorch programs in many hands' styles run on retrograd as they are, and print PyTorch's numbers.

The programs beside this file are ordinary PyTorch: no line of them is written for retrograd.
"""

import functools
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.programs.side_by_side import ROOT, differences, numbers, on_pytorch, on_retrograd

HERE = Path(__file__).resolve().parent

# How each is started, and the printed number that must get smaller: a pattern that finds it in the
# output (None where the numbers need only be finite, as in reinforcement learning).
PROGRAMS: dict[str, tuple[tuple[str, ...], str | None]] = {
    "ddpm_points": (("ddpm_points.py",), r"running (\S+)"),
    "distill_contrastive": (("distill_contrastive.py",), r"teacher epoch \d loss (\S+)"),
    "func_ensemble": (("func_ensemble.py",), r"epoch \d+ losses (\S+)"),
    "gaussian_process": (("gaussian_process.py",), r"-> (\S+)"),
    "gpt_pretrain": (("gpt_pretrain.py", "--log_every=8"), r"step \d+: loss (\S+)"),
    "gradnorm_multitask": (("gradnorm_multitask.py",), r"gradnorm +\d+: relative losses ([\d.]+)"),
    "jit_and_friends": (("jit_and_friends.py",), None),
    "mini_lightning": (("mini_lightning.py",), r"val_loss=(\S+)"),
    "normalizing_flow": (("normalizing_flow.py",), r"\d nll (\S+)|nll (3\S+)"),
    "notebook": (("notebook.py",), r"^ +\d+  ([\d.]+)$"),
    "old_style_2017": (("old_style_2017.py",), r"test loss: ([\d.]+)"),
    "ppo_cartpole": (("ppo_cartpole.py", "--num-envs", "4"), None),
    "resume_training": (("resume_training.py",), r"loss (\S+) lr"),
    "sac_pendulum": (("sac_pendulum.py",), r"critic (\S+)"),
    "seq2seq_attention": (("seq2seq_attention.py",), r"loss (\S+)"),
    "sorter": (("-m", "sorter.train", "--trainer.log_every=8"), r"loss (\S+)"),
    "style_transfer": (("style_transfer.py",), r"style (\S+)"),
    "transformer_classifier": (("transformer_classifier.py",), None),
    "unet_segmentation": (("unet_segmentation.py",), r"loss (\S+)"),
    "vision_zoo": (("vision_zoo.py", "-a", "all"), r"\] Loss (\S+)"),
    "word2vec": (("word2vec.py",), r"epoch \d: loss (\S+)"),
}

# One or two of each kind, for the quick run; a process each takes its time.
QUICK = {"distill_contrastive", "gradnorm_multitask", "mini_lightning", "old_style_2017", "sorter"}
MARKED = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in PROGRAMS]

Done = subprocess.CompletedProcess[str]


def _in_a_copy(run: Callable[..., Done], name: str) -> Done:
    """Run a program in a copy of this folder: some of them write files where they are."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "programs"
        shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        return run(copy, *PROGRAMS[name][0])


@functools.cache
def _output_here(name: str) -> Done:
    return _in_a_copy(on_retrograd, name)


@pytest.mark.parametrize("name", MARKED)
def test_runs_on_retrograd(name: str) -> None:
    done = _output_here(name)
    assert done.returncode == 0, done.stderr
    printed = [float(number) for number in numbers(done.stdout)]
    assert len(printed) >= 10
    assert all(math.isfinite(number) for number in printed), done.stdout
    pattern = PROGRAMS[name][1]
    if pattern is not None:
        found = re.findall(pattern, done.stdout, re.MULTILINE)
        losses = [float("".join(text)) for text in found]
        assert len(losses) >= 3 and losses[-1] < 0.95 * losses[0], losses


@pytest.mark.torch
@pytest.mark.parametrize("name", MARKED)
def test_prints_what_it_prints_on_pytorch(name: str) -> None:
    pytest.importorskip("torch")
    theirs = _in_a_copy(on_pytorch, name)
    assert theirs.returncode == 0, theirs.stderr
    assert differences(_output_here(name).stdout, theirs.stdout) == []


def test_every_program_is_tested() -> None:
    own = {"side_by_side.py", "__init__.py", "random_programs.py"}
    files = {p.name for p in HERE.glob("*.py") if not p.name.startswith("test_")} - own
    packages = {path.parent.name for path in HERE.glob("*/train.py")}
    started = {part for command, _ in PROGRAMS.values() for part in command}
    assert files <= started
    assert all(any(part.startswith(package) for part in started) for package in packages)


EPOCH = re.compile(r"epoch (\d+) loss (\S+) lr (\S+)")


def _killed_after_epoch(folder: Path, epoch: int, *command: str, path: str) -> list[str]:
    """Start the program, pull the plug when it has finished an epoch; the epochs it printed."""
    process = subprocess.Popen(
        [sys.executable, *command, "resume_training.py", "--wait-after", str(epoch)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            if line == "waiting\n":
                break
            lines.append(line)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    return EPOCH.findall("".join(lines))


HERE_COMMAND = ("-m", "retrograd", "run")


def _program_in(folder: Path) -> Path:
    shutil.copy(HERE / "resume_training.py", folder)
    return folder


@pytest.mark.skipif(os.name != "posix", reason="kills a process by a POSIX signal")
def test_a_killed_run_resumes_to_the_same_losses(tmp_path: Path) -> None:
    folder = _program_in(tmp_path)
    before = _killed_after_epoch(folder, 3, *HERE_COMMAND, path=str(ROOT))
    resumed = on_retrograd(folder, "resume_training.py", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "resumed after epoch 3" in resumed.stdout
    whole = EPOCH.findall(_output_here("resume_training").stdout)
    assert len(whole) == 8
    assert before + EPOCH.findall(resumed.stdout) == whole


@pytest.mark.torch
@pytest.mark.skipif(os.name != "posix", reason="kills a process by a POSIX signal")
def test_a_run_killed_in_one_library_resumes_in_the_other(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    whole = _output_here("resume_training").stdout
    last_epochs = "\n".join(
        line for line in whole.splitlines() if re.search("epoch [4-7]|best", line)
    )
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()

    ours_first = _program_in(tmp_path / "a")
    _killed_after_epoch(ours_first, 3, *HERE_COMMAND, path=str(ROOT))
    theirs_after = on_pytorch(ours_first, "resume_training.py", "--resume")
    assert theirs_after.returncode == 0, theirs_after.stderr

    theirs_first = _program_in(tmp_path / "b")
    _killed_after_epoch(theirs_first, 3, path="")
    ours_after = on_retrograd(theirs_first, "resume_training.py", "--resume")
    assert ours_after.returncode == 0, ours_after.stderr

    for done in (ours_after, theirs_after):
        first, *rest = done.stdout.splitlines()
        assert first.startswith("INFO resumed after epoch 3, best loss ")
        assert differences("\n".join(rest), last_epochs) == []
