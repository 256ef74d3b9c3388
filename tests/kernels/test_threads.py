"""Large arrays in several threads: the same bits, whoever else works, forks or interrupts."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend import kernels, threads

pytestmark = pytest.mark.skipif(not kernels.AVAILABLE, reason="the compiled kernels are missing")

SIZE = 300_001  # many pieces, none of them full


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def values(dtype: Any, *shape: int) -> Any:
    generator = np.random.default_rng(3)
    array = generator.standard_normal(shape).astype(dtype)
    array.flat[7], array.flat[-1], array.flat[11] = np.nan, np.inf, -0.0
    return torch.from_numpy(array)


def images(x: Any) -> Any:
    return x[:300_000].reshape(10, 12, 50, 50)


FORWARD: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "sub number": lambda x, y: x - 1.5,
    "number sub": lambda x, y: 1.5 - x,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "maximum": torch.maximum,
    "neg": lambda x, y: -x,
    "square": lambda x, y: x.square(),
    "sqrt": lambda x, y: x.abs().sqrt(),
    "exp": lambda x, y: x.exp(),
    "log": lambda x, y: x.abs().log(),
    "tanh": lambda x, y: x.tanh(),
    "sin": lambda x, y: x.sin(),
    "sigmoid": lambda x, y: x.sigmoid(),
    "silu": lambda x, y: torch.nn.functional.silu(x),
    "gelu": lambda x, y: torch.nn.functional.gelu(x, approximate="tanh"),
    "softmax": lambda x, y: torch.softmax(x[:300_000].reshape(-1, 100), -1),
    "log_softmax": lambda x, y: torch.log_softmax(x[:300_000].reshape(-1, 100), -1),
    "max_pool2d": lambda x, y: torch.nn.functional.max_pool2d(images(x), 3, 2, 1),
    "avg_pool2d": lambda x, y: torch.nn.functional.avg_pool2d(images(x), 2),
    "adaptive": lambda x, y: torch.nn.functional.adaptive_avg_pool2d(images(x), 7),
    "batch_norm": lambda x, y: torch.nn.functional.batch_norm(images(x), None, None, training=True),
    "group_norm": lambda x, y: torch.nn.functional.group_norm(images(x), 6),
    "sum": lambda x, y: x.sum(),
    "mean": lambda x, y: x.mean(),
    "in place": lambda x, y: x.clone().mul_(y).add_(1.0),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FORWARD)
def test_results_and_gradients_have_the_same_bits(name: str, dtype: str) -> None:
    found = []
    for count in (1, 2, 5):
        torch.set_num_threads(count)
        x, y = values(dtype, SIZE).requires_grad_(), values(dtype, SIZE).flip(0).contiguous()
        result = FORWARD[name](x, y)
        result.backward(torch.ones_like(result))
        found.append((result.detach().numpy().tobytes(), x.grad.numpy().tobytes()))
    assert found[1:] == found[:1] * 2


@pytest.mark.parametrize("form", ["SGD", "Adam", "RMSprop"])
def test_optimizer_steps_have_the_same_bits(form: str) -> None:
    found = []
    for count in (1, 3):
        torch.set_num_threads(count)
        parameter = values("float32", SIZE).requires_grad_()
        optimizer = getattr(torch.optim, form)([parameter], lr=0.01)
        for _ in range(3):
            parameter.grad = torch.linspace(-1, 1, SIZE)
            optimizer.step()
        found.append(parameter.detach().numpy().tobytes())
    assert found[0] == found[1]


def test_views_and_overlaps_are_as_with_one_thread() -> None:
    for count in (1, 4):
        torch.set_num_threads(count)
        base = torch.arange(float(SIZE))
        result = base[1:] + base[:-1]
        assert result[-1].item() == 2 * SIZE - 3
        whole = torch.arange(float(200_000)).reshape(400, 500)
        assert torch.equal((whole.t() * 2.0).t(), whole + whole)


def test_python_threads_work_at_the_same_time() -> None:
    torch.set_num_threads(3)
    x = torch.linspace(-3, 3, SIZE)
    expected, wrong = (x.tanh() * 2.0 + x).numpy().tobytes(), []

    def work() -> None:
        for _ in range(20):
            if (x.tanh() * 2.0 + x).numpy().tobytes() != expected:
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_has_threads_of_its_own() -> None:
    torch.set_num_threads(3)
    x = torch.linspace(-3, 3, SIZE)
    expected = x.exp().sum().item()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            x.exp()

    other = threading.Thread(target=work)  # the child must not wait for the pool that it holds
    other.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os._exit(0 if x.exp().sum().item() == expected else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        other.join()


def test_the_number_is_that_of_blas_too() -> None:
    torch.set_num_threads(2)
    assert threads.of_blas() in (None, 2, 1)  # 1: a machine with one core
    torch.set_num_threads(1)
    assert threads.of_blas() in (None, 1)


@pytest.mark.parametrize(
    ("text", "count"), [("3", 3), ("4,2", 4), ("0", None), ("many", None), ("", None)]
)
def test_the_environment_says_how_many(
    monkeypatch: pytest.MonkeyPatch, text: str, count: int | None
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert threads.at_start() == (count or len(os.sched_getaffinity(0)))
