"""Structured exceptions: types, messages, notes, data, and that explaining never fails."""

from __future__ import annotations

import copy
import json
import pickle
import traceback
import warnings
from typing import Any

import pytest

from retrograd.diagnostics import errors
from retrograd.diagnostics.catalogue import catalogue, find, similar
from retrograd.diagnostics.entry import FAMILIES
from retrograd.diagnostics.errors import (
    GraphFreedError,
    InPlaceError,
    RetrogradError,
    ShapeError,
    make_error,
    make_warning,
)
from retrograd.lifecycle import why

BROADCAST = (
    "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"
)
INDEX = "index 5 is out of bounds for dimension 0 with size 3"
LEAF = "a leaf Variable that requires grad is being used in an in-place operation."


def test_catalogue_is_consistent() -> None:
    slugs = [entry.slug for entry in catalogue().values()]
    assert len(set(slugs)) == len(slugs)
    assert list(catalogue()) == sorted(catalogue())
    for code, entry in catalogue().items():
        assert code[:3] in FAMILIES and entry.code == code
        assert entry.forms and entry.summary
        assert not entry.summary.endswith(".")
        for form in entry.forms:
            assert form.reason is None or form.reason in entry.reasons


@pytest.mark.parametrize(
    ("message", "kind", "code"),
    [
        (BROADCAST, RuntimeError, "RG201"),
        (INDEX, IndexError, "RG204"),
        (INDEX, RuntimeError, "RG204"),
        ("step must be greater than zero", ValueError, None),
        ("Torch not compiled with CUDA enabled", AssertionError, "RG302"),
        ("can't optimize a non-leaf Tensor", ValueError, "RG117"),
        (LEAF, RuntimeError, "RG105"),
    ],
)
def test_type_message_and_code(message: str, kind: type[Exception], code: str | None) -> None:
    error = make_error(message, kind)
    assert isinstance(error, kind) and isinstance(error, RetrogradError)
    assert str(error) == message
    assert error.args == (message,)
    assert error.code == code
    # A program that prints the type prints what it would print with PyTorch.
    assert type(error).__name__ == type(error).__qualname__ == kind.__name__
    assert repr(error) == repr(kind(message))
    assert traceback.format_exception_only(error)[0] == f"{kind.__name__}: {message}\n"


def test_classes_for_except() -> None:
    assert isinstance(make_error(INDEX, IndexError), ShapeError)
    assert isinstance(make_error(LEAF), InPlaceError)
    assert isinstance(make_error("x", code="RG101"), GraphFreedError)
    assert not isinstance(make_error(LEAF), ShapeError)


def test_report_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RETROGRAD_REPORT", raising=False)
    error = make_error(BROADCAST)
    (note,) = error.__notes__
    assert note.startswith("\nerror[RG201]: sizes 3 and 4 do not broadcast in dimension 0\n")
    assert note.endswith("more: python -m retrograd explain RG201")


def test_report_can_be_left_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETROGRAD_REPORT", "short")
    error = make_error(BROADCAST)
    assert not hasattr(error, "__notes__")
    assert error.code == "RG201"


def test_report_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETROGRAD_REPORT", "json")
    error = why.coded_error(BROADCAST, label="here", place=((3,), object))
    (note,) = error.__notes__
    data = json.loads(note)
    assert data == error.to_dict()
    assert data["code"] == "RG201"
    assert data["family"] == "shape"
    assert data["type"] == "RuntimeError"
    assert data["message"] == BROADCAST
    assert data["spans"][0]["location"]["file"] == __file__
    assert data["facts"]["a"] == "3"
    assert data["helps"][0]["text"]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "error",
    [
        make_error(BROADCAST),
        make_error(INDEX, IndexError),
        make_error("something else", ValueError),
        make_error("x", KeyError, code="RG101"),
        why.leaf_error("add_"),
    ],
)
def test_errors_can_be_pickled_and_copied(error: RetrogradError, protocol: int) -> None:
    error.add_note("and a note of the user's own")
    for twin in (pickle.loads(pickle.dumps(error, protocol)), copy.deepcopy(error)):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert twin.report == error.report
        assert twin.__notes__ == error.__notes__


def test_a_failing_explanation_leaves_the_plain_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*arguments: Any, **options: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(errors, "render", explode)
    error = make_error(BROADCAST)
    assert not hasattr(error, "__notes__") and error.code == "RG201"
    monkeypatch.setattr(errors, "describe", explode)
    error = make_error(BROADCAST)
    assert str(error) == BROADCAST and error.report is None and error.to_dict()["code"] is None
    monkeypatch.setattr("retrograd.lifecycle.why_freed.freed_evidence", explode)

    class Broken:
        freed = 1

    freed = why.freed_error(Broken(), None, Broken(), ())  # type: ignore[arg-type]
    assert isinstance(freed, GraphFreedError)
    assert str(freed).startswith("Trying to backward through the graph a second time (or")


def test_explain_is_the_page() -> None:
    assert make_error(BROADCAST).explain().startswith("# RG201: shapes-do-not-broadcast\n")


def test_fix_is_the_first_advice() -> None:
    error = make_error("mat1 and mat2 shapes cannot be multiplied (2x3 and 5x3)")
    assert error.fix is not None
    assert error.fix.text == "the right operand would fit transposed: use .T"


def test_warning_prints_as_user_warning() -> None:
    message = "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its"
    with pytest.warns(UserWarning) as caught:
        warnings.warn(make_warning(message), stacklevel=1)
    warning = caught[0].message
    assert isinstance(warning, errors.RetrogradWarning)
    assert warning.code == "RG107"
    assert caught[0].category.__name__ == "UserWarning"
    assert str(warning) == message
    assert pickle.loads(pickle.dumps(warning)).report == warning.report


def test_adopt() -> None:
    plain = ValueError("nothing special")
    assert why.adopt(plain) is plain
    adopted = why.adopt(IndexError(INDEX))
    assert isinstance(adopted, IndexError) and isinstance(adopted, ShapeError)
    assert why.adopt(adopted) is adopted


def test_lookup() -> None:
    found = find(BROADCAST)
    assert found is not None and found[2] == {"a": "3", "b": "4", "dim": "0"}
    assert find("no such message") is None
    assert similar("rg1o1")[0] == "RG101"
    assert "RG104" in similar("scalar")


def test_other_messages_of_the_catalogue() -> None:
    """Forms whose titles use named groups can be filled from the message alone."""
    for message in (
        "shape '[4, -1]' is invalid for input of size 6",
        "Dimension out of range (expected to be in range of [-1, 0], but got 2)",
        "stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1",
        "result type Float can't be cast to the desired output type Long",
        "hook 'clip' has returned an incorrect number of values (got 2, but expected 1)",
        "Expected input batch_size (3) to match target batch_size (2).",
        "shape mismatch: value tensor of shape [2] cannot be broadcast to indexing result of shape "
        "[3]",
        "mul(): functions with out=... arguments don't support automatic differentiation, but one "
        "of the arguments requires grad.",
        "retrograd does not support torch.compile",
    ):
        error = make_error(message)
        assert error.report is not None, message
        assert "{" not in error.report.title
