"""Errors of vmap, torch.func, forward mode, gradcheck, checkpoints and saved-tensor hooks.

Each program fails in both libraries with the same type and first line, and here with its code, its
cause and the line that is to blame.
"""

from __future__ import annotations

import importlib
import pickle
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from retrograd.autograd.checking.hints import likely_mistake
from retrograd.diagnostics.catalogue import catalogue, find
from retrograd.diagnostics.errors import RetrogradError, RetrogradWarning, TransformError


class Program(NamedTuple):
    """Lines that fail; the line to blame is the last one unless `blamed` says another."""

    code: str
    reason: str | None
    source: str
    blamed: str | None = None

    @property
    def line(self) -> str:
        return self.blamed or self.source.strip().splitlines()[-1].strip()


START = """\
import retrograd as torch
import retrograd.autograd.forward_ad as fwAD
from retrograd.autograd import functional, gradcheck
from retrograd.autograd.graph import allow_mutation_on_saved_tensors, get_gradient_edge
from retrograd.autograd.graph import saved_tensors_hooks
from retrograd.func import grad, jacrev, jvp, linearize, vjp
from retrograd.func import vmap
from retrograd.utils.checkpoint import checkpoint

x = torch.ones(3)
b = torch.ones(4, 3)
w = torch.ones(3, requires_grad=True)
d = torch.rand(2, dtype=torch.float64, requires_grad=True)

"""

FUNCTION = """\
class Same(torch.autograd.Function):
    @staticmethod
    def forward({forward}):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        {backward}

"""
GOOD = FUNCTION.format(forward="x", backward="return gradient")
OLD = GOOD.replace("def forward(x)", "def forward(ctx, x)").replace(
    "    @staticmethod\n    def setup_context(ctx, inputs, output):\n        pass\n\n", ""
)

