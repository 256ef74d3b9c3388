"""What the kernels promise beyond NumPy: arrays always, silence, no leak; and the switch."""

import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from retrograd.backend import kernels
from retrograd.backend.kernels import twins
from tests.limits import LIMIT

try:
    from retrograd.backend.kernels import _tiny as compiled
except ImportError:
    compiled = None  # type: ignore[assignment]

needs_compiled = pytest.mark.skipif(compiled is None, reason="the kernels are not compiled here")
BOTH = [pytest.param(twins, id="twin")]
if compiled is not None:
    BOTH.append(pytest.param(compiled, id="compiled", marks=pytest.mark.kernels))


@pytest.mark.parametrize("module", BOTH)
def test_results_without_dimensions_are_arrays(module: ModuleType) -> None:
    for dtype in (np.float16, np.float32, np.float64, np.int64):
        two = np.array(2, dtype)
        results = [
            module.add(two, two),
            module.multiply(two, 3),
            module.divide(1.0, two),
            module.maximum(two, two),
            module.negative(two),
            module.sqrt(two),
            module.exp(two),
            module.sum_all(np.ones((2, 2), dtype)),
            module.filled((), two, dtype),
            module.matmul2d(np.ones(2, dtype), np.ones(2, dtype)),
        ]
        assert [type(result) for result in results] == [np.ndarray] * len(results)
        assert {result.shape for result in results} == {()}
    assert type(module.add(1.0, 2)) is np.ndarray


@pytest.mark.parametrize("module", BOTH)
def test_results_are_new_and_writeable(module: ModuleType) -> None:
    array = np.ones(3, np.float32)
    array.flags.writeable = False
    for result in (module.add(array, 0.0), module.negative(array), module.filled((3,), 1.0, "f4")):
        assert result.flags.writeable and result.flags.owndata
        assert not np.may_share_memory(result, array)


@pytest.mark.kernels
@needs_compiled
def test_loops_are_silent_and_leave_no_flag_behind() -> None:
    zero, one = np.zeros(5, np.float32), np.ones(5, np.float32)
    huge = np.full(5, 3e38, np.float32)
    with np.errstate(all="raise"):
        for disturb in (
            lambda: compiled.divide(one, zero),
            lambda: compiled.divide(zero, zero),
            lambda: compiled.multiply(huge, huge),
            lambda: compiled.multiply(np.full(5, 1e-30, np.float32), 1e-30),
            lambda: compiled.add(one, 1e300),
            lambda: compiled.sqrt(-one),
            lambda: compiled.maximum(one, np.full(5, np.nan, np.float32)),
            lambda: compiled.sum_all(huge),
            lambda: compiled.filled((2,), 1e300, np.float32),
            lambda: compiled.iadd(np.full(5, 3e38, np.float32), huge),
        ):
            for later in harmless_calls():
                disturb()
                later()


def harmless_calls() -> list[Callable[[], Any]]:
    """NumPy calls that look at the processor's status flags and have nothing to report."""
    ones = np.ones((3, 3), np.float32)
    return [
        lambda: np.add(ones, ones),
        lambda: np.add(ones[::2], ones[::2]),
        lambda: np.add(ones, 1.5),
        lambda: np.float32(1) + np.float32(1),
        lambda: np.float32(1e3) * 2,
        lambda: np.exp(ones),
        lambda: np.matmul(ones, ones),
        lambda: np.add.reduce(ones, axis=0),
        lambda: np.add.accumulate(ones),
        lambda: ones.astype(np.int32),
        lambda: ones.astype(np.float16),
        lambda: ones.sum() / 3,
        lambda: ones.mean(),
        lambda: np.copyto(np.empty(3, np.float16), ones[0]),
        lambda: np.array([1.5, 2.5], np.float32),
        lambda: np.full(3, 2, np.float16),
        lambda: ones.item(0),
        lambda: np.floor_divide(ones, 2),
    ]


@pytest.mark.kernels
@needs_compiled
def test_a_pickled_dtype_takes_the_same_way() -> None:
    array = pickle.loads(pickle.dumps(np.zeros(3, np.float32)))
    with np.errstate(all="raise"):
        result = compiled.divide(array, array)
    assert np.isnan(result).all() and result.dtype == np.float32


