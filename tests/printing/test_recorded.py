"""Texts recorded from PyTorch 2.13: the printed forms hold where it is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy
import pytest

from retrograd.tensors import printing

inf, nan = numpy.inf, numpy.nan


@pytest.fixture(autouse=True)
def restored_options() -> Iterator[None]:
    yield
    printing.set_printoptions(profile="default")


def array_of(values: Any, dtype_name: str) -> numpy.ndarray:
    is_brain_float = dtype_name == "bfloat16"
    return numpy.array(values, dtype=ml_dtypes.bfloat16 if is_brain_float else dtype_name)


# Values, dtype, print options, expected text.
RECORDED: list[tuple[Any, str, dict[str, Any], str]] = [
    (0.0, "float32", {}, "tensor(0.)"),
    (-0.0, "float32", {}, "tensor(-0.)"),
    (1.0, "float32", {}, "tensor(1.)"),
    (3.14159, "float64", {}, "tensor(3.1416, dtype=torch.float64)"),
    (-7, "int64", {}, "tensor(-7)"),
    (True, "bool", {}, "tensor(True)"),
    (3 - 4j, "complex64", {}, "tensor(3.-4.j)"),
    (nan, "float32", {}, "tensor(nan)"),
    (-inf, "float16", {}, "tensor(-inf, dtype=torch.float16)"),
    ([], "float32", {}, "tensor([])"),
    ([], "int64", {}, "tensor([], dtype=torch.int64)"),
    ([], "bool", {}, "tensor([], dtype=torch.bool)"),
    ([], "complex64", {}, "tensor([], dtype=torch.complex64)"),
    ([[], []], "float64", {}, "tensor([], size=(2, 0), dtype=torch.float64)"),
    ([0.0, -0.0], "float32", {}, "tensor([0., -0.])"),
    ([1.0, -2.0, 30.0], "float32", {}, "tensor([ 1., -2., 30.])"),
    ([1.0, 2.5], "float32", {}, "tensor([1.0000, 2.5000])"),
    ([1.0, 1000.0], "float32", {}, "tensor([   1., 1000.])"),
    ([1.0, 1001.0], "float32", {}, "tensor([1.0000e+00, 1.0010e+03])"),
    ([1e8], "float32", {}, "tensor([100000000.])"),
    ([1e8 + 8], "float32", {}, "tensor([1.0000e+08])"),
    ([1.5, 1e8], "float64", {}, "tensor([1.5000e+00, 1.0000e+08], dtype=torch.float64)"),
    ([0.0, 9e-5], "float32", {}, "tensor([0.0000e+00, 9.0000e-05])"),
    ([1e-4, 0.05], "float64", {}, "tensor([0.0001, 0.0500], dtype=torch.float64)"),
    ([inf, 1.0], "float32", {}, "tensor([inf, 1.])"),
    ([-inf, nan, 0.5], "float32", {}, "tensor([  -inf,    nan, 0.5000])"),
    ([5e-324, 1e308], "float64", {}, "tensor([4.9407e-324, 1.0000e+308], dtype=torch.float64)"),
    ([0.1, 0.2], "float16", {}, "tensor([0.1000, 0.2000], dtype=torch.float16)"),
    ([0.1, 65504.0], "float16", {}, "tensor([9.9976e-02, 6.5504e+04], dtype=torch.float16)"),
    ([0.1, 1.7e38], "bfloat16", {}, "tensor([1.0010e-01, 1.7014e+38], dtype=torch.bfloat16)"),
    ([3.140625], "bfloat16", {}, "tensor([3.1406], dtype=torch.bfloat16)"),
    ([True, False], "bool", {}, "tensor([ True, False])"),
    ([1, -200, 30], "int16", {}, "tensor([   1, -200,   30], dtype=torch.int16)"),
    ([0, 255], "uint8", {}, "tensor([  0, 255], dtype=torch.uint8)"),
    ([-128, 127], "int8", {}, "tensor([-128,  127], dtype=torch.int8)"),
    ([7], "int32", {}, "tensor([7], dtype=torch.int32)"),
    ([-(2**63), 2**63 - 1], "int64", {}, "tensor([-9223372036854775808,  9223372036854775807])"),
    ([1 + 2j, 3.5 - 1j], "complex64", {}, "tensor([1.0000+2.j, 3.5000-1.j])"),
    (
        [1e10 + 0j, 1 + 1e-8j],
        "complex128",
        {},
        (
            "tensor([1.0000e+10+0.0000e+00j, 1.0000e+00+1.0000e-08j],\n"
            "       dtype=torch.complex128)"
        ),
    ),
    ([complex(nan, -0.0), complex(-inf, 2)], "complex64", {}, "tensor([nan-0.j, -inf+2.j])"),
    (
        [[1.5, 2.0], [-3.0, 4.0]],
        "float32",
        {},
        ("tensor([[ 1.5000,  2.0000],\n        [-3.0000,  4.0000]])"),
    ),
    (
        [[[1], [2]], [[3], [4]]],
        "int64",
        {},
        ("tensor([[[1],\n         [2]],\n\n        [[3],\n         [4]]])"),
    ),
    (
        numpy.arange(24).reshape(2, 1, 3, 4),
        "int64",
        {},
        (
            "tensor([[[[ 0,  1,  2,  3],\n"
            "          [ 4,  5,  6,  7],\n"
            "          [ 8,  9, 10, 11]]],\n"
            "\n"
            "\n"
            "        [[[12, 13, 14, 15],\n"
            "          [16, 17, 18, 19],\n"
            "          [20, 21, 22, 23]]]])"
        ),
    ),
    (
        numpy.zeros(30),
        "float32",
        {},
        # Zeros are counted one column too narrow, so these lines run over.
        "tensor([" + "0., " * 23 + "0.,\n        0., 0., 0., 0., 0., 0.])",
    ),
    (
        numpy.ones(30),
        "float64",
        {},
        (
            "tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.,\n"
            "        1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.], dtype=torch.float64)"
        ),
    ),
    (
        numpy.arange(30) / 7,
        "float32",
        {},
        (
            "tensor([0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429,\n"
            "        1.2857, 1.4286, 1.5714, 1.7143, 1.8571, 2.0000, 2.1429, 2.2857, 2.4286,\n"
            "        2.5714, 2.7143, 2.8571, 3.0000, 3.1429, 3.2857, 3.4286, 3.5714, 3.7143,\n"
            "        3.8571, 4.0000, 4.1429])"
        ),
    ),
    (
        numpy.arange(8) / 7 + 1.5j,
        "complex64",
        {},
        (
            "tensor([0.0000+1.5000j, 0.1429+1.5000j, 0.2857+1.5000j, 0.4286+1.5000j,\n"
            "        0.5714+1.5000j, 0.7143+1.5000j, 0.8571+1.5000j, 1.0000+1.5000j])"
        ),
    ),
    (numpy.ones(1001), "float32", {}, "tensor([1., 1., 1.,  ..., 1., 1., 1.])"),
    (numpy.arange(1001), "float32", {}, "tensor([   0.,    1.,    2.,  ...,  998.,  999., 1000.])"),
    (
        numpy.arange(1600).reshape(40, 40),
        "int64",
        {},
        (
            "tensor([[   0,    1,    2,  ...,   37,   38,   39],\n"
            "        [  40,   41,   42,  ...,   77,   78,   79],\n"
            "        [  80,   81,   82,  ...,  117,  118,  119],\n"
            "        ...,\n"
            "        [1480, 1481, 1482,  ..., 1517, 1518, 1519],\n"
            "        [1520, 1521, 1522,  ..., 1557, 1558, 1559],\n"
            "        [1560, 1561, 1562,  ..., 1597, 1598, 1599]])"
        ),
    ),
    (
        numpy.arange(1200).reshape(3, 20, 20),
        "int64",
        {},
        (
            "tensor([[[   0,    1,    2,  ...,   17,   18,   19],\n"
            "         [  20,   21,   22,  ...,   37,   38,   39],\n"
            "         [  40,   41,   42,  ...,   57,   58,   59],\n"
            "         ...,\n"
            "         [ 340,  341,  342,  ...,  357,  358,  359],\n"
            "         [ 360,  361,  362,  ...,  377,  378,  379],\n"
            "         [ 380,  381,  382,  ...,  397,  398,  399]],\n"
            "\n"
            "        [[ 400,  401,  402,  ...,  417,  418,  419],\n"
            "         [ 420,  421,  422,  ...,  437,  438,  439],\n"
            "         [ 440,  441,  442,  ...,  457,  458,  459],\n"
            "         ...,\n"
            "         [ 740,  741,  742,  ...,  757,  758,  759],\n"
            "         [ 760,  761,  762,  ...,  777,  778,  779],\n"
            "         [ 780,  781,  782,  ...,  797,  798,  799]],\n"
            "\n"
            "        [[ 800,  801,  802,  ...,  817,  818,  819],\n"
            "         [ 820,  821,  822,  ...,  837,  838,  839],\n"
            "         [ 840,  841,  842,  ...,  857,  858,  859],\n"
            "         ...,\n"
            "         [1140, 1141, 1142,  ..., 1157, 1158, 1159],\n"
            "         [1160, 1161, 1162,  ..., 1177, 1178, 1179],\n"
            "         [1180, 1181, 1182,  ..., 1197, 1198, 1199]]])"
        ),
    ),
    (
        numpy.arange(1200).reshape(100, 12) / 8,
        "float64",
        {"profile": "short"},
        (
            "tensor([[0.00e+00, 1.25e-01,  ..., 1.25e+00, 1.38e+00],\n"
            "        [1.50e+00, 1.62e+00,  ..., 2.75e+00, 2.88e+00],\n"
            "        ...,\n"
            "        [1.47e+02, 1.47e+02,  ..., 1.48e+02, 1.48e+02],\n"
            "        [1.48e+02, 1.49e+02,  ..., 1.50e+02, 1.50e+02]], dtype=torch.float64)"
        ),
    ),
    (
        numpy.arange(1001) > 3,
        "bool",
        {},
        "tensor([False, False, False,  ...,  True,  True,  True])",
    ),
    ([1.0, 2.0], "float32", {"sci_mode": True}, "tensor([1.0000e+00, 2.0000e+00])"),
    ([1e10, 1.5], "float32", {"sci_mode": False}, "tensor([10000000000.0000,           1.5000])"),
    ([1e-9, 2e-9], "float64", {"sci_mode": False}, "tensor([0.0000, 0.0000], dtype=torch.float64)"),
    ([0.0, nan], "float32", {"sci_mode": True}, "tensor([0., nan])"),
    (
        [1 / 3, 2 / 3],
        "float64",
        {"precision": 10},
        "tensor([0.3333333333, 0.6666666667], dtype=torch.float64)",
    ),
    ([1.5, 2.5], "float32", {"precision": 0}, "tensor([2, 2])"),
    (
        numpy.arange(10),
        "int64",
        {"linewidth": 20},
        ("tensor([0, 1, 2, 3,\n        4, 5, 6, 7,\n        8, 9])"),
    ),
    (
        numpy.arange(10),
        "int32",
        {"linewidth": 1},
        (
            "tensor([0,\n"
            "        1,\n"
            "        2,\n"
            "        3,\n"
            "        4,\n"
            "        5,\n"
            "        6,\n"
            "        7,\n"
            "        8,\n"
            "        9],\n"
            "       dtype=torch.int32)"
        ),
    ),
    (
        numpy.ones((2, 12)),
        "float64",
        {"linewidth": 30, "threshold": 10, "edgeitems": 5},
        (
            "tensor([[1., 1., 1., 1., 1.,\n"
            "          ..., 1., 1., 1., 1.,\n"
            "         1.],\n"
            "        [1., 1., 1., 1., 1.,\n"
            "          ..., 1., 1., 1., 1.,\n"
            "         1.]],\n"
            "       dtype=torch.float64)"
        ),
    ),
    (
        numpy.arange(12).reshape(3, 4),
        "int64",
        {"threshold": 5, "edgeitems": 1},
        ("tensor([[ 0,  ...,  3],\n        ...,\n        [ 8,  ..., 11]])"),
    ),
    (
        [1.0, 2.0, 3.0],
        "float64",
        {"threshold": 2, "edgeitems": 0},
        "tensor([...], size=(3,), dtype=torch.float64)",
    ),
    (2.5, "float32", {"edgeitems": 0}, "tensor(2.5000, size=())"),
]


@pytest.mark.parametrize(
    ("values", "dtype_name", "options", "expected"),
    RECORDED,
    ids=[f"{number}-{case[1]}" for number, case in enumerate(RECORDED)],
)
def test_recorded(values: Any, dtype_name: str, options: dict[str, Any], expected: str) -> None:
    printing.set_printoptions(**options)
    text = printing.format_tensor(array_of(values, dtype_name), dtype_name=dtype_name)
    assert text == expected


def test_leaf_and_result() -> None:
    ones = numpy.ones(3, numpy.float32)
    leaf = printing.format_tensor(ones, dtype_name="float32", requires_grad=True)
    assert leaf == "tensor([1., 1., 1.], requires_grad=True)"
    result = printing.format_tensor(
        ones, dtype_name="float32", requires_grad=True, grad_fn_name="MulBackward0"
    )
    assert result == "tensor([1., 1., 1.], grad_fn=<MulBackward0>)"


def test_suffixes_wrap() -> None:
    twos = numpy.full(12, 2.0)
    text = printing.format_tensor(twos, dtype_name="float64", grad_fn_name="MulBackward0")
    assert text == (
        "tensor([2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2.], dtype=torch.float64,\n"
        "       grad_fn=<MulBackward0>)"
    )
    twos = numpy.full(14, 2.0)
    text = printing.format_tensor(twos, dtype_name="float64", grad_fn_name="MulBackward0")
    assert text == (
        "tensor([2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2.],\n"
        "       dtype=torch.float64, grad_fn=<MulBackward0>)"
    )


def test_device_comes_first_and_extras_last() -> None:
    text = printing.format_tensor(
        numpy.ones(2),
        dtype_name="float64",
        device="cuda:0",
        requires_grad=True,
        extra=["tangent=tensor([2., 2.])"],
    )
    assert text == (
        "tensor([1., 1.], device='cuda:0', dtype=torch.float64, requires_grad=True,\n"
        "       tangent=tensor([2., 2.]))"
    )


def test_indent_moves_later_lines() -> None:
    text = printing.format_tensor(numpy.eye(2), dtype_name="float32", prefix="Wave(", indent=4)
    assert text == "Wave([[1., 0.],\n          [0., 1.]])"


def test_default_double() -> None:
    defaults: dict[str, Any] = {"default_float": "float64", "default_complex": "complex128"}
    ones = numpy.ones(1)
    assert printing.format_tensor(ones, dtype_name="float64", **defaults) == "tensor([1.])"
    assert (
        printing.format_tensor(ones, dtype_name="float32", **defaults)
        == "tensor([1.], dtype=torch.float32)"
    )
    assert (
        printing.format_tensor(ones + 0j, dtype_name="complex128", **defaults) == "tensor([1.+0.j])"
    )


def test_non_contiguous_arrays() -> None:
    table = numpy.arange(6).reshape(2, 3)
    assert printing.format_tensor(table.T[::-1], dtype_name="int64") == (
        "tensor([[2, 5],\n        [1, 4],\n        [0, 3]])"
    )


def test_parameter_and_size() -> None:
    assert printing.format_parameter("tensor(1.)") == "Parameter containing:\ntensor(1.)"
    assert printing.format_size(()) == "torch.Size([])"
    assert printing.format_size((2, 3)) == "torch.Size([2, 3])"


def test_format_specification() -> None:
    assert printing.format_scalar_spec(numpy.array(1.1, numpy.float32), "") == "1.100000023841858"
    assert printing.format_scalar_spec(array_of(1.1, "bfloat16"), ".3f") == "1.102"
    assert printing.format_scalar_spec(numpy.array(3), "5.1f") == "  3.0"
    with pytest.raises(TypeError, match=r"^unsupported format string passed to Tensor.__format__$"):
        printing.format_scalar_spec(numpy.ones(1), ".2f")
    with pytest.raises(TypeError, match=r"passed to Parameter.__format__$"):
        printing.format_scalar_spec(numpy.array(1.0), ".2f", class_name="Parameter")


def test_options() -> None:
    defaults = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80}
    assert printing.get_printoptions() == {**defaults, "sci_mode": None}
    printing.set_printoptions(profile="full", precision=2, sci_mode=True)
    changed = {**defaults, "precision": 2, "threshold": inf}
    assert printing.get_printoptions() == {**changed, "sci_mode": True}
    with pytest.raises(KeyError), printing.printoptions(profile="short"):
        # Leaving sci_mode out sets it back to None, as in PyTorch.
        assert printing.get_printoptions()["sci_mode"] is None
        raise KeyError
    assert printing.get_printoptions() == {**changed, "sci_mode": True}


def test_refused() -> None:
    with pytest.raises(ValueError, match="edgeitems counts entries and cannot be negative"):
        printing.set_printoptions(edgeitems=-1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'digits'"):
        printing.printoptions(digits=3).__enter__()
    with pytest.raises(TypeError, match="cannot print entries of dtype"):
        printing.format_tensor(numpy.array(["text"]), dtype_name="object")