PROGRAMS = [
    Program("RG601", "control-flow", "vmap(lambda v: v if v.sum() > 0 else -v)(b)"),
    Program("RG601", "control-flow", "vmap(lambda v: bool(v.sum()))(b)"),
    Program("RG601", "item", "vmap(lambda v: v * v[0].item())(b)"),
    Program("RG601", "item", "vmap(lambda v: v * float(v[0]))(b)"),
    Program("RG601", "memory", "vmap(lambda v: torch.tensor(v.tolist()))(b)"),
    Program("RG601", "memory", "vmap(lambda v: v.data)(b)"),
    Program("RG601", "dynamic-shape", "vmap(lambda v: v.nonzero())(b)"),
    Program("RG601", "dynamic-shape", "vmap(lambda v: torch.masked_select(v, v > 0))(b)"),
    Program("RG602", "not-chosen", "vmap(lambda v: v + torch.rand(3))(b)"),
    Program("RG602", "not-chosen", "vmap(torch.sin, randomness='all')(b)"),
    Program("RG602", "same", "vmap(lambda v: torch.bernoulli(v), randomness='same')(b)"),
    Program("RG602", "room", "vmap(lambda v: torch.zeros(3).normal_(), randomness='different')(b)"),
    Program("RG603", None, "vmap(lambda v: torch.zeros(3).copy_(v))(b)"),
    Program("RG603", None, "vmap(lambda v: torch.zeros(3).fill_(v[0]))(b)"),
    Program("RG604", "sizes", "vmap(torch.dot)(torch.ones(2, 3), b)"),
    Program("RG604", "sizes", "vmap(torch.sin, in_dims=(None,))(b)"),
    Program("RG604", "sizes", "vmap(torch.sin, chunk_size=0)(b)"),
    Program("RG604", "in-dims", "vmap(torch.sin)()"),
    Program("RG604", "in-dims", "vmap(torch.sin, in_dims=[0])(b)"),
    Program("RG604", "in-dims", "vmap(torch.dot, in_dims=(0,))(b, b)"),
    Program("RG604", "in-dims", "vmap(torch.sin, in_dims=(0.5,))(b)"),
    Program("RG604", "in-dims", "vmap(torch.mul)(b, 2)"),
    Program("RG604", "in-dims", "vmap(torch.sin, in_dims=2)(b)"),
    Program("RG604", "out-dims", "vmap(torch.sin, out_dims='0')(b)"),
    Program("RG604", "out-dims", "vmap(torch.sin, out_dims=(0, 0))(b)"),
    Program("RG604", "out-dims", "vmap(torch.sin, out_dims=None)(b)"),
    Program("RG604", "out-dims", "vmap(lambda v: 2)(b)"),
    Program("RG605", None, "kept = []\nvmap(lambda v: [kept.append(v), v][1])(b)\nkept[0].sin()"),
    Program("RG606", "not-scalar", "grad(torch.sin)(x)"),
    Program("RG606", "not-scalar", "functional.hessian(torch.sin, x)"),
    Program("RG606", "not-a-tensor", "grad(lambda v: v.sum().item())(x)"),
    Program("RG606", "not-a-tensor", "vjp(lambda v: (v, 2), x)"),
    Program("RG606", "not-a-tensor", "vjp(lambda v: None, x)"),
    Program("RG606", "aux", "grad(torch.sum, has_aux=True)(x)"),
    Program("RG606", "dtype", "vjp(lambda v: v.argmax(), x)"),
    Program("RG606", "dtype", "jacrev(torch.sin)(torch.ones(2, dtype=torch.complex64))"),
    Program("RG607", "structure", "vjp(torch.sin, x)[1]((x,))"),
    Program("RG607", "structure", "jvp(torch.sin, (x,), (x, x))"),
    Program("RG607", "structure", "jvp(torch.sin, x, x)"),
    Program("RG607", "structure", "jvp(torch.mul, (x, 2.0), (x, 2.0))"),
    Program("RG607", "structure", "linearize(torch.sin, x)[1](x, x)"),
    Program("RG607", "structure", "functional.vjp(torch.sin, x, (x, x))"),
    Program("RG607", "structure", "functional.jacobian(torch.sin, [x])"),
    Program("RG607", "fit", "linearize(torch.sin, x)[1](b)"),
    Program("RG607", "fit", "jvp(torch.sin, (x,), (b,))"),
    Program("RG607", "fit", "jvp(torch.sin, (torch.arange(3),), (x,))"),
    Program("RG607", "fit", "functional.vjp(torch.sin, x, b)"),
    Program("RG607", "fit", "functional.vjp(torch.sin, x)"),
    Program("RG607", "argnums", "grad(torch.dot, argnums=2)(x, x)"),
    Program("RG607", "argnums", "grad(torch.dot, argnums=[0])(x, x)"),
    Program("RG607", "argnums", "grad(torch.mul, argnums=1)(x[0], 2.0)"),
    Program(
        "RG608",
        "captured",
        "def f(v):\n    x.add_(v)\n    return v.sum()\ngrad(f)(torch.ones(3))",
        "x.add_(v)",
    ),
    Program("RG609", "backward", "grad(lambda v: v.sum().backward())(x)"),
    Program("RG609", "flag", "grad(lambda v: v.requires_grad_().sum())(x)"),
    Program("RG609", "flag", "grad(lambda v: (v * v).retain_grad())(x)"),
    Program(
        "RG609",
        "hooks",
        "grad(lambda v: checkpoint(torch.sin, v, use_reentrant=False).sum())(x)",
    ),
    Program("RG610", "setup-context", OLD + "grad(lambda v: Same.apply(v).sum())(x)"),
    Program("RG610", "vmap", GOOD + "vmap(Same.apply)(b)"),
    Program(
        "RG610",
        "vmap",
        GOOD + "Same.vmap = staticmethod(lambda info, dims, v: (v, 0, 0))\nvmap(Same.apply)(b)",
    ),
    Program("RG611", "no-level", "fwAD.make_dual(x, x)"),
    Program("RG611", "nested", "fwAD.enter_dual_level()\nfwAD.enter_dual_level()"),
    Program(
        "RG611", "nested", "with fwAD.dual_level():\n    fwAD.make_dual(fwAD.make_dual(x, x), x)"
    ),
    Program("RG612", "out", "jvp(lambda v: torch.sin(v, out=x), (torch.ones(3),), (x,))"),
    Program("RG613", "first", "functional.jacobian(lambda v: v.detach(), x, strict=True)"),
    Program("RG613", "first", "functional.jacobian(lambda u, v: u * 2, (x, x), strict=True)"),
    Program("RG613", "second", "functional.hessian(lambda v: v.sum(), x, strict=True)"),
    Program("RG613", "second", "functional.hvp(lambda v: v.sum(), x, x, strict=True)"),
    Program(
        "RG613",
        "combination",
        "functional.jacobian(torch.sin, x, strict=True, vectorize=True)",
    ),
    Program(
        "RG614",
        "mismatch",
        FUNCTION.format(forward="x", backward="return -gradient") + "gradcheck(Same.apply, d)",
    ),
    Program(
        "RG614",
        "mismatch",
        "gradcheck(lambda v: v.detach() * 2, d)",
    ),
    Program(
        "RG614",
        "not-reproducible",
        FUNCTION.format(forward="x", backward="return gradient + 1e-9 * torch.rand_like(gradient)")
        + "gradcheck(Same.apply, d)",
    ),
    Program("RG615", "no-gradient", "gradcheck(torch.sin, d.detach())"),
    Program("RG615", "overlap", "gradcheck(torch.sin, d[:1].detach().expand(2).requires_grad_())"),
    Program("RG615", "options", "gradcheck(torch.sin, d, check_backward_ad=False)"),
    Program(
        "RG616",
        "chosen-inputs",
        "torch.autograd.grad(checkpoint(torch.sin, w, use_reentrant=True).sum(), w)",
    ),
    Program("RG616", "options", "checkpoint(torch.sin, w, use_reentrant=True, debug=True)"),
    Program(
        "RG616",
        "options",
        "checkpoint(torch.sin, w, use_reentrant=False, determinism_check='all')",
    ),
    Program(
        "RG617",
        "pack",
        "with saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):\n    torch.exp(w)",
    ),
    Program(
        "RG617",
        "unpack",
        "with saved_tensors_hooks(lambda t: t, lambda t: 2):\n    y = w * w\ny.sum().backward()",
    ),
    Program(
        "RG617",
        "time",
        "f = lambda t: t\nn = w.sin().grad_fn\nn._raw_saved_self.register_hooks(f, f)\n"
        "n._raw_saved_self.register_hooks(f, f)",
    ),
    Program(
        "RG617",
        "mutation",
        "with allow_mutation_on_saved_tensors(), allow_mutation_on_saved_tensors():\n    pass",
        "with allow_mutation_on_saved_tensors(), allow_mutation_on_saved_tensors():",
    ),
    Program(
        "RG617",
        "mutation",
        "with allow_mutation_on_saved_tensors():\n    y = w * w\ny.sum().backward()",
    ),
    Program("RG618", "no-edge", "get_gradient_edge(x)"),
    Program(
        "RG618",
        "tensor-needed",
        "torch.autograd.grad(d.sum(), get_gradient_edge(w), materialize_grads=True)",
    ),
    Program("RG618", "tensor-needed", "torch.autograd.grad(w.sum(), [2])"),
]
NAMES = [f"{program.code}-{program.line}" for program in PROGRAMS]


