"""The compiled launcher, with a driver that writes down what it is asked to run."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from retrograd.backend.cuda.overrides import elementwise
from retrograd.ops.registry import OPS
from tests.cuda.on_the_host import HostArray, HostFunction

quick = pytest.importorskip("retrograd.backend.cuda._launch")

PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    *(ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p),
    *(ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p),
)


class Driver:
    """A driver whose functions are numbers of kernels that run on the CPU."""

    def __init__(self):
        self.kernels, self.launches, self.status = [], [], 0
        self.entry = PROTOTYPE(self.launched)
        quick.given_driver(ctypes.cast(self.entry, ctypes.c_void_p).value)

    def function_of(self, source, name):
        kernel = HostFunction(source, name)
        self.kernels.append(kernel)
        kernel.address = len(self.kernels)
        return kernel

    def launched(self, function, blocks, _y, _z, threads, _ty, _tz, _shared, stream, given, _extra):
        self.launches.append((function, blocks, threads, stream))
        if self.status == 0:
            self.kernels[function - 1].library.launched(blocks, threads, given)
        return self.status


@pytest.fixture
def driver(monkeypatch):
    made = Driver()
    monkeypatch.setattr(elementwise.launch, "function_of", made.function_of)
    monkeypatch.setattr(elementwise.launch, "THREADS", 32)
    monkeypatch.setattr(elementwise.launch.Quick, "module", quick)
    monkeypatch.setattr(elementwise.launch.Quick, "stream", lambda: 5)
    yield made
    quick.given_driver(0)


class Host:
    array = HostArray


def of(*shape, kind="float32"):
    return HostArray.of(np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(kind))


def test_calls_of_one_kind_are_planned_once(driver):
    add = elementwise.kernel_for("add", Host)
    x, y = of(3, 4), of(4)
    for _ in range(3):
        np.testing.assert_array_equal(add(None, x, y).held, x.held + y.held)
    assert len(add.plans) == 1 and len(driver.kernels) == 1
    assert driver.launches == [(1, 1, 32, 5)] * 3
    np.testing.assert_array_equal(add(None, x, y, alpha=2).held, x.held + 2 * y.held)
    assert len(add.plans) == 2


def test_numbers_are_given_at_the_launch(driver):
    multiply = elementwise.kernel_for("mul", Host)
    x = of(5)
    for number in (0.3, 7.5, 12, -0.0, float("inf")):
        np.testing.assert_array_equal(multiply(None, x, number).held, x.held * np.float32(number))
    assert len(driver.kernels) == 2  # for floats and for integers
    for number in (0.0, 1, 1.0, True):
        np.testing.assert_array_equal(multiply(None, x, number).held, x.held * np.float32(number))


def test_results_lie_as_the_operands(driver):
    x = HostArray.of(np.arange(24, dtype="float32").reshape(2, 3, 4).transpose(2, 0, 1))
    found = elementwise.kernel_for("exp", Host)(None, x).held
    np.testing.assert_allclose(found, np.exp(x.held), rtol=1e-6)
    assert found.strides == x.strides


def test_nothing_is_launched_for_nothing(driver):
    assert elementwise.kernel_for("exp", Host)(None, of(0, 3)).held.shape == (0, 3)
    assert driver.launches == []


def test_what_no_plan_does_runs_as_the_neutral_kernel(driver):
    seen = []
    gamma = elementwise.kernel_for("lgamma", Host)
    gamma.general.neutral = lambda xp, *given: seen.append(given)
    gamma(None, object())
    gamma(None, 2.0)
    assert len(seen) == 2


def test_a_driver_that_refuses_is_asked_by_cupy(driver):
    add = elementwise.kernel_for("add", Host)
    driver.status = 201
    x = of(3)
    np.testing.assert_array_equal(add(None, x, x).held, 2 * x.held)
    assert len(driver.launches) == 2  # the launcher's, and that of the general way before CuPy's


def test_errors_of_operands_arrive(driver):
    with pytest.raises(ValueError, match="broadcast"):
        elementwise.kernel_for("add", Host)(None, of(3), of(4))
    with pytest.raises(TypeError):
        quick.launch(1, 2)
    with pytest.raises(ValueError, match="too many"):
        quick.launch(1, 1, 1, 0, tuple(range(99)))


def test_rules_are_launched_as_ops_are(driver):
    """A rule's first argument is a table of ops, which no launch needs."""
    rule = OPS["div"].plan.rules[1].function
    slopes = elementwise.kernel_for("the rule of div", Host, rule)
    g, x, y = of(3, 4, kind="float16"), of(3, 4, kind="float16"), of(4, kind="float16")
    for _ in range(2):
        found = slopes(None, g, x, y).held
        wanted = -g.held.astype("f4") * x.held / y.held.astype("f4") ** 2
        assert found.dtype == np.float16
        np.testing.assert_array_equal(found, wanted.astype("f2"))
    assert len(driver.launches) == 2 and len(driver.kernels) == 1


def test_a_rule_that_gives_the_gradient_launches_nothing(driver):
    rule = OPS["add"].plan.rules[1].function
    slopes = elementwise.kernel_for("the rule of add", Host, rule)
    g = of(5, kind="float16")
    assert slopes(None, g, 1) is g and driver.launches == []
