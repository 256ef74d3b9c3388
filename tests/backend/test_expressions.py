"""Every elementwise op is traced, or is listed here with the reason why not.

The samples of all ops and their derivatives run on the stand-in device of `tests/strict`, where
each call of an elementwise kernel is traced too: the expression must give what the kernel gives.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd
from retrograd import dtypes
from retrograd.backend.device import KERNELS, forget, register
from retrograd.backend.expressions import Operand, Untraceable, trace
from retrograd.ops.registry import OPS
from tests.ops.compare import build, cases, cotangent, flatten, function_of, is_tensor
from tests.strict.arrays import Library, StrictArray, StrictBackend, bare

ELEMENTWISE = {name for name, op in OPS.items() if op.elementwise}

REASONS = {
    "complex numbers, whose parts are views": "_make_complex polar",
    "reads the imaginary part": "isreal",
    "as many steps as the largest degree": """
        chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
        shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
        shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w
        hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p
    """,
    "sums over a second dimension, of a table or a rule of integration": """
        airy_ai modified_bessel_k0 modified_bessel_k1 mvlgamma
        scaled_modified_bessel_k0 scaled_modified_bessel_k1
    """,
    "goes on until nothing changes any more": "digamma lgamma igamma igammac",
    "two results of one function": "frexp",
}
NOT_TRACED = {name for names in REASONS.values() for name in names.split()}

# their rules call one of these, or are of complex numbers
RULES_NOT_TRACED = set(
    "_make_complex _pow_tensor frexp igamma igammac lgamma mvlgamma polar sgn".split()
)
# what no sample calls: names, further arguments
OTHERS = {"_zero": (), "_refuse_second_order": (("a", "b"),), "_fill_number_in_place": (2.5,),
          "_threshold_in_place": (0.5, 20.0), "_pow_number": (3.5,)}  # fmt: skip


class Watched(StrictBackend):
    """The stand-in device; says of each elementwise kernel what became of its trace."""

    def __init__(self):
        super().__init__("privateuseone", StrictArray, Library("strict", np))
        self.traced, self.refused, self.wrong = set(), {}, []
        for name in ELEMENTWISE:
            self.override(name)(self.watched(name, KERNELS[name][0]))
        self.fused = lambda name, rule: self.watched(f"rule of {name}", rule, rule)

    def watched(self, name, function, rule=None):
        def kernel(xp, *args, **options):
            arrays = [bare(a).copy() for a in [*args, *options.values()] if is_held(a)]
            result = function(xp, *args, **options)
            try:
                self.compare(name, arrays, args, options, flatten(result), rule)
            except Untraceable as reason:
                self.refused[name] = str(reason)
            except Exception as error:
                self.wrong.append((name, args, options, repr(error)))
            return result

        return kernel

    def compare(self, name, arrays, args, options, results, rule):
        keywords = {key: _operand(value) for key, value in options.items()}
        expression = trace(name, [_operand(value) for value in args], keywords, rule)
        for found, wanted in zip(expression.evaluate(arrays), results, strict=True):
            wanted = bare(wanted) if is_held(wanted) else np.asarray(wanted)
            assert found.shape == wanted.shape and found.dtype == wanted.dtype
            _close(found, wanted)
        self.traced.add(name)


def is_held(value):
    return isinstance(value, StrictArray)


def _operand(value):
    return Operand(value.dtype) if is_held(value) else value


def _close(found, wanted):
    if wanted.dtype.kind in "biu":
        np.testing.assert_array_equal(found, wanted)
        return
    wide = complex if wanted.dtype.kind == "c" else float
    loose = 4 * float(dtypes.finfo(dtypes.from_numpy_dtype(wanted.dtype)).eps)
    np.testing.assert_allclose(found.astype(wide), wanted.astype(wide), loose, loose)


@pytest.fixture(scope="module")
def calls():
    device = register(Watched())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, sample in cases():
            for dtype in {"float32", "float64"} & set(sample.dtypes) or sample.dtypes[-1:]:
                if sample.error is None:
                    _run(name, sample, dtype)
        for name, options in OTHERS.items():
            device.kernel(name)(device.xp, device.from_numpy(np.linspace(0.1, 2, 7)), *options)
    yield device
    forget(device)


def _moved(value):
    if is_tensor(value):
        return value.detach().to("privateuseone").requires_grad_(value.requires_grad)
    return type(value)(map(_moved, value)) if isinstance(value, (list, tuple)) else value


def _run(name, sample, dtype):
    args, kwargs, _ = build(sample, retrograd, dtype, False, sample.grad)
    args, kwargs = _moved(args), {key: _moved(value) for key, value in kwargs.items()}
    leaves = [x for x in flatten([*args, *kwargs.values()]) if is_tensor(x) and x.requires_grad]
    try:
        results = flatten(function_of(name, retrograd)(*args, **kwargs))
        outputs = [r for r in results if is_tensor(r) and r.requires_grad]
        starts = [_moved(cotangent(r, retrograd, i)) for i, r in enumerate(outputs)]
        if outputs and leaves:
            retrograd.autograd.grad(outputs, leaves, starts, allow_unused=True)
    except Exception:
        return  # bad arguments, and what makes its results on the CPU: other tests compare these


def test_every_elementwise_op(calls):
    assert calls.wrong == []
    assert {name for name in calls.traced if name in OPS} == ELEMENTWISE - NOT_TRACED
    assert NOT_TRACED <= calls.refused.keys()


def test_derivative_rules(calls):
    """What a rule computes is one expression, or the reason is that of an op which it calls."""
    refused = {name.removeprefix("rule of "): reason for name, reason in calls.refused.items()
               if name.startswith("rule of ")}  # fmt: skip
    assert len([name for name in calls.traced if name.startswith("rule of ")]) > 80
    assert set(refused) == RULES_NOT_TRACED


def test_text():
    assert str(trace("_tanh_gradient", [Operand(dtypes.F32)] * 2, {})) == (
        "%2 = multiply(%1, %1) float32\n"
        "%3 = subtract(1.0, %2) float32\n"
        "%4 = multiply(%3, %0) float32"
    )