@pytest.fixture(autouse=True)
def no_level_left() -> Any:
    """A program that fails inside of a dual level leaves it behind."""
    yield
    for name in ("retrograd", "torch"):
        try:
            module = importlib.import_module(f"{name}.autograd.forward_ad")
        except ImportError:
            continue
        while module._current_level >= 0:
            module.exit_dual_level()


@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
def test_code_cause_and_line(program: Program, fail: Callable[[str], Any]) -> None:
    failure = fail(START + program.source + "\n")
    error = failure.error
    assert (error.code, error.reason) == (program.code, program.reason)
    assert isinstance(error, TransformError)
    blamed = [span for span in failure.report.spans if span.primary]
    lines = failure.source.splitlines()
    assert [lines[span.place.line - 1].strip() for span in blamed] == [program.line]
    assert failure.report.fixes
    assert not any("{" in item.text for item in failure.report.fixes)
    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is type(error) and twin.code == error.code and str(twin) == str(error)


def said(source: str, library: str) -> tuple[str, str]:
    """The type and the first line of the error that a program ends with."""
    text = START.replace("retrograd", library) + source
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(text, "program.py", "exec"), {"__name__": "__main__"})
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0]
    raise AssertionError(f"{library} ran it without an error")


@pytest.mark.torch
@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
def test_pytorch_says_the_same(program: Program) -> None:
    pytest.importorskip("torch")
    ours, theirs = (said(program.source, library) for library in ("retrograd", "torch"))
    assert ours == theirs


