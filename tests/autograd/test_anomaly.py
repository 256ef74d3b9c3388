"""Anomaly mode: the same warnings, errors and metadata as PyTorch's, and more in the report."""

from __future__ import annotations

import gc
import re
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import retrograd

STARTED = "Anomaly Detection has been enabled."


def told(library: Any, scenario: Callable[[Any], Any]) -> tuple[Any, Any]:
    """What a scenario returns or raises, and the first and last line of every warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = scenario(library)
        except Exception as error:
            result = (type(error).__name__, str(error).splitlines()[0])
        finally:
            library.set_anomaly_enabled(False)
    texts = [re.sub(r"\s*\(Triggered internally.*", "", str(item.message)) for item in caught]
    return result, [_ends(text) for text in texts]


def _ends(text: str) -> tuple[str, str | None]:
    lines = text.strip().splitlines()
    # PyTorch's stacks go on into its own Python files
    inside = [at for at, line in enumerate(lines) if "test_anomaly.py" in line]
    return lines[0], lines[inside[-1] + 1].strip() if inside else None


def nan_in_div(torch: Any) -> None:
    x = torch.zeros(2, requires_grad=True)
    with torch.autograd.detect_anomaly():
        y = x / x
        y.sum().backward()


def nan_without_forward(torch: Any) -> None:
    x = torch.zeros(2, requires_grad=True)
    y = x / x
    with torch.autograd.set_detect_anomaly(True):
        y.sum().backward()


def nan_unchecked(torch: Any) -> Any:
    x = torch.zeros(2, requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=False):
        (x / x).sum().backward()
    return x.grad.isnan().tolist()


def nan_under_create_graph(torch: Any) -> None:
    x = torch.zeros(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = x.sqrt() * 0
        torch.autograd.grad(y.sum(), x, create_graph=True)


def nan_in_complex(torch: Any) -> None:
    x = torch.zeros(2, dtype=torch.complex64, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = (x / x).abs()
        y.sum().backward()


def written_in_place(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = x.exp()
        y.add_(1)
        y.sum().backward()


def hook_raises(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = x * 2
        y.register_hook(lambda gradient: 1 / 0)
        y.sum().backward()


def leaf_hook_raises(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda gradient: 1 / 0)
    with torch.autograd.set_detect_anomaly(True):
        y = x * 2
        y.sum().backward()


def freed(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = x.exp()
        y.sum().backward()
        y.sum().backward()


def parents(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = x**2.5
        (g,) = torch.autograd.grad(y, x, torch.ones(2), create_graph=True)
        (h,) = torch.autograd.grad(g, x, torch.ones(2), create_graph=True)
        h.grad_fn.register_hook(lambda results, gradients: 1 / 0)
        h.sum().backward()


def parent_without_forward(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x**2.5
    with torch.autograd.set_detect_anomaly(True):
        (g,) = torch.autograd.grad(y, x, torch.ones(2), create_graph=True)
        g.grad_fn.register_hook(lambda results, gradients: 1 / 0)
        g.sum().backward()


def function_raises(torch: Any) -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            raise ValueError("no gradient today")

    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = Fails.apply(x)
        y.sum().backward()


def function_returns_nan(torch: Any) -> None:
    class Nan(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a + b

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient, gradient * float("nan")

    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = Nan.apply(x, x)
        y.sum().backward()


def metadata(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    plain = x * 2
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = x * 2
        (g,) = torch.autograd.grad(y.exp().sum(), x, create_graph=True)
    leaf = y.grad_fn.next_functions[0][0]
    return (
        sorted(plain.grad_fn.metadata),
        sorted(y.grad_fn.metadata),
        sorted(leaf.metadata),
        sorted(g.grad_fn.metadata),
        type(g.grad_fn.metadata["parent_"]).__name__,
        y.grad_fn.metadata["traceback_"][-1].splitlines()[-1].strip(),
        torch.is_anomaly_enabled(),
    )


def inside_vmap(torch: Any) -> Any:
    def square(row: Any) -> Any:
        return (row * row).sum()

    def quotient(row: Any) -> Any:
        return (row / row).sum()

    with torch.autograd.set_detect_anomaly(True):
        found = torch.func.vmap(torch.func.grad(square))(torch.ones(3, 2)).tolist()
        with pytest.raises(RuntimeError) as raised:
            torch.func.vmap(torch.func.grad(quotient))(torch.zeros(3, 2))
    return found, str(raised.value)


def settings(torch: Any) -> list[Any]:
    seen: list[Any] = []

    def note() -> None:
        seen.append((torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))

    note()
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        note()
        with torch.autograd.set_detect_anomaly(False):
            note()
        note()
        with torch.autograd.detect_anomaly():
            note()
        note()
    note()
    torch.autograd.set_detect_anomaly(True)
    note()
    torch.autograd.anomaly_mode.set_detect_anomaly(False, False)
    note()
    torch.set_anomaly_enabled(False)
    for wrong in (1, "yes", None):
        with pytest.raises(TypeError) as raised:
            torch.set_anomaly_enabled(wrong)
        seen.append(str(raised.value))
    return seen


SCENARIOS = [
    *(nan_in_div, nan_without_forward, nan_unchecked, nan_under_create_graph, nan_in_complex),
    *(written_in_place, hook_raises, leaf_hook_raises, freed, parents, parent_without_forward),
    *(function_raises, function_returns_nan, inside_vmap, metadata, settings),
]


@pytest.mark.torch
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_like_pytorch(scenario: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    assert told(retrograd, scenario) == told(torch, scenario)


def test_the_scenarios_warn() -> None:
    """The comparison above would pass if both said nothing."""
    silent = [s.__name__ for s in SCENARIOS if not told(retrograd, s)[1]]
    assert silent == ["metadata"]
    assert told(retrograd, nan_unchecked)[1] == [
        (f"{STARTED} This mode will increase the runtime and should only be enabled for debugging.",
         None)
    ]  # fmt: skip


def test_other_threads_see_the_mode() -> None:
    seen = []
    with retrograd.autograd.set_detect_anomaly(True):
        thread = threading.Thread(target=lambda: seen.append(retrograd.is_anomaly_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]
    assert not retrograd.is_anomaly_enabled()


def test_report_of_a_nan_has_the_callers() -> None:
    def layer(x: Any) -> Any:
        return x.sqrt()

    x = retrograd.zeros(3, requires_grad=True)
    with warnings.catch_warnings(), retrograd.autograd.set_detect_anomaly(True):
        warnings.simplefilter("ignore")
        loss = (layer(x) * 0).sum()
        with pytest.raises(RuntimeError, match="SqrtBackward0") as raised:
            loss.backward()
    error = raised.value
    assert error.code == "RG501"
    lines = [span.place.source.strip() for span in error.spans]
    assert lines[-3:] == ["loss = (layer(x) * 0).sum()", "return x.sqrt()", "loss.backward()"]
    assert "sqrt has an infinite slope at 0" in error.fix.text


def test_other_errors_get_the_forward_lines_as_a_note() -> None:
    x = retrograd.ones(3, requires_grad=True)
    with warnings.catch_warnings(), retrograd.autograd.set_detect_anomaly(True):
        warnings.simplefilter("ignore")
        y = x * 5
        y.register_hook(lambda gradient: 1 / 0)
        with pytest.raises(ZeroDivisionError) as raised:
            y.sum().backward()
    [note] = raised.value.__notes__
    assert "Error detected in MulBackward0." in note
    assert "y = x * 5" in note


def test_no_frame_is_kept() -> None:
    """A stack is remembered by its code, so the tensors of the frames can go."""

    def forward(x: Any) -> tuple[Any, weakref.ref[Any]]:
        local = x * 3
        reference = weakref.ref(local)
        return local + 1, reference

    x = retrograd.ones(3, requires_grad=True)
    gc.disable()
    try:
        with retrograd.autograd.set_detect_anomaly(True):
            y, reference = forward(x)
        assert reference() is None
        y.sum().backward()  # the graph itself works on, outside of the mode
    finally:
        gc.enable()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


def test_numbers_are_the_same_in_the_mode() -> None:
    def gradients() -> list[Any]:
        x = retrograd.tensor([0.3, -1.2, 2.0], requires_grad=True)
        w = retrograd.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]], requires_grad=True)
        h = (w @ x).tanh() + 1
        h.register_hook(lambda gradient: gradient * 2)
        view = h[:1]
        view.mul_(3)
        (h.exp().sum() * x.max()).backward()
        return [x.grad.tolist(), w.grad.tolist()]

    plain = gradients()
    with retrograd.autograd.set_detect_anomaly(True):
        assert gradients() == plain
    assert gradients() == plain


def test_ops_take_the_fast_path_again_afterwards() -> None:
    from retrograd.engine.state import HOT

    before = HOT["UNUSUAL"]
    with pytest.raises(ZeroDivisionError), retrograd.autograd.set_detect_anomaly(True):
        assert HOT["UNUSUAL"] == before + 1
        raise ZeroDivisionError
    assert HOT["UNUSUAL"] == before
    x = retrograd.ones(1, requires_grad=True)
    assert (x * 2).grad_fn.metadata == {}


class Mark:
    """Something to hang on a node's metadata."""


