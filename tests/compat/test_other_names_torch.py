"""Every argument by every name that PyTorch takes: its own, and NumPy's (``axis``, ``x1``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd
from retrograd import core
from retrograd.ops.calling.signature_table import OTHER_NAMES, entry
from tests.compat.wrong_calls.functions import Call, Function, evaluate, functions, right_calls

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not core.AVAILABLE, reason="the core asks the signatures"),
]

# what is missing for a reason of its own, whatever the names are; and what has no fixed values
MISSING = """
Tensor.new Tensor.slice_inverse Tensor.to_sparse_bsc Tensor.to_sparse_bsr Tensor.to_sparse_csc
Tensor.to_sparse_csr
""".split()
RANDOM = """
rand bernoulli multinomial dropout normal uniform poisson rrelu cauchy exponential_ geometric
binomial
""".split()
# of matrices that may be singular here, and of memory that nobody wrote
UNSET = "empty resize hash lobpcg svd eig qr pca_lowrank lstsq inv solve slogdet geqrf".split()


def place_of(function: Function) -> str:
    return "Tensor." + function.name if function.is_method else str(function)


def renamed(function: Function, last: bool) -> Iterator[Call]:
    """Right calls with arguments by name, from each place on."""
    known = entry(place_of(function))
    if known is None or not known.overloads:
        return
    seen = set()
    for call in right_calls(function, torch):
        for overload in known.overloads:
            names = [p.name for p in overload.parameters if not p.by_name]
            if len(call.args) > len(names):
                continue
            for start in range(len(call.args)):
                pairs = [*zip(names[start:], call.args[start:], strict=False), *call.options]
                if last:
                    pairs = [(OTHER_NAMES.get(name, (name,))[-1], text) for name, text in pairs]
                made = Call(call.function, call.args[:start], tuple(pairs))
                if str(made) not in seen:
                    seen.add(str(made))
                    yield made


def plain(value: Any) -> Any:
    if isinstance(value, (torch.Tensor, retrograd.Tensor)):
        shown = value.detach()
        if str(shown.layout) != "torch.strided":
            shown = shown.to_dense()
        if str(shown.dtype) == "torch.bfloat16":
            shown = shown.float()
        return np.asarray(shown.resolve_conj() if hasattr(shown, "resolve_conj") else shown)
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in value]
    return value if isinstance(value, (int, float, complex, str, bool, type(None))) else None


def assert_same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    else:
        assert ours == pytest.approx(theirs, nan_ok=True) if theirs is not None else True


@pytest.mark.parametrize("last", [False, True], ids=["own names", "NumPy's names"])
@pytest.mark.parametrize("family", ["torch", "Tensor", "linalg", "fft", "special", "nn.functional"])
def test_arguments_by_name(family, last):
    taken = 0
    wrong = []
    for function in functions():
        if function.family != family or place_of(function) in MISSING:
            continue
        for call in renamed(function, last):
            try:
                theirs = plain(evaluate(str(call), torch))
            except Exception:
                continue  # these names are not for this call
            taken += 1
            try:
                ours = plain(evaluate(str(call), retrograd))
                if not any(word in function.name for word in (*RANDOM, *UNSET)):
                    assert_same(ours, theirs)
            except Exception as error:
                wrong.append((str(call), str(error).strip()[:200]))
    least = {"torch": 800, "Tensor": 500, "nn.functional": 20}.get(family, 20)
    assert taken >= least
    assert not wrong, "\n".join(map(str, wrong))


def test_the_call_is_recorded_once_at_the_line_of_the_program():
    x = retrograd.ones(2, 3).requires_grad_()
    y = retrograd.cumulative_trapezoid(y=x, axis=1)
    assert y.grad_fn.code.co_filename == __file__
    target = retrograd.zeros(2)
    target.add_(x2=retrograd.ones(2))
    assert target.tolist() == [1.0, 1.0] and target._version == 1


@pytest.mark.parametrize(
    "call",
    [
        "t.median(x, axis=5)",
        "t.median(x, axis='x')",
        "t.median(x, axes=0)",
        "t.add(x1=x, x3=x)",
        "t.add(x1=x, x2=[1])",
        "x.broadcast_to(size=(9, 9, 9))",
        "x.mul(x2=t.ones(7))",
    ],
)
def test_errors_are_those_of_the_call(call):
    found = []
    for library in (retrograd, torch):
        with pytest.raises((TypeError, IndexError, RuntimeError)) as caught:
            eval(call, {"t": library, "x": library.ones(2, 3)})
        found.append((caught.type.__name__, str(caught.value).split("\n")[0]))
    assert found[0] == found[1]
