"""Wrong and odd arguments: PyTorch's exceptions, first lines, and the state they leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")


from retrograd.random.continuous import (
    cauchy,
    dirichlet,
    exponential,
    log_normal,
    standard_gamma,
)
from retrograd.random.discrete import (
    bernoulli,
    bernoulli_from_array,
    binomial,
    geometric,
    poisson,
)
from retrograd.random.generator import Generator
from retrograd.random.integers import randint, random_from, random_full
from retrograd.random.layout import fill_
from retrograd.random.multinomial import multinomial
from retrograd.random.normal import normal, normal_from_arrays
from retrograd.random.permutation import randperm
from retrograd.random.uniform import uniform
from tests.random.beside_torch import (
    FULL,
    Pair,
    numpy_dtype,
    to_torch,
    torch_dtype,
)

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:(from|to - 1) is out of bounds:UserWarning"),
]

SEEDS = (0, 1, 42, -1, -12345, 2**31, 2**32 + 7, 2**63, 2**64 - 1)
SIZES = (0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 48, 100, 623, 624, 625, 1000)


def of(dtype: str, count: int = 3) -> tuple[Any, Any]:
    return torch.zeros(count, dtype=torch_dtype(dtype)), numpy_dtype(dtype)


def in_place_errors() -> list[Any]:
    inf, nan = float("inf"), float("nan")
    methods: dict[str, Callable[..., Any]] = {
        "uniform_": lambda g, n, d, *a: uniform(g, n, *a, dtype=d),
        "normal_": lambda g, n, d, *a: normal(g, n, *a, dtype=d),
        "random_": lambda g, n, d, *a: (
            random_full(g, n, d) if not a
            else random_from(g, n, a[0], d) if a[1] is None
            else randint(g, n, *a, d)
        ),
        "bernoulli_": lambda g, n, d, p: bernoulli(g, n, p, d),
        "exponential_": lambda g, n, d, *a: exponential(g, n, *a, dtype=d),
        "geometric_": lambda g, n, d, *a: geometric(g, n, *a, dtype=d),
        "cauchy_": lambda g, n, d, *a: cauchy(g, n, *a, dtype=d),
        "log_normal_": lambda g, n, d, *a: log_normal(g, n, *a, dtype=d),
    }  # fmt: skip
    calls: dict[str, list[tuple[Any, ...]]] = {
        "uniform_": [
            ("float32", 1, 0),
            ("float32", 0, inf),
            ("float32", nan, 1),
            ("int64",),
            ("float32", -3e38, 3e38),
            ("float16", 0, 1e5),
            ("float16", -65504, 65504),
            ("bfloat16", 0, 1e39),
            ("float64", -1e308, 1e308),
            ("bool",),
            ("complex64", 2.5, 1),
        ],
        "normal_": [("float32", 0, -1), ("float32", 0, nan), ("int64",), ("complex64", 0, -1.5)],
        "random_": [
            ("int64", 5, 5),
            ("int64", 5, 3),
            ("int8", 0, 300),
            ("int8", -300, 3),
            ("uint8", -1, 3),
            ("bool", 0, 3),
            ("bool", -1, 1),
            ("float16", 0, 70000),
            ("complex64", 0, 3),
            ("complex64",),
            ("complex64", 5, None),
            ("uint16",),
            ("uint64",),
            ("uint64", 5, None),
            ("int8", 200, None),
            ("bool", 2, None),
            ("int32", -(2**63), None),
            ("float16", -(2**63), None),
            ("bool", -(2**63), None),
            ("uint8", -(2**63), None),
            ("float32", 2**30, None),
            ("float32", 2**24, None),
            ("float16", -65505, 65504),
            ("uint32", 0, 2**40),
            ("uint16", 0, 2**40),
            ("int16", 0, 2**40),
            ("int32", 0, 2**40),
            ("uint64", -(2**63), None),
            ("complex64", -(2**63), None),
            ("uint64", -1, 5),
        ],
        "bernoulli_": [
            ("float32", 1.5),
            ("float32", -0.5),
            ("float32", nan),
            ("complex64", 0.5),
            ("uint16", 0.5),
        ],
        "exponential_": [
            ("float32", 0),
            ("float32", -1),
            ("float32", nan),
            ("int64",),
            ("complex64",),
        ],
        "geometric_": [
            ("float32", 0),
            ("float32", 1),
            ("float32", -1),
            ("float32", nan),
            ("bool", 0.5),
            ("complex64", 0.5),
            ("uint16", 0.5),
        ],
        "cauchy_": [("float32", 0, -1), ("float32", 0, 0), ("int64",), ("complex64",)],
        "log_normal_": [("float32", 0, 0), ("float32", 0, -1), ("int64",), ("complex64",)],
    }
    return [
        pytest.param(name, ours, call[0], call[1:], count, id=f"{name}{call}-{count}")
        for name, ours in methods.items()
        for call in calls[name]
        for count in (0, 3)
    ]


def raised(call: Callable[[], Any]) -> tuple[str, str] | None:
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]
    return None


@pytest.mark.parametrize(("name", "ours", "dtype", "args", "count"), in_place_errors())
def test_in_place_errors(name: str, ours: Any, dtype: str, args: Any, count: int) -> None:
    tensor, pair = torch.zeros(count, dtype=torch_dtype(dtype)), Pair(0)
    expected = raised(lambda: getattr(tensor, name)(*args, generator=pair.torch))
    assert raised(lambda: ours(pair.ours, count, numpy_dtype(dtype), *args)) == expected
    assert expected is not None or count == 0
    pair.in_step("after the error")


def array_errors() -> list[Any]:
    nan, inf = float("nan"), float("inf")
    calls: list[tuple[Any, Any, list[tuple[Any, ...]]]] = [
        (torch.bernoulli, bernoulli_from_array, [([0.1, 1.5],), ([0.1, nan],), ([1, 0],)]),
        (torch.poisson, poisson, [([1.0, 20.0, -1.0],), ([nan],), ([1],), ([1j],)]),
        (torch._standard_gamma, standard_gamma, [([1],), ("float16",), ("bfloat16",)]),
        (torch._sample_dirichlet, dirichlet, [([1, 2],), ("float16",), ("bfloat16",)]),
        (
            torch.multinomial,
            multinomial,
            [
                ([1.0, 1.0], 3),
                ([1.0], 0),
                ([1.0], -1, True),
                ([0.0, 0.0], 1),
                ([0.0, 0.0], 2, True),
                ([-1.0, 2.0], 1),
                ([-1.0, 2.0], 2, True),
                ([nan, 2.0], 2, True),
                ([nan, 2.0], 1, True),
                ([inf, 2.0], 2, True),
                ([inf, 2.0], 1),
                ([1, 2], 1),
                (1.0, 1),
                ([[[1.0]]], 1),
                ([], 1),
                ([], 1, True),
                ([[1.0, 1.0], [0.0, 0.0]], 1),
                ([1j], 1),
                ([[1.0, 1.0], [-1.0, 0.0]], 5, True),
                ([[1.0, 1.0], [0.0, 0.0]], 5, True),
            ],
        ),
        (
            torch.binomial,
            binomial,
            [([5], [0.5]), ("float16", "float16"), ([5.0], "float16")],
        ),
        (
            torch.normal,
            normal_from_arrays,
            [
                ([0.0], -1.0),
                ([0.0, 0.0], [-1.0, 1.0]),
                ([0.0] * 3, [1.0] * 2),
                ([0], [1.0]),
                ([0], 1.0),
                (0.0, [1]),
                (0.0, [1j]),
                ([[0.0], [0.0]], [[1.0] * 3] * 3),
            ],
        ),
    ]
    return [
        pytest.param(theirs, ours, call, id=f"{ours.__name__}{call}")
        for theirs, ours, inputs in calls
        for call in inputs
    ]


def as_array(value: Any) -> Any:
    if isinstance(value, str):
        return np.ones(1, numpy_dtype(value))
    array = np.array(value)
    return array.astype({"f": np.float32, "c": np.complex64}.get(array.dtype.kind, array.dtype))


@pytest.mark.parametrize(("theirs", "ours", "args"), array_errors())
def test_array_errors(theirs: Any, ours: Any, args: Any) -> None:
    pair = Pair(0)
    numbers = 1 if ours is not multinomial else None
    arrays = [
        a if (ours is multinomial and i) or (numbers and isinstance(a, float)) else as_array(a)
        for i, a in enumerate(args)
    ]
    tensors = [to_torch(a) if isinstance(a, np.ndarray) else a for a in arrays]
    expected = raised(lambda: theirs(*tensors, generator=pair.torch))
    assert expected is not None
    assert raised(lambda: ours(pair.ours, *arrays)) == expected
    pair.in_step("after the error")


@pytest.mark.parametrize(
    ("count", "dtype"),
    [
        (-1, "int64"),
        (300, "int8"),
        (129, "int8"),
        (257, "uint8"),
        (5, "bool"),
        (2050, "float16"),
        (5, "complex64"),
        (5, "uint16"),
        (32769, "int16"),
    ],
)
def test_randperm_errors(count: int, dtype: str) -> None:
    expected = raised(lambda: torch.randperm(count, dtype=torch_dtype(dtype)))
    assert expected is not None
    assert raised(lambda: randperm(Generator(), count, numpy_dtype(dtype))) == expected


@pytest.mark.parametrize(("count", "dtype"), [(128, "int8"), (256, "uint8"), (2049, "float16")])
def test_randperm_limits(count: int, dtype: str) -> None:
    pair = Pair(0)
    theirs = torch.randperm(count, dtype=torch_dtype(dtype), generator=pair.torch)
    pair.check(theirs, randperm(pair.ours, count, numpy_dtype(dtype)), "limit")


SEED_ERRORS = (2**64, -(2**63) - 1, 1.5, True, np.int64(5), "a", None)


@pytest.mark.parametrize("seed", SEED_ERRORS, ids=repr)
def test_seed_errors(seed: Any) -> None:
    expected = raised(lambda: torch.Generator().manual_seed(seed))
    assert expected is not None
    assert raised(lambda: Generator().manual_seed(seed)) == expected


def test_state_errors() -> None:
    good = Generator().get_state_array()
    bad = [good[:10], good.astype(np.float32), np.zeros(5056, np.uint8), np.repeat(good, 2)[::2]]
    for state in bad:
        expected = raised(lambda state=state: torch.Generator().set_state(torch.from_numpy(state)))
        assert expected is not None
        assert raised(lambda state=state: Generator().set_state_array(state)) == expected


@pytest.mark.filterwarnings("default:(from|to - 1) is out of bounds:UserWarning")
@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("float32", 0, 2**24 + 5),
        ("float32", 0, 2**24 + 1),
        ("float32", -(2**24) - 5, 2**24 + 5),
        ("float16", -65504, 65504),
        ("bfloat16", 0, 3000),
        ("float64", 0, 2**60),
        ("float32", -(2**24) - 1, None),
        ("float32", 0, 2**63 - 1),
        ("float16", 2049, 2050),
    ],
)
def test_warnings(dtype: str, low: int, high: int | None, recwarn: Any) -> None:
    pair = Pair(0)
    theirs = torch.zeros(5, dtype=torch_dtype(dtype)).random_(low, high, generator=pair.torch)
    expected = [str(w.message).split(" (Triggered")[0] for w in recwarn]
    recwarn.clear()
    kind = numpy_dtype(dtype)
    if high is None:
        ours = random_from(pair.ours, 5, low, kind)
    else:
        ours = randint(pair.ours, 5, low, high, kind)
    assert [str(w.message) for w in recwarn] == expected
    pair.check(theirs, ours, "with a warning")


def test_overlapping_target() -> None:
    expected = raised(lambda: torch.zeros(3, 1).expand(3, 4).uniform_())
    target = np.broadcast_to(np.zeros((3, 1)), (3, 4))
    assert raised(lambda: fill_(target, np.zeros(12))) == expected


def test_odd_parameters() -> None:
    """NaN, infinite and negative parameters where PyTorch answers instead of refusing."""
    pair, inf, nan = Pair(1), float("inf"), float("nan")
    for dtype in FULL:
        for values in ([-1.0, 0.0, 1.0], [nan, 2.0], [-1e-3, 0.5], [-0.5, -2.0]):
            alpha = np.array(values, dtype)
            theirs = torch._standard_gamma(to_torch(alpha), generator=pair.torch)
            pair.check(theirs, standard_gamma(pair.ours, alpha), f"gamma {values}")
        rate = np.array([inf, 3.0, 1e25, 0.0], dtype)
        pair.check(
            torch.poisson(to_torch(rate), generator=pair.torch),
            poisson(pair.ours, rate),
            "poisson",
        )
        trials = np.array([-1, 1.5, 5, 5, 5, 0, inf, 1000], dtype)
        chance = np.array([0.5, 0.5, 1.5, nan, -0.5, 0.5, 0.5, 0.3], dtype)
        theirs = torch.binomial(to_torch(trials), to_torch(chance), generator=pair.torch)
        pair.check(theirs, binomial(pair.ours, trials, chance), "binomial")
        zero = np.zeros((2, 2), dtype)
        theirs = torch._sample_dirichlet(to_torch(zero), generator=pair.torch)
        pair.check(theirs, dirichlet(pair.ours, zero), "dirichlet")
        one = np.array(1.0, dtype)
        theirs = torch._sample_dirichlet(to_torch(one), generator=pair.torch)
        pair.check(theirs, dirichlet(pair.ours, one), "dirichlet of a number")
