"""The twins for JAX: what can be said without it, and with it where its environment is made."""

import subprocess
import sys
import venv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

import retrograd
from benchmarks.runner import UNTOLD, Worker, WorkerError, difference
from benchmarks.twins import TWINS, environment
from benchmarks.twins.optimizers import adam, momentum, rmsprop, sgd
from benchmarks.worker import values_after_steps
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.registry import plain


def test_every_workload_but_the_one_that_draws_has_a_twin() -> None:
    assert set(WORKLOADS) - set(TWINS) == {"policy"}
    assert set(TWINS) <= set(WORKLOADS)


def lists(function: Any, first: Any, *more: Any) -> Any:
    """`jax.tree.map` of lists."""
    return [function(*values) for values in zip(first, *more, strict=True)]


JAX = SimpleNamespace(numpy=numpy, tree=SimpleNamespace(map=lists))


@pytest.mark.parametrize(
    ("written", "name", "options"),
    [
        (sgd(JAX, 0.1), "SGD", {"lr": 0.1}),
        (momentum(JAX, 0.1, 0.9), "SGD", {"lr": 0.1, "momentum": 0.9}),
        (rmsprop(JAX, 0.01), "RMSprop", {"lr": 0.01}),
        (adam(JAX, 0.01), "Adam", {"lr": 0.01}),
        (adam(JAX, 0.01, weight_decay=0.1), "AdamW", {"lr": 0.01, "weight_decay": 0.1}),
    ],
)
def test_optimizers_that_are_written_out_do_the_same(
    written: Any, name: str, options: dict[str, float]
) -> None:
    start, update = written
    values = [plain(3, 4), plain(5)]
    state = start(JAX, values)
    parameters = [retrograd.tensor(value).requires_grad_() for value in values]
    optimizer = getattr(retrograd.optim, name)(parameters, **options)
    for turn in range(4):
        gradients = [plain(3, 4, scale=0.1 * turn - 0.2), plain(5, scale=0.3)]
        values, state = update(values, gradients, state)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = retrograd.tensor(gradient)
        optimizer.step()
    for value, parameter in zip(values, parameters, strict=True):
        assert numpy.allclose(value, parameter.detach().numpy(), rtol=1e-5, atol=1e-7)


def test_what_a_twin_keeps_to_itself_is_not_compared_and_its_tolerance_counts() -> None:
    expected: Any = [{"shape": [1], "dtype": "float32", "values": [0.5]}] * 2
    near: Any = [{"shape": [1], "dtype": "float32", "values": [0.501]}, UNTOLD]
    assert difference(expected, near) == "a value of tensor 0: 0.5 against 0.501"
    near[0]["tolerance"] = 0.002
    assert difference(expected, near) is None


def test_an_environment_of_the_wanted_versions_is_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    monkeypatch.setattr(venv, "create", lambda folder, **_: (made.append(folder), folder.mkdir()))
    installed = SimpleNamespace(returncode=0)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: installed)
    folder = tmp_path / "jax"
    assert environment.interpreter(folder) == folder / "bin" / "python"
    environment.interpreter(folder)
    assert made == [folder]
    (folder / "installed").write_text("jax==0.1")
    monkeypatch.setattr(venv, "create", lambda folder, **_: made.append(folder))
    environment.interpreter(folder)
    assert made == [folder, folder]


def test_an_environment_that_cannot_be_made_is_an_error_and_no_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(venv, "create", lambda folder, **_: folder.mkdir(exist_ok=True))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1))
    for _ in range(2):
        with pytest.raises(WorkerError, match="pip could not install jax=="):
            environment.interpreter(tmp_path / "jax")


@pytest.mark.skipif(
    not (environment.FOLDER / "installed").exists(), reason="no environment for JAX is made"
)
@pytest.mark.parametrize("name", ["chain", "regression", "function", "add", "per_sample"])
def test_twins_compute_the_values_of_their_workloads(name: str) -> None:
    python = environment.interpreter()
    with Worker("jax", "jax", environment.ONE_THREAD, python=python) as worker:
        assert worker.version == environment.PINNED[0].removeprefix("jax==")
        assert difference(values_after_steps(retrograd, name), worker.values(name)) is None
        with pytest.raises(WorkerError, match="no twin of policy is written for jax"):
            worker.values("policy")


def test_a_worker_takes_the_interpreter_that_it_is_given(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!{sys.executable}\nprint(\'{{"version": "of its own"}}\')\n')
    python.chmod(0o755)
    with Worker("jax", "jax", python=python) as worker:
        assert worker.version == "of its own"
