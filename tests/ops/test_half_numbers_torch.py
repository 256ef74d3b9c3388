"""Half precision and Python numbers: the step that rounds decides the last bit, so bits count."""

import operator

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

# a whole number of vectors: PyTorch rounds the odd elements at an array's end at other steps
_FIRST = np.random.default_rng(0).normal(size=(5, 64)) * [[1], [3], [9], [50], [400]]
_SECOND = np.random.default_rng(1).permutation(_FIRST.reshape(-1)).reshape(_FIRST.shape)
_NUMBERS = (0.1, -0.3, 0.7, 1.5, -2.3, 3, -1, 0.5, -0.5, 100.3, 1e-8, 1e6)

_WITH_A_NUMBER = {
    **{name: getattr(operator, name) for name in "add sub mul truediv floordiv mod pow".split()},
    **{name: getattr(operator, name) for name in "eq lt ge".split()},
    "radd": lambda x, n: n + x,
    "rsub": lambda x, n: n - x,
    "rtruediv": lambda x, n: n / x,
    "rfloordiv": lambda x, n: n // x,
    "rmod": lambda x, n: n % x,
    "rpow": lambda x, n: n**x,
    "fmod": lambda x, n: x.fmod(n),
    "trunc": lambda x, n: x.div(n, rounding_mode="trunc"),
    "floor": lambda x, n: x.div(n, rounding_mode="floor"),
    "alpha": lambda x, n: x.add(x * 2, alpha=n),
    "in place": lambda x, n: x.clone().sub_(n).remainder_(1.5),
    "xlogy": lambda x, n: x.xlogy(n),
    "clamp": lambda x, n: x.clamp(-1, n),
    "hardshrink": lambda x, n: x.hardshrink(n),
    "logit": lambda x, n: x.sigmoid().logit(n),
    "renorm": lambda x, n: x.renorm(2, 0, abs(n)),
}
_WITH_A_TENSOR = {
    "trunc": lambda x, y: x.div(y, rounding_mode="trunc"),
    "floor": lambda x, y: x // y,
    "floor by one": lambda x, y: x // y[:1, :1],
    "remainder": lambda x, y: x % y,
    "xlogy": lambda x, y: x.xlogy(y.abs()),
}


def _answers(library, operation, dtype, *arguments):
    kind = getattr(library, dtype)
    tensors = [library.tensor(a, dtype=kind) if isinstance(a, list) else a for a in arguments]
    try:
        result = operation(*tensors)
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return str(result.dtype).split(".")[-1], result.double().numpy()


def _same(operation, dtype, *arguments):
    ours = _answers(retrograd, operation, dtype, *arguments)
    theirs = _answers(torch, operation, dtype, *arguments)
    if isinstance(theirs, str):
        assert ours == theirs
        return
    assert ours[0] == theirs[0]
    np.testing.assert_array_equal(ours[1], theirs[1])
    numbers = ~np.isnan(theirs[1])
    np.testing.assert_array_equal(np.signbit(ours[1])[numbers], np.signbit(theirs[1])[numbers])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", _WITH_A_NUMBER)
def test_with_a_number(name, dtype):
    for number in _NUMBERS:
        _same(_WITH_A_NUMBER[name], dtype, _FIRST.tolist(), number)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", _WITH_A_TENSOR)
def test_with_a_tensor(name, dtype):
    _same(_WITH_A_TENSOR[name], dtype, _FIRST.tolist(), _SECOND.tolist())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "int64"])
def test_with_a_tensor_that_is_one_number(kind, dtype):
    for operation in (
        operator.add,
        operator.mul,
        operator.truediv,
        operator.floordiv,
        operator.mod,
    ):
        for number in (0.7, 3.3):

            def apply(x, operation=operation, number=number):
                library = torch if isinstance(x, torch.Tensor) else retrograd
                return operation(x, library.tensor(number).to(getattr(library, kind)))

            _same(apply, dtype, _FIRST.tolist())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_zeros_keep_their_signs(dtype):
    zeros = [0.0, -0.0, 2.0, -2.0, float("-inf")] * 16
    for operation in (
        *(lambda x: x % 2, lambda x: x % -2, lambda x: x.clamp(0, 1), lambda x: x.clamp(-0.0)),
        *(lambda x: x.clamp_min(0), lambda x: x.clamp_max(-0.0), lambda x: x.relu()),
        *(lambda x: x.pow(x[2] / 4), lambda x: x - True),
    ):
        _same(operation, dtype, zeros)