def test_every_code_and_cause_is_met() -> None:
    """Causes that need an operation without a rule, or a warning, are not in the list above."""
    elsewhere = {
        ("RG608", "view"),
        ("RG612", "no-formula"),
        ("RG614", "undefined-gradients"),
        ("RG614", "kind"),
        ("RG614", "batched"),
        ("RG615", "precision"),
        ("RG615", "unsteady"),
        ("RG616", "no-gradient"),
        ("RG616", "not-chosen"),
    }
    met = {(program.code, program.reason) for program in PROGRAMS}
    known = {
        (code, reason)
        for code, entry in catalogue().items()
        if code.startswith("RG6")
        for reason in entry.reasons or (None,)
    }
    assert met | elsewhere == known and not met & elsewhere


@pytest.mark.parametrize(
    ("code", "reason", "source"),
    [
        ("RG615", "precision", "gradcheck(torch.sin, w, eps=1e-2, atol=1e-2)"),
        ("RG616", "not-chosen", "checkpoint(torch.sin, w)"),
        ("RG616", "no-gradient", "checkpoint(torch.sin, x, use_reentrant=True)"),
    ],
)
def test_warnings(code: str, reason: str, source: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile(START + source, "program.py", "exec"), {"__name__": "__main__"})
    (warning,) = caught
    message = warning.message
    assert isinstance(message, RetrogradWarning) and warning.category.__name__ == "UserWarning"
    assert message.code == code and message.report is not None
    assert (message.report.cause, message.report.level) == (reason, "warning")


def test_gradcheck_error_is_one() -> None:
    import retrograd as torch
    from retrograd.autograd.gradcheck import GradcheckError

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(GradcheckError) as caught:
        torch.autograd.gradcheck(lambda v: (v * 2).detach() + v, (x,))
    error = caught.value
    assert isinstance(error, RetrogradError) and type(error).__name__ == "GradcheckError"
    assert error.fix is not None and "0.333 times" in error.fix.text
    assert not torch.autograd.gradcheck(lambda v: v.detach() + 2 * v, x, raise_exception=False)


TABLE = np.array([[1.0, 2.0, 0.5], [3.0, -1.0, 0.0], [0.0, 4.0, 2.0]])
KINK = TABLE + np.array([[0, 0, 0], [0, 0.5, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("analytical", "numerical", "words"),
    [
        (0 * TABLE, TABLE, "zero everywhere"),
        (TABLE, 0 * TABLE, "does not move"),
        (-TABLE, TABLE, "opposite sign"),
        (0.5 * TABLE, TABLE, "0.5 times"),
        (TABLE.T, TABLE, "transposed"),
        (TABLE * (1 - 2j), TABLE * (1 + 2j), "conjugate"),
        (KINK, TABLE, "only 1 of 9 entries differ, the first at element 1 of the input and 1 of"),
    ],
)
def test_what_a_wrong_jacobian_looks_like(analytical: Any, numerical: Any, words: str) -> None:
    looks = likely_mistake(analytical, numerical)
    assert looks is not None and words in looks


def test_no_guess_without_a_pattern() -> None:
    assert likely_mistake(TABLE**2 + 1, TABLE) is None
    assert likely_mistake(TABLE * np.nan, TABLE) is None
    assert likely_mistake(np.zeros((0, 3)), np.zeros((0, 3))) is None


def test_other_messages_stay_unknown() -> None:
    assert find("vmap: something else") is None
    assert find("jacrev: something else") is None
