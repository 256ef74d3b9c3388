"""Activation layers beside PyTorch's."""

from __future__ import annotations

import pytest

from tests.nn.beside import case, compare, same_error

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

S = (3, 4)
IN_PLACE = {"inplace": True}
CASES = [
    *(
        case(name, inputs=S)
        for name in (
            "ReLU", "RReLU", "Hardtanh", "ReLU6", "Sigmoid", "Hardsigmoid", "Tanh", "SiLU", "Mish",
            "Hardswish", "ELU", "CELU", "SELU", "GLU", "GELU", "Hardshrink", "LeakyReLU",
            "LogSigmoid", "Softplus", "Softshrink", "PReLU", "Softsign", "Tanhshrink",
        )
    ),
    *(case(name, 1, inputs=S) for name in ("Softmin", "Softmax", "LogSoftmax")),
    *(case(name, dim=-2, inputs=(2, 3, 2)) for name in ("Softmin", "Softmax", "LogSoftmax")),
    case("ReLU", True, inputs=S),
    case("ReLU6", **IN_PLACE, inputs=S),
    case("SiLU", **IN_PLACE, inputs=S),
    case("Hardsigmoid", **IN_PLACE, inputs=S),
    case("Hardswish", **IN_PLACE, inputs=S),
    case("Mish", **IN_PLACE, inputs=S),
    case("SELU", **IN_PLACE, inputs=S),
    case("Threshold", 0.1, 20, inputs=S),
    case("Threshold", 0.1, 2.5, **IN_PLACE, inputs=S),
    case("RReLU", 0.1, 0.3, inputs=S),
    case("RReLU", 0.1, 0.3, **IN_PLACE, inputs=S),
    case("Hardtanh", -0.5, 2, inputs=S),
    case("Hardtanh", -0.5, 2, True, inputs=S),
    case("ELU", 0.5, inputs=S),
    case("ELU", 0.5, True, inputs=S),
    case("CELU", 2.0, inputs=S),
    case("CELU", 2.0, True, inputs=S),
    case("GLU", 0, inputs=(4, 3)),
    case("GELU", "tanh", inputs=S),
    case("Hardshrink", 0.25, inputs=S),
    case("LeakyReLU", 0.2, inputs=S),
    case("LeakyReLU", 0.2, True, inputs=S),
    case("Softplus", 2, 1.5, inputs=S),
    case("Softshrink", 1, inputs=S),
    case("PReLU", 4, 0.1, inputs=(3, 4, 2)),
    case("Softmax2d", inputs=(2, 3, 2, 2)),
    case("Softmax2d", inputs=(3, 2, 2)),
]  # fmt: skip


@pytest.mark.parametrize("chosen", CASES, ids=str)
def test_layer(chosen):
    # PyTorch has no second derivative of hardsigmoid.
    compare(torch, chosen, second=chosen.name != "Hardsigmoid")


ERRORS = {
    "Softmax2d of a matrix": lambda t: t.nn.Softmax2d()(t.ones(2, 2)),
    "Hardtanh bounds": lambda t: t.nn.Hardtanh(1.0, -1.0),
    "Sigmoid argument": lambda t: t.nn.Sigmoid(3),
    "GELU formula": lambda t: t.nn.GELU("other")(t.ones(2)),
    "PReLU channels": lambda t: t.nn.PReLU(3)(t.ones(2, 2)),
    "GLU odd": lambda t: t.nn.GLU()(t.ones(3)),
    "in place on a leaf": lambda t: t.nn.ReLU(True)(t.ones(3, requires_grad=True)),
}


@pytest.mark.parametrize("build", ERRORS.values(), ids=ERRORS)
def test_errors(build):
    same_error(torch, build)
