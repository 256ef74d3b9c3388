"""Values recorded from PyTorch 2.13: the numbers hold where it is not installed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

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
from retrograd.random.multinomial import multinomial
from retrograd.random.normal import normal, normal_from_arrays
from retrograd.random.permutation import randperm
from retrograd.random.uniform import uniform

# Seed, call, values. The decimals are the shortest that name the number in its dtype.
RECORDED: list[tuple[int, Callable[[Generator], Any], list[Any]]] = [
    (42, lambda g: uniform(g, 4), [0.88226926, 0.91500396, 0.38286376, 0.95930564]),
    (42, lambda g: uniform(g, 4, -0.3, 0.9), [0.75872314, 0.7980048, 0.15943652, 0.8511668]),
    (
        42,
        lambda g: uniform(g, 3, dtype=np.float64),
        [0.05815448596142969, 0.06291016742457756, 0.12358607277440903],
    ),
    (
        42,
        lambda g: uniform(g, 3, -0.3, 0.9, np.float64),
        [-0.23021461684628436, -0.22450779909050692, -0.15169671267070917],
    ),
    (42, lambda g: uniform(g, 3, dtype=np.float16), [0.8823, 0.915, 0.3828]),
    (42, lambda g: uniform(g, 3, dtype=bfloat16), [0.8828125, 0.9140625, 0.3828125]),
    (42, lambda g: normal(g, 3), [0.33669037, 0.1288094, 0.23446237]),
    (
        42,
        lambda g: normal(g, 16),
        [
            1.9269153,
            1.4872841,
            0.9007172,
            -2.105521,
            0.67841846,
            -1.2345449,
            -0.043067478,
            -1.604667,
            -0.7521353,
            1.648723,
            -0.39247864,
            -1.4036071,
            -0.7278813,
            -0.5594302,
            -0.7688389,
            0.7624454,
        ],
    ),
    (
        7,
        lambda g: normal(g, 19, 0.1, 0.7),
        [
            -0.47409415,
            0.3769418,
            0.72923595,
            -0.13100821,
            0.23891154,
            0.64745086,
            0.82737535,
            -0.4071575,
            -0.49423602,
            -0.7518506,
            0.043284893,
            -0.14166936,
            -1.3430345,
            0.5718705,
            -0.82634205,
            -0.8518383,
            -0.5066911,
            -0.29480466,
            -1.3395238,
        ],
    ),
    (
        7,
        lambda g: normal(g, 17, dtype=np.float64),
        [
            0.06626753966449943,
            -0.29104147095938915,
            0.45801695358702993,
            1.6932749764073567,
            1.457454937932726,
            1.932214860010293,
            -1.4418139927522924,
            0.7277603478716976,
            -1.3131496578292892,
            -2.42925190670235,
            -0.15213162349367035,
            -2.6909171061771864,
            1.7421050311620636,
            -0.523961020712386,
            -0.28387899021947915,
            0.45257550210102954,
            -1.6677291342328766,
        ],
    ),
    (
        7,
        lambda g: normal(g, 17, dtype=bfloat16),
        [
            -0.8203125,
            -1.5859375,
            -0.32421875,
            1.9296875,
            -0.33007812,
            0.19824219,
            0.78125,
            1.0390625,
            -0.72265625,
            -0.20898438,
            -0.21582031,
            -1.8125,
            -0.34570312,
            -2.0625,
            0.67578125,
            -1.3203125,
            -1.359375,
        ],
    ),
    (
        7,
        lambda g: normal(g, 16, contiguous=False),
        [
            -0.1467951,
            0.7861413,
            0.94682163,
            -1.114344,
            1.6907902,
            -0.8948279,
            -0.35562503,
            1.2323858,
            0.13817266,
            -1.6821985,
            0.3176783,
            0.13280697,
            0.1373241,
            0.24054612,
            1.3954508,
            1.3470227,
        ],
    ),
    (
        7,
        lambda g: normal(g, 2, dtype=np.complex64).view(np.float32),
        [-0.10379981, 0.55588585, 0.669504, -0.78796023],
    ),
    (42, lambda g: randint(g, 6, 0, 10), [2, 7, 6, 4, 6, 5]),
    (42, lambda g: randint(g, 3, -5, 2**40), [441476371554, 395845085946, 458553876606]),
    (42, lambda g: random_full(g, 4, np.uint8), [102, 179, 92, 14]),
    (42, lambda g: random_full(g, 2, np.int64), [6909045637428952499, 8314211556539077902]),
    (42, lambda g: random_from(g, 3, 100, np.int8), [122, 123, 104]),
    (42, lambda g: randperm(g, 10), [2, 6, 1, 8, 4, 5, 0, 9, 3, 7]),
    (42, lambda g: bernoulli(g, 8, 0.3), [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
    (
        42,
        lambda g: bernoulli_from_array(g, np.full(8, 0.3, np.float32)),
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    ),
    (42, lambda g: geometric(g, 6, 0.2, np.int64), [13, 13, 10, 14, 3, 4]),
    (
        42,
        lambda g: poisson(g, np.array([0.5, 3.0, 9.9, 50.0, 1e6])),
        [0.0, 1.0, 7.0, 47.0, 1001297.0],
    ),
    (
        42,
        lambda g: binomial(g, np.array([10.0, 100.0, 1e5]), np.array([0.5, 0.7, 0.3])),
        [2.0, 80.0, 29991.0],
    ),
    (42, lambda g: exponential(g, 3), [0.059914015, 0.064976126, 0.13191678]),
    (42, lambda g: exponential(g, 2, 1.7, np.float64), [0.03524353864164832, 0.038221252231403116]),
    (42, lambda g: cauchy(g, 3, 0.1, 1.7), [-9.101229, -8.389292, -4.0562863]),
    (42, lambda g: log_normal(g, 3), [5.3301573, 3.5170367, 4.344561]),
    (
        42,
        lambda g: standard_gamma(g, np.array([0.3, 1.0, 20.0])),
        [1.237994471650101, 0.841549601940394, 10.63231001089959],
    ),
    (
        42,
        lambda g: dirichlet(g, np.array([0.5, 1.0, 2.0, 3.0, 4.0])),
        [
            0.15200019697665182,
            0.08206009446153613,
            0.007790730560540491,
            0.32208823674042714,
            0.43606074126084426,
        ],
    ),
    (42, lambda g: multinomial(g, np.array([0.1, 0.2, 0.3, 0.4]), 4), [3, 1, 2, 0]),
    (42, lambda g: multinomial(g, np.array([0.1, 0.2, 0.3, 0.4]), 6, True), [0, 0, 1, 0, 2, 2]),
    (3, lambda g: multinomial(g, np.ones(5, np.float16), 5), [0, 3, 1, 4, 2]),
    (
        42,
        lambda g: normal_from_arrays(g, np.array([1.0, 2.0]), np.array([0.5, 0.1])),
        [1.1683451771919295, 2.012880940513659],
    ),
]


@pytest.mark.parametrize(("seed", "call", "expected"), RECORDED)
def test_recorded_values(seed: int, call: Callable[[Generator], Any], expected: list[Any]) -> None:
    values = call(Generator().manual_seed(seed))
    assert values.tobytes() == np.array(expected, values.dtype).tobytes()


# A long program: call, the beginning of the SHA-256 of its bytes.
PROGRAM: list[tuple[Callable[[Generator], Any], str]] = [
    (lambda g: normal(g, 100_003), "e22ae61395d7e0b9"),
    (lambda g: normal(g, 10_007, dtype=np.float64), "5cce5c6be0235cbb"),
    (lambda g: uniform(g, 100_003, -0.1, 0.1), "42b4a085bc151711"),
    (lambda g: randperm(g, 100_003), "03a613a20898b7ab"),
    (lambda g: randint(g, 100_003, 0, 10**12), "e12b48b7cad0b364"),
    (lambda g: exponential(g, 100_003), "5bce3be7f5b7a136"),
    (lambda g: log_normal(g, 100_003), "6f936c7702ceaaeb"),
    (lambda g: g.get_state_array(), "776bf4665dd71ba9"),
]


def test_recorded_program() -> None:
    generator = Generator().manual_seed(2024)
    for step, (call, expected) in enumerate(PROGRAM):
        digest = hashlib.sha256(call(generator).tobytes()).hexdigest()
        assert digest.startswith(expected), f"step {step}"