@pytest.mark.parametrize("fails", [False, True])
def test_parents_go_with_the_graph(fails: bool) -> None:
    """A node of a second-order graph keeps the node that made it, in no cycle."""

    def made() -> tuple[Any, weakref.ref[Mark]]:
        x = retrograd.ones(2, 2, requires_grad=True)
        t = x.exp()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with retrograd.autograd.detect_anomaly():
                (g,) = retrograd.autograd.grad(t.sum(), x, create_graph=True)
                assert g.grad_fn.metadata["parent_"] is t.grad_fn
                if fails:
                    g.register_hook(lambda gradient: 1 / 0)
                    with pytest.raises(ZeroDivisionError):
                        g.sum().backward()
        mark = Mark()
        t.grad_fn.metadata["mark"] = mark
        return t, weakref.ref(mark)

    gc.collect()
    gc.disable()
    try:
        t, reference = made()
        assert reference() is not None
        del t
        if fails:
            gc.collect()  # pytest keeps the exception, whose traceback has the frames, in a cycle
        assert reference() is None
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_a_list_of_operands_whose_result_gets_no_gradient():
    class First(retrograd.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, None

    x, y = retrograd.ones(2, requires_grad=True), retrograd.ones(2, requires_grad=True)
    with retrograd.autograd.detect_anomaly():
        First.apply(x, retrograd.stack([y, y]).sum(0)).sum().backward()
        First.apply(x, retrograd.cat([y])).sum().backward()
    assert (x.grad == 2).all() and (y.grad is None or (y.grad == 0).all())
