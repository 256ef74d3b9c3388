"""Operators that meet strangers, two numbers, or the memory that they write."""

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

_STEMS = "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()
_OPERATORS = [f"__{kind}{stem}__" for stem in _STEMS for kind in ("", "r", "i")]


@pytest.mark.parametrize("name", [*_OPERATORS, "__div__", "__rdiv__", "__idiv__", "__matmul__"])
def test_strangers_have_their_turn(name):
    for dtype in ("float32", "int64"):
        for stranger in (object(), "text", None, [1]):
            for library in (torch, retrograd):
                tensor = library.ones(2, dtype=getattr(library, dtype))
                assert getattr(tensor, name)(stranger) is NotImplemented


def test_the_reflected_operator_runs():
    class Stranger:
        def __radd__(self, other):
            return "radd"

        def __rmod__(self, other):
            return "rmod"

    tensor = retrograd.ones(2, requires_grad=True)
    tensor += Stranger()
    other = retrograd.ones(2)
    other %= Stranger()
    assert (tensor, other) == ("radd", "rmod")


def _outcome(library, expression):
    try:
        result = eval(expression, {"torch": library})
    except (RuntimeError, TypeError) as error:
        return type(error).__name__, str(error).splitlines()[0]
    return result.tolist(), str(result.dtype).split(".")[-1]


@pytest.mark.parametrize(
    "expression",
    [
        *("torch.add(True, True)", "torch.add(1, 2.5)", "torch.add(True, 1)", "torch.add(1j, 2)"),
        *("torch.sub(1, 2)", "torch.sub(True, True)", "torch.mul(2, 3.5)", "torch.div(7, 2)"),
        *(
            "torch.div(7, 2, rounding_mode='floor')",
            "torch.floor_divide(7, 2)",
            "torch.add(2, 't')",
        ),
        *("torch.add(2, True, alpha=2)", "torch.divide(2, 3)", "torch.maximum(1, 2)"),
        *("torch.empty(2**62, 2)", "torch.zeros(2**40, 2**40)", "torch.rand(2**62, 4)"),
        "(lambda x: torch.add(x[:-1], x[:-1], out=x[1:]))(torch.arange(6.0))",
        "(lambda x: torch.exp(x[:-1], out=x[1:]))(torch.arange(6.0))",
        "(lambda x: torch.mul(x, 2, out=x))(torch.arange(6.0))",
        "(lambda x: torch.add(1.0, x, out=x.expand(3, 1)))(torch.ones(1))",
        "(lambda x: x[1:].add_(x[:-1]))(torch.arange(6.0))",
        "torch.mode(torch.tensor([1 + 1j])).values",
        "torch.tensor([1 + 1j]).aminmax().min",
        "torch.logaddexp(torch.tensor([complex('inf')]), torch.tensor([complex('inf')]))",
    ],
)
def test_as_in_pytorch(expression):
    assert _outcome(retrograd, expression) == _outcome(torch, expression)


@pytest.mark.parametrize(
    "expression",
    [
        *(f"torch.{f}(torch.arange(4.0), axis=0)" for f in ("cumsum", "cumprod", "unsqueeze")),
        *("torch.ones(2, 3).logsumexp(axis=1)", "torch.cummax(torch.arange(4), axis=0).indices"),
        *("torch.cumsum(torch.ones(2))", "reversed(torch.arange(6).view(3, 2))"),
        "torch.zeros(2, dtype=torch.uint8).index_add(0, torch.tensor([1]), "
        "torch.ones(1, dtype=torch.uint8), alpha=-1)",
    ],
)
def test_other_spellings(expression):
    assert _outcome(retrograd, expression) == _outcome(torch, expression)
