"""The package as a whole: names that are missing, namespaces, switches that do nothing."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

import retrograd as torch
from tests.limits import LIMIT


def test_a_missing_name_says_what_comes_near() -> None:
    with pytest.raises(AttributeError, match=r"'zeross'\. Did you mean: 'zeros'\?"):
        _ = torch.zeross
    with pytest.raises(AttributeError, match="'quuxify': it is not a public name"):
        _ = torch.quuxify
    with pytest.raises(AttributeError, match=r"'retrograd.nn.functional' has no attribute 'rellu'"):
        _ = torch.nn.functional.rellu
    assert not hasattr(torch, "__wrapped__")


@pytest.mark.parametrize("name", ["autograd", "fft", "linalg", "nn", "random", "special", "cuda"])
def test_namespaces_are_modules(name: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", f"import retrograd.{name} as m; print(m.__name__)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    assert found.stdout.strip() == f"retrograd.{name}"


def test_python_names_are_dtypes_here() -> None:
    assert torch.bool is torch.zeros(1).bool().dtype
    assert torch.float is torch.float32 and torch.int is torch.int32
    assert torch.__version__ == "0.1.0"


def test_switches_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.cuda.manual_seed(1)
    torch.cuda.manual_seed_all(1)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    assert torch.backends.cudnn.benchmark and torch.backends.cudnn.deterministic
    torch.use_deterministic_algorithms(True)
    assert torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(False)
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    assert torch.get_num_threads() == 3
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    assert not torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() is None
    with torch.device("cpu"):
        assert torch.zeros(1).device == torch.device("cpu")
    with pytest.raises(RuntimeError):
        torch.set_num_threads(0)


def test_compile_changes_nothing() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    for compiled in (torch.compile(double), torch.compile(mode="default")(double)):
        assert [compiled(torch.ones(2)).tolist() for _ in range(4)] == [[2.0, 2.0]] * 4


def test_a_device_that_is_not_there_is_explained() -> None:
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled") as caught:
        torch.zeros(1, device="cuda")
    assert getattr(caught.value, "code", None) == "RG302"
    with pytest.raises(RuntimeError, match="device 'mps' is not available"):
        torch.zeros(1, device="mps")


def test_a_warning_is_said_once() -> None:
    leaf = torch.ones(1, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            float(leaf)
    assert len(caught) <= 1


def test_fork_rng_leaves_the_generator_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    with torch.random.fork_rng():
        torch.rand(100)
    assert torch.rand(2).tolist() == expected


def test_one_generator_for_every_thread() -> None:
    import threading

    generator = torch.Generator().manual_seed(0)
    expected = torch.rand(400, generator=torch.Generator().manual_seed(0)).sort().values.tolist()
    found: list[float] = []

    def draw() -> None:
        for _ in range(10):
            found.extend(torch.rand(10, generator=generator).tolist())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == expected


def test_numpy_arrays_without_a_dtype_of_ours_are_refused() -> None:
    import numpy as np

    for array in (np.array(["a"]), np.ones(2, np.longdouble)):
        with pytest.raises(TypeError, match=r"can't convert np.ndarray of type numpy\.\w+"):
            torch.from_numpy(array)


def test_a_view_whose_base_was_written_still_prints() -> None:
    base = torch.ones(3, requires_grad=True) * 1
    with torch.no_grad():
        view = base[:2]
    base.add_(1)
    assert "grad_fn=<Invalid>" in repr(view) or "requires_grad=True" in repr(view)
