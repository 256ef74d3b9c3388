"""Wrong arguments are refused in PyTorch's words, on the user's line, before anything is done."""

from __future__ import annotations

import copy
import pickle
import traceback

import numpy as np
import pytest

import retrograd as torch
from retrograd import core
from retrograd.ops.calling.refusals import parsed
from retrograd.ops.calling.signature_table import entry

pytestmark = pytest.mark.skipif(not core.AVAILABLE, reason="the core asks the signatures")

F = torch.nn.functional


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("torch.add([1.0], x)", "add(): argument 'input' (position 1) must be Tensor, not list"),
        ("x.add('a')", "add(): argument 'other' (position 1) must be Tensor, not str"),
        ("torch.mv(x)", 'mv() missing 1 required positional arguments: "vec"'),
        ("torch.mv(x, x, x)", "mv() takes 2 positional arguments but 3 were given"),
        ("torch.mv(x, x, dim=1)", "mv() got an unexpected keyword argument 'dim'"),
        ("x.exp(1)", "TensorBase.exp() takes no arguments (1 given)"),
        ("x.amax(1, 7)", "amax(): argument 'keepdim' (position 2) must be bool, not int"),
        (
            "x.view(1, 2.5)",
            "view(): argument 'size' failed to unpack the object at pos 2 with error",
        ),
        ("F.relu()", "relu() missing 1 required positional argument: 'input'"),
        ("F.linear([1.0], x)", "linear(): argument 'input' (position 1) must be Tensor, not list"),
        ("torch.cat([x, 1])", "expected Tensor as element 1 in argument 0, but got int"),
        ("torch.sum('a')", "sum(): argument 'input' (position 1) must be Tensor, not str"),
        (
            "x.sum(keepdim=True)",
            "sum() received an invalid combination of arguments - got (keepdim",
        ),
        ("torch.linalg.inv(1)", "linalg_inv(): argument 'A' (position 1) must be Tensor, not int"),
        ("torch.add(x, 1, alpha='a')", "add(): argument 'alpha' must be Number, not str"),
        ("torch.zeros(2, dtype='a')", "zeros(): argument 'dtype' must be torch.dtype, not str"),
    ],
)
def test_first_line(call, message):
    with pytest.raises(TypeError) as caught:
        eval(call, {"torch": torch, "F": F, "x": torch.ones(2, 2)})
    assert str(caught.value).startswith(message)


def test_overloads_are_listed_with_what_did_not_match():
    with pytest.raises(TypeError) as caught:
        torch.ones(2).view("a")
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("got (str), but expected one of:")
    assert " * (torch.dtype dtype)" in lines
    assert "      didn't match because some of the arguments have invalid types: (!str!)" in lines


@pytest.mark.parametrize("call", ["torch.mm(x, [1])", "x.sum(keepdim=True)", "x.exp(1)"])
def test_the_report_begins_on_the_line_of_the_user(call):
    try:
        exec(compile(f"x = torch.ones(2, 2)\n{call}", "user.py", "exec"), {"torch": torch})
    except TypeError as error:
        frames = traceback.extract_tb(error.__traceback__)
    assert [frame.filename for frame in frames[1:]] == ["user.py"]


def test_nothing_is_written_before_the_arguments_are_read():
    x = torch.ones(2)
    with pytest.raises(TypeError):
        x.add_(1, alpha="a")
    assert x.tolist() == [1, 1] and x._version == 0


def test_types_that_were_taken_once_are_looked_at_again_where_values_decide():
    x = torch.ones(2)
    assert torch.nn.functional.elu(x, torch.tensor(1.0)).tolist() == [1, 1]
    with pytest.raises(TypeError, match="must be Number, not Tensor"):
        torch.nn.functional.elu(x, torch.ones(3))


@pytest.mark.parametrize(
    "call",
    [
        "x.sum(np.int64(0))", "x.sum((np.int64(0),))", "x.sum(axis=0, keepdims=True)",
        "x.reshape(torch.tensor(4))", "torch.add(1, 2)", "x.to(float)", "x.to('cpu')",
        "torch.full((2,), torch.tensor(2.0))", "x.add(np.float32(1))", "torch.ones(2, True)",
        "x.clamp(min=torch.tensor(0.0))", "x.mul(True)", "x.topk(np.int64(1))",
        "torch.where(x > 0, x, 0)", "torch.zeros(torch.Size([2]))", "torch.dropout(x, 0.0, False)",
        "x.view(-1, 2)",
    ],
)  # fmt: skip
def test_what_pytorch_takes_is_not_refused(call):
    eval(call, {"torch": torch, "np": np, "x": torch.ones(2, 2)})


def test_other_errors_stay_as_they_are():
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.ones(2).sum(5)
    with pytest.raises(NotImplementedError, match="not supported by retrograd"):
        torch.ones(2).record_stream()


@pytest.mark.parametrize("function", [torch.add, torch.Tensor.add, torch.cat, F.relu, torch.relu])
def test_functions_are_pickled_by_their_place(function):
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function


def test_older_forms_are_taken_and_not_shown():
    known = entry("torch.add")
    assert known is not None and [s.hidden for s in known.overloads] == [True, False]
    x = torch.ones(1)
    assert parsed(known.overloads, (x, 2, x), {}) is None
    message = parsed(known.overloads, (x, "a", x), {})
    assert message is not None and "Number alpha, Tensor other" not in message


def test_types_that_a_loop_makes_anew_are_not_remembered_without_end() -> None:
    x = torch.ones(2)
    for _ in range(1100):
        own = type("Own", (torch.Tensor,), {})
        assert torch.sum(x.as_subclass(own), dim=0).item() == 2
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.sum([1.0], dim=0)
