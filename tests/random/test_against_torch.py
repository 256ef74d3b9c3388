"""Every sampler beside real PyTorch: values, and all bytes of the state after each call."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")


from retrograd.random.box_muller import box_muller32
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
from retrograd.random.layout import fill_, in_fill_order, new_like
from retrograd.random.multinomial import multinomial
from retrograd.random.normal import normal, normal_, normal_from_arrays
from retrograd.random.permutation import randperm
from retrograd.random.selection import largest_first
from retrograd.random.uniform import uniform
from tests.random.beside_torch import (
    COMPLEX,
    FLOATS,
    FULL,
    INTEGERS,
    UNSIGNED,
    Pair,
    numpy_dtype,
    targets,
    to_torch,
    torch_dtype,
)

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:(from|to - 1) is out of bounds:UserWarning"),
]

SEEDS = (0, 1, 42, -1, -12345, 2**31, 2**32 + 7, 2**63, 2**64 - 1)
SIZES = (0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 48, 100, 623, 624, 625, 1000)

Ours = Callable[[Generator, int, Any, bool], Any]


def in_place(
    pair: Pair, pick: random.Random, count: int, dtype: str, call: Any, ours: Ours
) -> None:
    tensor, array = targets(pick, count, dtype)
    call(tensor)
    contiguous = array.flags.c_contiguous
    fill_(array, ours(pair.ours, count, array.dtype, contiguous))
    pair.check(tensor, array, f"{dtype} {array.shape} {array.strides}")


# ---- the cases: each makes one call in both worlds and compares


def case_uniform(pair: Pair, pick: random.Random, count: int) -> None:
    bounds = [(), (0.0, 1.0), (-0.1, 0.1), (-0.3, 0.9), (2.0, 5.0), (100.0, 100.1), (-1e-3, 3.0)]
    bounds += [(0.0, 0.7), (0.3, 0.3), (-1e-30, 1e30), (1e-40, 2e-40), (-6e4, 1.0)]
    args = pick.choice(bounds)
    dtype = pick.choice(FLOATS + COMPLEX)
    if dtype in ("float16", "bfloat16") and args == (-1e-30, 1e30):
        args = (-1.0, 1.0)
    in_place(
        pair, pick, count, dtype,
        lambda t: t.uniform_(*args, generator=pair.torch),
        lambda g, n, d, c: uniform(g, n, *args, dtype=d),
    )  # fmt: skip


def case_normal(pair: Pair, pick: random.Random, count: int) -> None:
    options = [(), (), (0.0, 0.02), (1.5, 1.0), (0.1, 0.7), (-3.3, 1e-3), (5.0, 0.0), (0.5, 1e-20)]
    args = pick.choice([*options, (float("inf"), 1.0), (1e300, 1e300), (0.0, 1e300), (-0.0, 1.0)])
    in_place(
        pair, pick, count, pick.choice(FLOATS + COMPLEX),
        lambda t: t.normal_(*args, generator=pair.torch),
        lambda g, n, d, c: normal(g, n, *args, dtype=d, contiguous=c),
    )  # fmt: skip


def case_normal_(pair: Pair, pick: random.Random, count: int) -> None:
    tensor, array = targets(pick, count, pick.choice(FLOATS))
    pair.check(tensor.normal_(generator=pair.torch), normal_(pair.ours, array), "normal_")


def case_normal_from_arrays(pair: Pair, pick: random.Random, count: int) -> None:
    maker = np.random.RandomState(pick.randrange(2**32))
    dtype, other = pick.choice(FLOATS + COMPLEX), pick.choice([*FLOATS, "int64"])
    mean = (maker.standard_normal(count) * 3).astype(numpy_dtype(dtype))
    std = np.abs(maker.standard_normal(count) * 3).astype(numpy_dtype(other))
    if pick.random() < 0.4 and count:
        few = pick.choice((np.s_[:1], np.s_[0, ...]))
        mean, std = (mean[few], std) if pick.random() < 0.5 else (mean, std[few])
    way, g = pick.randrange(3), pair.torch
    if way == 0:
        theirs = torch.normal(to_torch(mean), to_torch(std), generator=g)
        pair.check(theirs, normal_from_arrays(pair.ours, mean, std), f"normal {dtype} {other}")
    elif way == 1:
        theirs = torch.normal(to_torch(mean), 0.7, generator=g)
        pair.check(theirs, normal_from_arrays(pair.ours, mean, 0.7), f"normal {dtype}, number")
    elif other != "int64":
        theirs = torch.normal(0.3, to_torch(std), generator=g)
        pair.check(theirs, normal_from_arrays(pair.ours, 0.3, std), f"normal number, {other}")


def bounds_for(pick: random.Random, dtype: str) -> tuple[int, int]:
    if dtype == "bool":
        return 0, pick.choice((1, 2))
    if dtype in FLOATS:
        lowest, highest = {"float16": (-2000, 2000), "bfloat16": (-(2**40), 2**40)}.get(
            dtype, (-(2**62), 2**62)
        )
    else:
        info = np.iinfo(dtype)
        lowest, highest = int(max(info.min, -(2**63))), int(min(info.max, 2**63 - 1))
    spans = (1, 2, 3, 10, 64, 100, 2**16, 2**20 + 1, 2**24 + 3, 2**28 - 1, 2**28, 2**28 + 1, 2**31)
    spans += (2**32 - 1, 2**32, 2**32 + 1, 10**12, 2**48, 2**62, 2**63 + 5)
    span = pick.choice([s for s in spans if s <= highest - lowest])
    low = pick.randint(lowest, highest - span)
    return (0, span) if pick.random() < 0.5 and span <= highest else (low, low + span)


def case_randint(pair: Pair, pick: random.Random, count: int) -> None:
    dtype = pick.choice((*INTEGERS, *FLOATS, *UNSIGNED, "int64", "bool"))
    low, high = bounds_for(pick, dtype)
    try:
        in_place(
            pair, pick, count, dtype,
            lambda t: t.random_(low, high, generator=pair.torch),
            lambda g, n, d, c: randint(g, n, low, high, d),
        )  # fmt: skip
    except RuntimeError as error:  # a narrow span between two neighbours of a floating type
        with pytest.raises(RuntimeError) as ours:
            randint(pair.ours, count, low, high, numpy_dtype(dtype))
        assert str(ours.value) == str(error).splitlines()[0]


def case_random_from(pair: Pair, pick: random.Random, count: int) -> None:
    dtype, low = pick.choice((*INTEGERS, *FLOATS, "uint16", "uint32")), pick.choice((0, 5, 100))
    if dtype in ("int64", "float64", "float32", "bfloat16") and pick.random() < 0.5:
        low = -(2**63)
    in_place(
        pair, pick, count, dtype,
        lambda t: t.random_(low, None, generator=pair.torch),
        lambda g, n, d, c: random_from(g, n, low, d),
    )  # fmt: skip


def case_random_full(pair: Pair, pick: random.Random, count: int) -> None:
    in_place(
        pair, pick, count, pick.choice((*INTEGERS, *FLOATS, "bool")),
        lambda t: t.random_(generator=pair.torch),
        lambda g, n, d, c: random_full(g, n, d),
    )  # fmt: skip


def case_randperm(pair: Pair, pick: random.Random, count: int) -> None:
    dtype = pick.choice(("int64", "int32", "float32", "float16", "bfloat16", "int16"))
    theirs = torch.randperm(count, dtype=torch_dtype(dtype), generator=pair.torch)
    pair.check(theirs, randperm(pair.ours, count, numpy_dtype(dtype)), f"randperm {dtype}")


def case_bernoulli(pair: Pair, pick: random.Random, count: int) -> None:
    p = pick.choice((0.0, 0.1, 0.5, 0.9, 1.0))
    in_place(
        pair, pick, count, pick.choice((*FLOATS, *INTEGERS, "bool")),
        lambda t: t.bernoulli_(p, generator=pair.torch),
        lambda g, n, d, c: bernoulli(g, n, p, d),
    )  # fmt: skip


def case_bernoulli_from_array(pair: Pair, pick: random.Random, count: int) -> None:
    maker = np.random.RandomState(pick.randrange(2**32))
    tensor, p = targets(pick, count, pick.choice(FLOATS))
    p[...] = maker.random_sample(p.shape)
    tensor.copy_(to_torch(p.copy()))
    if pick.random() < 0.5:
        # A new tensor is contiguous, whatever the layout of the probabilities.
        ours = bernoulli_from_array(pair.ours, p.reshape(-1)).reshape(p.shape)
        pair.check(torch.bernoulli(tensor, generator=pair.torch), ours, "bernoulli")
        return
    dtype = pick.choice((*FLOATS, *INTEGERS, "bool"))
    target, array = targets(random.Random(3), count, dtype)
    while array.shape != p.shape:
        target, array = targets(pick, count, dtype)
    target.bernoulli_(tensor, generator=pair.torch)
    fill_(array, bernoulli_from_array(pair.ours, in_fill_order(p, array), array.dtype))
    pair.check(target, array, f"bernoulli_ {dtype} {p.dtype}")


def case_exponential(pair: Pair, pick: random.Random, count: int) -> None:
    rate = pick.choice((1.0, 0.3, 1.7, 1e-30, 1e42, float("inf")))
    in_place(
        pair, pick, count, pick.choice(FLOATS),
        lambda t: t.exponential_(rate, generator=pair.torch),
        lambda g, n, d, c: exponential(g, n, rate, d),
    )  # fmt: skip


def case_geometric(pair: Pair, pick: random.Random, count: int) -> None:
    p = pick.choice((0.1, 0.5, 0.9, 1e-3, 1e-12))
    in_place(
        pair, pick, count, pick.choice(FLOATS + INTEGERS),
        lambda t: t.geometric_(p, generator=pair.torch),
        lambda g, n, d, c: geometric(g, n, p, d),
    )  # fmt: skip


def case_cauchy(pair: Pair, pick: random.Random, count: int) -> None:
    args = pick.choice(((), (0.1, 1.7), (-5.0, 1e-3), (0.0, 1e-30), (1e300, 1e299)))
    in_place(
        pair, pick, count, pick.choice(FLOATS),
        lambda t: t.cauchy_(*args, generator=pair.torch),
        lambda g, n, d, c: cauchy(g, n, *args, dtype=d),
    )  # fmt: skip


def case_log_normal(pair: Pair, pick: random.Random, count: int) -> None:
    args = pick.choice(((), (0.0, 1.0), (0.1, 0.7), (-90.0, 3.0), (-400.0, 120.0), (60.0, 15.0)))
    in_place(
        pair, pick, count, pick.choice(FLOATS),
        lambda t: t.log_normal_(*args, generator=pair.torch),
        lambda g, n, d, c: log_normal(g, n, *args, dtype=d),
    )  # fmt: skip


def case_multinomial(pair: Pair, pick: random.Random, count: int) -> None:
    maker = np.random.RandomState(pick.randrange(2**32))
    categories = max(1, count)
    shape = pick.choice(((categories,), (3, categories), (categories, 2)))
    weights = np.empty(shape, numpy_dtype(pick.choice(FLOATS)), order=pick.choice("CF"))
    weights[...] = maker.random_sample(shape)
    if pick.random() < 0.5:
        weights[..., : shape[-1] // 2] = 0
    tensor = to_torch(weights) if weights.flags.c_contiguous else to_torch(weights.T).T
    replacement = pick.random() < 0.5
    samples = pick.randint(1, 40 if replacement else shape[-1]) if pick.random() < 0.7 else 1
    theirs = torch.multinomial(tensor, samples, replacement, generator=pair.torch)
    ours = multinomial(pair.ours, weights, samples, replacement)
    pair.check(theirs, ours, f"multinomial {weights.dtype} {shape} {samples} {replacement}")


def parameters(pick: random.Random, count: int, dtype: str, scale: float) -> tuple[Any, Any]:
    maker = np.random.RandomState(pick.randrange(2**32))
    tensor, array = targets(pick, count, dtype)
    array[...] = maker.random_sample(array.shape) * scale
    tensor.copy_(to_torch(array.copy()))
    return tensor, array


def case_poisson(pair: Pair, pick: random.Random, count: int) -> None:
    scale, dtype = pick.choice((1.0, 9.0, 40.0, 1e4, 1e12, 1e30)), pick.choice(FLOATS)
    tensor, rate = parameters(pick, count, dtype, min(scale, 6e4 if dtype == "float16" else scale))
    tensor[:1], rate[:1] = 0, 0
    theirs = torch.poisson(tensor, generator=pair.torch)
    pair.check(theirs, poisson(pair.ours, rate), f"poisson {rate.dtype} {scale}")


def case_binomial(pair: Pair, pick: random.Random, count: int) -> None:
    dtype, scale = pick.choice(FULL), pick.choice((5, 100, 5000, 1e7))
    tensor, trials = parameters(pick, count, dtype, scale)
    np.floor(trials, out=trials)
    tensor.floor_()
    chance = np.random.RandomState(pick.randrange(2**32)).random_sample(trials.shape).astype(dtype)
    theirs = torch.binomial(tensor, to_torch(chance), generator=pair.torch)
    pair.check(theirs, binomial(pair.ours, trials, chance), f"binomial {dtype} {scale}")


def case_gamma(pair: Pair, pick: random.Random, count: int) -> None:
    tensor, shape = parameters(pick, count, pick.choice(FULL), pick.choice((0.1, 0.5, 3.0, 50.0)))
    theirs = torch._standard_gamma(tensor, generator=pair.torch)
    pair.check(theirs, standard_gamma(pair.ours, shape), f"gamma {shape.dtype}")


def case_dirichlet(pair: Pair, pick: random.Random, count: int) -> None:
    dtype, categories = pick.choice(FULL), pick.choice((1, 2, 3, 4, 5, 7, 10, 17, 40, 300))
    maker = np.random.RandomState(pick.randrange(2**32))
    alpha = (maker.random_sample((min(count, 40), categories)) * 3 + 0.01).astype(dtype)
    theirs = torch._sample_dirichlet(to_torch(alpha), generator=pair.torch)
    pair.check(theirs, dirichlet(pair.ours, alpha), f"dirichlet {dtype} {categories}")


def case_state(pair: Pair, pick: random.Random, count: int) -> None:
    """States travel both ways, into generators that stand somewhere else."""
    state = pair.torch.get_state()
    pair.ours = Generator().manual_seed(count)
    normal(pair.ours, 3)
    pair.ours.set_state_array(state.numpy())
    assert pair.ours.initial_seed() == pair.torch.initial_seed()
    state = torch.from_numpy(pair.ours.get_state_array())
    pair.torch = torch.Generator().manual_seed(99)
    pair.torch.set_state(state)
    pair.ours = pair.ours.clone_state()
    pair.in_step("state")


CASES: dict[str, Callable[[Pair, random.Random, int], None]] = {
    name.removeprefix("case_"): value for name, value in globals().items() if name[:5] == "case_"
}


# ---- the tests


@pytest.mark.parametrize("name", CASES)
def test_each_sampler(name: str) -> None:
    for number, seed in enumerate(SEEDS):
        pair, pick = Pair(seed), random.Random(number)
        pair.in_step("fresh")
        for count in SIZES:
            CASES[name](pair, pick, count)


LARGE = ("uniform", "normal", "randint", "random_full", "randperm", "bernoulli", "exponential")
LARGE += ("geometric", "cauchy", "log_normal", "bernoulli_from_array", "normal_from_arrays")


@pytest.mark.parametrize("name", LARGE)
def test_large_arrays(name: str) -> None:
    pair, pick = Pair(7), random.Random(7)
    for count in (100_003, 20_000, 32_447, 150_000) if name != "randperm" else (30_000, 3_000):
        CASES[name](pair, pick, count)


def test_large_permutations() -> None:
    pair = Pair(11)
    for count in (401, 65_535, 65_536, 65_537, 200_003):
        theirs = torch.randperm(count, generator=pair.torch)
        pair.check(theirs, randperm(pair.ours, count), f"randperm {count}")


@pytest.mark.parametrize("number", range(100))
def test_mixed_programs(number: int) -> None:
    """Forty calls from one stream: a wrong number of draws shows in all that follow."""
    pick = random.Random(1000 + number)
    pair = Pair(pick.choice((*SEEDS, number)))
    for _ in range(40):
        CASES[pick.choice(list(CASES))](pair, pick, pick.choice(SIZES[:-1]))


def test_many_small_calls_of_one_kind() -> None:
    """Normals are made ahead when such calls follow each other; nothing of that may show."""
    pair, pick = Pair(3), random.Random(3)
    for step in range(400):
        count = pick.choice((16, 16, 16, 32, 48, 128, 17)) if step < 300 else 16
        theirs = torch.randn(count, generator=pair.torch)
        pair.check(theirs, normal(pair.ours, count), "randn")
        if pick.random() < 0.1:
            amount = pick.choice((1, 16, 5))
            theirs = torch.rand(amount, generator=pair.torch)
            pair.check(theirs, uniform(pair.ours, amount), "rand")
        if pick.random() < 0.05:
            case_state(pair, pick, step)


def untempered(words: Any) -> Any:
    """State words whose outputs are the given ones."""
    y = words.astype(np.uint32)
    y ^= y >> np.uint32(18)
    y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
    x = y.copy()
    for _ in range(5):
        x = y ^ ((x << np.uint32(7)) & np.uint32(0x9D2C5680))
    y = x.copy()
    for _ in range(3):
        y = x ^ (y >> np.uint32(11))
    return y


def test_every_radius_and_every_angle() -> None:
    """All 2**24 float32 uniforms in both roles, handed to torch.randn in made-up states."""
    pairs = 304  # fit in one state
    generator = torch.Generator()
    state = generator.get_state().numpy().copy()
    state[8:12].view(np.int32)[0], state[16:24].view(np.uint64)[0] = 624, 0
    radii = np.pad(np.arange(2**24), (0, -(2**24) % pairs)).reshape(-1, pairs // 8, 8)
    for part in np.array_split(radii, 64):
        words = np.stack([part, (5 * part + 1) & 0xFFFFFF], 2).reshape(len(part), -1)
        ours = box_muller32((words.ravel() * 2.0**-24).astype(np.float32)) + np.float32(0)
        theirs = np.empty((len(part), 2 * pairs), np.float32)
        for row, tensor in zip(untempered(words), torch.from_numpy(theirs), strict=True):
            state[24:5016].view(np.uint64)[: 2 * pairs] = row
            generator.set_state(torch.from_numpy(state))
            tensor.normal_(generator=generator)
        assert np.array_equal(theirs.ravel().view(np.uint32), ours.view(np.uint32))


def test_forged_state() -> None:
    """Positions that no run of draws leads to are taken up as PyTorch does."""
    generator = Generator().manual_seed(4)
    generator.random32(100)
    for position, left in ((0, 624), (10, 5), (300, 1), (0, 1), (624, 1), (620, 5)):
        state = generator.get_state_array()
        state[8:12].view(np.int32)[0], state[16:24].view(np.uint64)[0] = left, position
        pair = Pair(0)
        pair.torch.set_state(torch.from_numpy(state.copy()))
        pair.ours.set_state_array(state)
        pair.in_step("forged")
        theirs = torch.rand(1500, generator=pair.torch)
        pair.check(theirs, uniform(pair.ours, 1500), f"forged {position} {left}")


def test_layouts() -> None:
    pick = np.random.RandomState(6)
    for _ in range(300):
        shape = tuple(pick.choice((1, 2, 3, 4), pick.randint(1, 5)).tolist())
        tensor = torch.zeros([2 * size for size in shape])
        steps = [slice(None, n) if pick.rand() < 0.5 else slice(None, None, 2) for n in shape]
        tensor = tensor[tuple(steps)].permute(*pick.permutation(len(shape)).tolist())
        pair = Pair(0)
        array = np.lib.stride_tricks.as_strided(
            np.zeros(tensor.untyped_storage().size() // 4, np.float32),
            tensor.shape,
            [4 * stride for stride in tensor.stride()],
        )
        tensor.uniform_(generator=pair.torch)
        pair.check(tensor, fill_(array, uniform(pair.ours, array.size)), f"{tensor.stride()}")
        if pick.rand() < 0.5:
            tensor = tensor.unsqueeze(0).expand(3, *tensor.shape)
        strides = [
            4 * s
            for s, n in zip(torch.empty_like(tensor).stride(), tensor.shape, strict=True)
            if n > 1
        ]
        ours = new_like(tensor.numpy())
        assert [s for s, n in zip(ours.strides, ours.shape, strict=True) if n > 1] == strides


def test_order_of_equals() -> None:
    pick = np.random.RandomState(5)
    for _ in range(600):
        size = int(pick.choice((1, 2, 3, 5, 16, 17, 18, 50, 100, 300, 700)))
        count = max(1, size // 64) if pick.rand() < 0.3 else int(pick.randint(1, size + 1))
        row = pick.randint(0, pick.choice((1, 2, 5, 50)), size).astype(np.float32)
        row[pick.rand(size) < 0.1] = pick.choice((0, np.nan, np.inf))
        theirs = torch.topk(torch.from_numpy(row), count).indices.numpy()
        assert np.array_equal(largest_first(row, count), theirs)
