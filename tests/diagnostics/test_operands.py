"""Errors about arguments: the user's line with the shapes and dtypes of what was passed."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
import retrograd.nn.functional as F
from retrograd.diagnostics.errors import RetrogradError

HEAD = """import retrograd as torch
import retrograd.nn.functional as F
from retrograd import nn

x = torch.ones(3, 5)
w = torch.ones(4, 2)
v = torch.ones(3)
n = torch.arange(3)
layer = nn.Sequential(nn.Linear(4, 2), nn.ReLU())
"""

CASES = [
    # expression, code, text that the line's label has
    ("x @ w", "RG202", "`x` is [3, 5], `w` is [4, 2]"),
    ("torch.matmul(x, other=w)", "RG202", "`x` is [3, 5], `w` is [4, 2]"),
    ("x.mm(w)", "RG202", "`x` is [3, 5], `w` is [4, 2]"),
    ("torch.mv(x, v)", "RG202", "`x` is [3, 5], `v` is [3]"),
    ("torch.ones(2, 3, 4).bmm(torch.ones(2, 5, 6))", "RG202", "`torch.ones(2, 3, 4)` is [2, 3, 4]"),
    ("torch.einsum('ij,jk->ik', x, w)", "RG202", "`x` is [3, 5], `w` is [4, 2]"),
    (
        "layer(x)",
        "RG202",
        "inside layer[0] (Linear(in_features=4, out_features=2, bias=True)): input",
    ),
    ("x + w", "RG201", "`x` is [3, 5], `w` is [4, 2]"),
    ("1 - x * w", "RG201", "`x` is [3, 5], `w` is [4, 2]"),
    ("x.add_(torch.ones(2, 3, 5))", "RG201", "`x` is [3, 5], `torch.ones(2, 3, 5)` is [2, 3, 5]"),
    ("torch.where(x > 0, x, w)", "RG201", "`x > 0` is [3, 5], `x` is [3, 5], `w` is [4, 2]"),
    ("x.expand(3, 7)", "RG201", "`x` is [3, 5]"),
    ("x.view(4, 4)", "RG203", "`x` is [3, 5]"),
    ("x.split([1, 1])", "RG203", "`x` is [3, 5]"),
    ("x[7]", "RG204", "`x` is [3, 5]"),
    ("x[:, 9]", "RG204", "`x` is [3, 5]"),
    ("x[n > 5, 0, 0]", "RG204", "`x` is [3, 5]"),
    ("x.index_select(0, n + 1)", "RG204", "`x` is [3, 5], `n + 1` is [3]"),
    ("x.gather(0, n.unsqueeze(0) + 5)", "RG204", "`x` is [3, 5]"),
    ("F.cross_entropy(x, n + 4)", "RG204", "`x` is [3, 5], `n + 4` is [3]"),
    ("x.sum(dim=4)", "RG205", "`x` is [3, 5]"),
    ("x.transpose(0, 2)", "RG205", "`x` is [3, 5]"),
    ("x.permute(0, 1, 2)", "RG205", "`x` is [3, 5]"),
    ("torch.cat([x, w])", "RG206", "`x` is [3, 5], `w` is [4, 2]"),
    ("torch.stack((x, w))", "RG206", "`x` is [3, 5], `w` is [4, 2]"),
    ("torch.tensor([[1, 2], [3]])", "RG206", ""),
    ("x.item()", "RG207", "`x` is [3, 5]"),
    ("x.T.view(15)", "RG208", "`x.T` is [5, 3]"),
    ("F.cross_entropy(x, n[:2])", "RG209", "`x` is [3, 5], `n[:2]` is [2]"),
    ("F.layer_norm(x, (4,))", "RG210", "`x` is [3, 5]"),
    ("x.double() @ torch.ones(5, 2)", "RG301", "`x.double()` is [3, 5] float64"),
    ("x.double() @ torch.ones(5)", "RG301", "`x.double()` is [3, 5] float64"),
    ("F.linear(x.double(), x)", "RG301", "`x.double()` is [3, 5] float64, `x` is [3, 5] float32"),
    ("x.to('cuda')", "RG302", "`x` is [3, 5] float32"),
    ("torch.ones(3, device='cuda')", "RG302", ""),
    ("x.cuda()", "RG302", "`x` is [3, 5] float32"),
    ("torch.device('gpu')", "RG302", ""),
    ("n.add_(0.5)", "RG303", "`n` is [3] int64"),
    ("n.mean()", "RG304", "`n` is [3] int64"),
    ("-(x > 0)", "RG304", "`x > 0` is [3, 5] bool"),
    ("x[v]", "RG305", "`x` is [3, 5] float32"),
]


@pytest.mark.parametrize(("expression", "code", "label"), CASES, ids=[case[0] for case in CASES])
def test_the_line_and_its_operands(fail: Any, expression: str, code: str, label: str) -> None:
    failure = fail(f"{HEAD}result = {expression}\n")
    assert failure.error.code == code
    (span,) = failure.report.spans
    assert span.place.line == 10
    assert span.label.startswith(label) and bool(span.label) == bool(label)


@pytest.mark.torch
@pytest.mark.parametrize(("expression", "code", "label"), CASES, ids=[case[0] for case in CASES])
def test_type_and_message_are_pytorchs(fail: Any, expression: str, code: str, label: str) -> None:
    pytest.importorskip("torch")
    error = fail(f"{HEAD}result = {expression}\n").error
    theirs = HEAD.replace("retrograd", "torch")
    with pytest.raises(Exception) as caught:
        exec(f"{theirs}result = {expression}\n", {})
    assert type(error).__name__ == type(caught.value).__name__
    if "device" not in expression:  # the list of device types is PyTorch's build's
        assert str(error) == str(caught.value)


@pytest.mark.parametrize(
    ("expression", "fix"),
    [
        ("x @ w.T", "this"),
        ("torch.ones(2, 5) @ torch.ones(4, 5)", "the right operand would fit transposed: use .T"),
        ("torch.ones(5, 2) @ torch.ones(5, 4)", "the left operand would fit transposed: use .T"),
        ("x * v", "`v` fits as [3, 1]: add a dimension, .unsqueeze(1)"),
        ("v * x", "`v` fits as [3, 1]: add a dimension, .unsqueeze(1)"),
        ("x * torch.ones(5, 3)", "they fit if one of the two is transposed: use .T"),
        ("x * torch.ones(2, 1, 3)", "if one operand lacks a dimension, add it"),
        ("layer(x)", "this layer takes 4 features and got 5"),
    ],
)
def test_advice_follows_from_the_shapes(fail: Any, expression: str, fix: str) -> None:
    error = fail(f"{HEAD}result = {expression}\n").error
    texts = [item.text for item in error.report.fixes]
    if fix == "this":
        assert not any("transposed" in text or "layer" in text for text in texts)
    else:
        assert texts[0].startswith(fix)


def test_a_fitting_change_really_fits() -> None:
    x, v = torch.ones(3, 5), torch.ones(3)
    assert (x * v.unsqueeze(1)).shape == (3, 5)


def test_reflected_operators_name_the_right_sides(fail: Any) -> None:
    failure = fail(
        "import numpy\nimport retrograd as torch\n"
        "rows = numpy.ones((4, 2), dtype='float32')\nx = torch.ones(3, 5)\ny = rows - x\n"
    )
    assert "`x` is [3, 5]" in failure.labels[0]
    assert "`rows` is [3, 5]" not in failure.labels[0]


def test_names_are_left_out_when_unsure(fail: Any) -> None:
    failure = fail(
        "import retrograd as torch\n"
        "pair = torch.ones(2, 3), torch.ones(4, 5)\n"
        "result = torch.matmul(*pair)\n"
    )
    assert failure.labels == ["input is [2, 3], other is [4, 5]"]


def test_a_tensor_in_a_module_is_not_taken_for_a_function(fail: Any) -> None:
    failure = fail(
        "import types\nimport retrograd as torch\n"
        "settings = types.ModuleType('settings')\nsettings.weight = torch.ones(2, 3)\n"
        "result = settings.weight.matmul(torch.ones(4))\n"
    )
    assert "`settings.weight` is [2, 3]" in failure.labels[0]


def test_facts_for_programs() -> None:
    with pytest.raises(RetrogradError) as caught:
        F.linear(torch.ones(2, 3), torch.ones(4, 5))
    operands = caught.value.to_dict()["facts"]["operands"]
    assert [item["shape"] for item in operands] == [[2, 3], [4, 5]]
    assert [item["dtype"] for item in operands] == ["float32", "float32"]


def test_the_error_keeps_no_tensor_alive() -> None:
    import gc
    import weakref

    gc.disable()
    try:
        x = torch.ones(3, 5)
        seen = weakref.ref(x)
        error = None
        try:
            x + torch.ones(4, 2)
        except RuntimeError as caught:
            error = caught.with_traceback(None)
            while caught.__context__ is not None:
                caught = caught.__context__.with_traceback(None)
        del x
        assert error is not None
        assert seen() is None
    finally:
        gc.enable()
