"""Modes that see every call of a function: `torch.overrides.TorchFunctionMode`."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

LIBRARIES = (torch, retrograd)


def _mode(library: Any, answer: Callable[..., Any]) -> Any:
    """A new mode that answers with ``answer(func, args, kwargs)``."""

    class Mode(library.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return answer(func, args, kwargs or {})

    return Mode()


def _names(library: Any, action: Callable[..., Any]) -> list[str]:
    """The names of the functions that a mode sees while ``action(library, x, y)`` runs."""
    x = library.ones(2, 2, requires_grad=True)
    y = library.tensor([[1.0, 2.0], [3.0, 4.0]])
    seen = []

    def note(func: Any, args: Any, kwargs: Any) -> Any:
        seen.append(func.__name__)
        return func(*args, **kwargs)

    with _mode(library, note):
        action(library, x, y)
    return seen


def _write(lib: Any, x: Any, y: Any) -> None:
    y += 1
    y[0] = 2.0
    y.mul_(3)
    y.requires_grad = True


def _train(lib: Any, x: Any, y: Any) -> None:
    loss = lib.nn.functional.mse_loss(x @ y, y)
    loss.backward()
    (found,) = lib.autograd.grad((x * x).sum(), x)
    lib.stack([found, found]).mean(0)


SEEN = {
    "operators": lambda lib, x, y: (x + y, 1 + y, 1 - y, y / 2, 2 / y, y % 2, y**2, x @ y, -y),
    "comparisons": lambda lib, x, y: (x == y, x != y, x < y, 1 <= y, x >= 2),
    "integers": lambda lib, x, y: [~lib.tensor(5), lib.tensor(5) & 1, 1 ^ lib.tensor(5)],
    "methods": lambda lib, x, y: (
        x.add(y).relu().reshape(4).to(lib.float64).clone().item and x.sum().item()
    ),
    "writes": _write,
    "functions": lambda lib, x, y: (
        lib.add(x, y, alpha=2),
        lib.cat([x, y]),
        lib.einsum("ij->i", x),
    ),
    "factories": lambda lib, x, y: (lib.zeros(2), lib.randn(2), lib.arange(3), lib.tensor([1.0])),
    "like": lambda lib, x, y: (lib.zeros_like(x), x.new_ones(2), lib.rand_like(y)),
    "properties": lambda lib, x, y: (x.shape, x.dtype, x.grad, x.T, x.requires_grad, x.data),
    "Python's": lambda lib, x, y: (
        len(x),
        float(y[0, 0]),
        bool(y[0, 0]),
        repr(x),
        copy.deepcopy(y),
    ),
    "layers": lambda lib, x, y: lib.nn.functional.dropout(lib.nn.functional.linear(x, y), 0.0),
    "training": _train,
    "not seen": lambda lib, x, y: (lib.is_tensor(x), lib.manual_seed(0), lib.nn.Parameter(y)),
}


@pytest.mark.parametrize("name", SEEN)
def test_sees_what_pytorch_sees(name: str) -> None:
    assert _names(retrograd, SEEN[name]) == _names(torch, SEEN[name])


def test_a_called_module_shows_its_functions() -> None:
    seen = []
    for library in LIBRARIES:
        model = library.nn.Sequential(library.nn.Linear(2, 2), library.nn.ReLU())
        seen.append(_names(library, lambda lib, x, y, model=model: model(x)))
    assert seen[0] == seen[1] == ["linear", "relu"]


@pytest.mark.parametrize("library", LIBRARIES, ids=("torch", "retrograd"))
def test_the_function_given_is_the_public_one(library: Any) -> None:
    given: list[Any] = []

    def note(func: Any, args: Any, kwargs: Any) -> Any:
        given.append(func)
        return func(*args, **kwargs)

    x = library.ones(2)
    with _mode(library, note):
        library.add(x, x)
        x.add(x)
        x + x
        library.nn.functional.relu(x)
        x.shape  # noqa: B018
    assert given[0] is library.add
    assert given[1] is library.Tensor.add
    assert given[2] is library.Tensor.add
    assert given[3] is library.nn.functional.relu
    assert given[4] == library.Tensor.shape.__get__


@pytest.mark.parametrize("library", LIBRARIES, ids=("torch", "retrograd"))
def test_modes_nest_and_may_answer_otherwise(library: Any) -> None:
    log = []

    def outer(func: Any, args: Any, kwargs: Any) -> Any:
        log.append(("outer", func.__name__))
        return func(*args, **kwargs)

    def inner(func: Any, args: Any, kwargs: Any) -> Any:
        log.append(("inner", func.__name__))
        if func is library.zeros:
            return library.ones(*args, **kwargs)
        return func(*args, **kwargs)

    first, second = _mode(library, outer), _mode(library, inner)
    stack = library.overrides._get_current_function_mode_stack
    with first as entered, second:
        assert entered is first
        assert stack() == [first, second]
        made = library.zeros(2)
    assert stack() == []
    assert log == [("inner", "zeros"), ("outer", "ones")]
    assert made.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("library", LIBRARIES, ids=("torch", "retrograd"))
def test_a_mode_can_enter_itself_again(library: Any) -> None:
    seen: list[str] = []

    class Depth(library.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func.__name__)
            if func.__name__ == "zeros":
                with self:
                    return library.ones(2) * 2
            return func(*args, **(kwargs or {}))

    with Depth():
        assert library.zeros(1).tolist() == [2.0, 2.0]
    assert seen[:3] == ["zeros", "ones", "mul"]


@pytest.mark.parametrize("library", LIBRARIES, ids=("torch", "retrograd"))
def test_errors_leave_the_stack_as_it_was(library: Any) -> None:
    def fail(func: Any, args: Any, kwargs: Any) -> Any:
        raise LookupError(func.__name__)

    current = library.overrides._get_current_function_mode
    mode = _mode(library, fail)
    with mode:
        with pytest.raises(LookupError, match="zeros"):
            library.zeros(2)
        assert current() is mode
    assert current() is None
    with pytest.raises(NotImplementedError), library.overrides.TorchFunctionMode():
        library.zeros(2)
    with (
        pytest.raises(TypeError, match=r"^Multiple dispatch failed for 'torch.add'; all __torch"),
        _mode(library, lambda *_: NotImplemented),
    ):
        library.add(1, 2)
    assert library.zeros(1).tolist() == [0.0]


@pytest.mark.parametrize("library", LIBRARIES, ids=("torch", "retrograd"))
def test_operators_leave_strangers_to_the_other_operand(library: Any) -> None:
    class Stranger:
        def __radd__(self, other: Any) -> str:
            return "theirs"

    with library.overrides.BaseTorchFunctionMode():
        assert library.ones(1) + Stranger() == "theirs"
        with pytest.raises(TypeError):
            library.ones(1) + object()


@pytest.mark.parametrize("library", LIBRARIES, ids=("torch", "retrograd"))
def test_modes_belong_to_one_thread(library: Any) -> None:
    seen: list[str] = []

    def note(func: Any, args: Any, kwargs: Any) -> Any:
        seen.append(func.__name__)
        return func(*args, **kwargs)

    with _mode(library, note):
        other = threading.Thread(target=lambda: library.ones(2) + 1)
        other.start()
        other.join()
        library.zeros(1)
    assert seen == ["zeros"]


@pytest.mark.parametrize("library", LIBRARIES, ids=("torch", "retrograd"))
def test_own_functions_can_be_seen_too(library: Any) -> None:
    overrides = library.overrides

    def double(x: Any) -> Any:
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(double, (x,), x)
        return x * 2

    seen: list[str] = []

    def note(func: Any, args: Any, kwargs: Any) -> Any:
        seen.append(func.__name__)
        return func(*args, **kwargs)

    x = library.ones(1)
    with _mode(library, note):
        assert double(x).item() == 2
    assert seen == ["double", "item"]


def test_functions_have_their_own_code_outside_of_modes() -> None:
    functions = (retrograd.add, retrograd.zeros, retrograd.nn.functional.gelu, retrograd.erfinv)
    mode = retrograd.overrides.BaseTorchFunctionMode()
    with mode:
        retrograd.erfinv(retrograd.zeros(1))  # its code is written now
        asking = [function.__code__ for function in functions]
    own = [function.__code__ for function in functions]
    assert not set(asking) & set(own)
    assert all(code.co_filename != asking[0].co_filename for code in own)
    with mode:
        pass
    assert [function.__code__ for function in functions] == own


def test_autocast_that_starts_inside_a_mode_stays() -> None:
    x = retrograd.ones(2, 2)
    with (
        retrograd.overrides.BaseTorchFunctionMode(),
        retrograd.autocast("cpu", dtype=retrograd.bfloat16),
    ):
        assert (x @ x).dtype is retrograd.bfloat16
    with retrograd.autocast("cpu", dtype=retrograd.bfloat16):
        assert retrograd.matmul(x, x).dtype is retrograd.bfloat16
    assert (x @ x).dtype is retrograd.float32
