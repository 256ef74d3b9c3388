"""Errors made from a few facts and the line that calls: messages, names, edits."""

from __future__ import annotations

from types import CodeType, SimpleNamespace
from typing import Any

import pytest

from retrograd.diagnostics.errors import InPlaceError
from retrograd.lifecycle import why
from retrograd.lifecycle.site import user_site


class Thing:
    """Stands for a tensor: its methods run where the library's would."""

    def __init__(self) -> None:
        self.site: tuple[CodeType | None, int] = (None, 0)

    def backward(self) -> Any:
        code, lasti = user_site(2)
        return SimpleNamespace(code=code, lasti=lasti, kind="backward", ordinal=1)

    grad = backward


def text(error: Any) -> str:
    (note,) = error.__notes__
    return str(note)


def test_non_scalar() -> None:
    loss = Thing()
    call = loss.backward()
    error = why.nonscalar_error((2, 3), call)
    assert str(error) == "grad can be implicitly created only for scalar outputs"
    assert error.code == "RG104"
    assert "error[RG104]: `loss` has 6 elements, and backward needs one" in text(error)
    assert "+  |     call = loss.mean().backward()" in text(error)


def test_unused_input() -> None:
    autograd = Thing()
    call = autograd.grad()
    error = why.unused_error(1, call)
    assert str(error) == (
        "The differentiated Tensor at index 1 appears to not have been used in the graph. Set "
        "allow_unused=True if this is the desired behavior."
    )
    assert error.reason == "not-used"
    assert "+  |     call = autograd.grad(allow_unused=True)" in text(error)


def test_cuts() -> None:
    x = Thing()
    for kind, reason in (
        ("detach", "broken-graph"),
        ("no_grad", "no-grad-scope"),
        ("data", "broken-graph"),
        ("inference", "no-grad-scope"),
        ("nondifferentiable", "broken-graph"),
        ("grad", "missing-create-graph"),
        ("copy", "broken-graph"),
        ("unheard of", None),
    ):
        cut = x.backward()
        cut.kind, cut.operation = kind, "argmax"
        error = why.no_grad_error(2, cut)
        assert error.reason == reason
        assert error.report is not None and error.report.facts["cut"] == kind
        assert str(error) == (
            "element 2 of tensors does not require grad and does not have a grad_fn"
        )
    assert why.no_grad_error(0, None).reason is None


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (
            "a view of a leaf Variable that requires grad is being used in an in-place operation.",
            "view-of-leaf",
        ),
        (
            "Output 0 of Unbind is a view and is being modified inplace. This view is the output "
            "of a function that returns multiple views. Such functions do not allow the output "
            "views to be modified inplace. You should replace the inplace operation by an "
            "out-of-place one.",
            "multiple-views",
        ),
        (
            "Output 0 of View is a view of a view which was created in no_grad mode and is being "
            "modified inplace with grad mode enabled.",
            "no-grad-view",
        ),
        (
            "A view was created in inference mode and is being modified inplace in normal mode.",
            "inference-view",
        ),
        (
            "Output 0 of Fn is a view and is being modified inplace. This view was created inside "
            "a custom Function (or because an input was returned as-is) and the autograd logic",
            "function-view",
        ),
    ],
)
def test_views(message: str, reason: str) -> None:
    error = why.view_error(message)
    assert isinstance(error, InPlaceError)
    assert (str(error), error.code, error.reason) == (message, "RG106", reason)
    assert error.fix is not None


def test_leaf() -> None:
    assert str(why.leaf_error("add_")) == (
        "a leaf Variable that requires grad is being used in an in-place operation."
    )
    assert str(why.leaf_error("MyFunction", used=True)) == (
        "a leaf Variable that requires grad has been used in an in-place operation."
    )


def test_detached_saved_value() -> None:
    node = SimpleNamespace(code=None, lasti=0, sequence=3, shape=(2,), dtype="float32")
    node.name = lambda: "LogSoftmaxBackward0"
    error = why.detached_error(node)
    assert error.code == "RG110"
    assert error.report is not None and "`log_softmax`" in error.report.title


def test_read_after_free() -> None:
    call = Thing().backward()
    call.ordinal, call.kept = 4, None
    node = SimpleNamespace(code=None, lasti=0, sequence=3, shape=(2,), dtype="float32", freed=call)
    node.name = lambda: "MulBackward0"
    error = why.freed_error(node, None, None, ())
    assert error.reason == "read-after-free"
    assert "freed here: backward #4" in text(error)
    assert "read here" in text(error)


def test_non_leaf_grad_warning() -> None:
    warning = why.nonleaf_grad_warning("The .grad attribute of a Tensor that is not a leaf")
    assert warning.code == "RG107"
    assert warning.report is not None and warning.report.level == "warning"


def test_advice_from_the_numbers() -> None:
    error = why.coded_error("shape '[4, 5]' is invalid for input of size 18")
    assert error.fix is not None
    assert error.fix.text == "the given sizes multiply to 20, which does not divide 18"