def _dot_keeps_its_dtype(a: Any, b: Any) -> bool:
    """Whether NumPy's own `dot`, which `matmul2d` calls, loses references, as that of 2.5 does."""
    before = sys.getrefcount(a.dtype)
    for _ in range(1000):
        np.dot(a, b)
    return sys.getrefcount(a.dtype) - before >= 500


@pytest.mark.kernels
@needs_compiled
def test_no_reference_is_lost_or_kept() -> None:
    a = np.ones((2, 3), np.float32)
    b = np.full(3, 1.25, np.float32)
    scalar, number, shape = np.array(2, np.float32), 1.5, (2, 3)
    wrong = np.ones(7, np.float32)
    watched = [a, b, scalar, number, shape, wrong, None, NotImplemented]
    if not _dot_keeps_its_dtype(a, b):
        watched.append(a.dtype)

    def every_path() -> None:
        compiled.add(a, a)
        compiled.add(a, b)
        compiled.add(b, a)
        compiled.add(a, number)
        compiled.subtract(number, a)
        compiled.multiply(a, scalar)
        compiled.maximum(a.T, a.T)
        compiled.add(a, 1j)
        compiled.add(scalar, np.float32(1))
        compiled.negative(a)
        compiled.exp(scalar)
        compiled.iadd(a, a)
        compiled.iadd(a, 0.0)
        a.fill(1)
        compiled.sum_all(a)
        compiled.sum_all(a[:, ::2])
        compiled.filled(shape, scalar, a.dtype)
        compiled.filled(shape, number, np.float64)
        compiled.filled(shape, 1j, a.dtype.char.upper())
        compiled.matmul2d(a, b)
        for call in (compiled.add, compiled.iadd, compiled.matmul2d):
            with pytest.raises(ValueError):
                call(a, wrong)

    every_path()
    before = [sys.getrefcount(item) for item in watched]
    for _ in range(1000):
        every_path()
    after = [sys.getrefcount(item) for item in watched]
    # None is shared with the whole interpreter and moves a little; a leak would move it by 1000.
    assert all(abs(new - old) < 500 for old, new in zip(before, after, strict=True)), (
        before,
        after,
    )


@pytest.mark.kernels
@needs_compiled
def test_memory_does_not_grow() -> None:
    a = np.ones(16, np.float32)
    zero_d = np.array(1, np.float32)

    def work(rounds: int) -> None:
        for _ in range(rounds):
            compiled.add(a, a)
            compiled.multiply(a, 2.0)
            compiled.exp(zero_d)
            compiled.sum_all(a)
            compiled.filled((16,), zero_d)

    tracemalloc.start()
    try:
        work(100)
        before = tracemalloc.get_traced_memory()[0]
        work(5000)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 5000


@pytest.mark.kernels
@needs_compiled
def test_threads() -> None:
    long = np.ones(200_000, np.float32)
    failures: list[str] = []

    def work(seed: int) -> None:
        array = np.full(50, seed, np.float32)
        for _ in range(300):
            total = compiled.sum_all(compiled.multiply(array, 2.0))
            if total != 100 * seed or compiled.sum_all(long) != 200_000:
                failures.append(f"thread {seed}: {total}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("module", BOTH)
def test_wrong_number_of_arguments(module: ModuleType) -> None:
    for call, arguments in (
        (module.iadd, ()),
        (module.sum_all, (1, 2)),
        (module.filled, ((2,),)),
        (module.matmul2d, (1, 2, 3)),
    ):
        with pytest.raises(TypeError, match="argument"):
            call(*arguments)


def test_status_tells_what_is_in_use() -> None:
    assert kernels.status().startswith("The compiled kernels are")
    assert kernels.AVAILABLE == (kernels.status() == "The compiled kernels are in use.")
    source: Any = compiled if kernels.AVAILABLE else twins
    for name in set(kernels.__all__) - {"AVAILABLE", "status"}:
        assert getattr(kernels, name) is getattr(source, name)


def test_the_switch() -> None:
    program = "from retrograd.backend import kernels as k; print(k.AVAILABLE, k.status())"
    environment = {**os.environ, "RETROGRAD_KERNELS": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    assert answer.stdout.startswith("False The compiled kernels are not in use (switched off by")
