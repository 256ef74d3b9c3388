"""Loops that are written from the kernels of elementwise ops: NumPy's bits, for every build."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend import CPU
from retrograd.backend.cpu_rows import rows
from retrograd.backend.device import KERNELS
from retrograd.replay import elementwise_loops

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(rows is None, reason="the kernels for rows are not in use here"),
]
FLOATS = (np.float32, np.float64)
SIZES = [(1025,), (1031,), (4099,), (37, 61), (3, 5, 200), (70_001,)]
SPECIAL = [0.0, -0.0, 1.0, -2.5, 3.0, -3.0, np.inf, -np.inf, np.nan, 1e-42, 3e38]
NUMBERS = [
    (-0.5, 0.75),
    (0.01, 0.01),
    (0.0, -0.0),
    (-0.0, 6),
    (2, 1),
    (np.nan, 1.0),
    (-np.inf, 1.0),
]
LOOPS = elementwise_loops.LOOPS


@pytest.fixture(params=() if rows is None else rows.builds())
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    before = rows.use_build(request.param)
    yield request.param
    rows.use_build(before)


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    generator = np.random.default_rng(seed)
    found = (generator.standard_normal(shape) * 3).astype(dtype)
    chosen = generator.random(shape) < 0.2
    found[chosen] = generator.choice(SPECIAL, int(chosen.sum()))
    return found


def operands_of(name: str, shape: tuple[int, ...], dtype: Any, given: tuple[float, ...]) -> Any:
    left = iter(given)
    for place, kind in enumerate(LOOPS[name].kinds):
        if kind == "n":
            yield next(left)
        else:
            array = numbers(shape, dtype, place)
            yield array > 0 if kind == "t" else array


def twin(name: str) -> Callable[..., Any]:
    traced = LOOPS[name].traced
    if traced.startswith("xp."):
        return getattr(np, traced[3:])
    more = (0,) if traced == "mse_loss" else ()
    return lambda *operands: KERNELS[traced][0](CPU.xp, *operands, *more)


def expected(name: str, operands: list[Any]) -> Any:
    """The neutral kernel, on pieces so small that NumPy does all of it."""
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    found = np.empty_like(arrays[-1])
    flat = [x.reshape(-1) if isinstance(x, np.ndarray) else x for x in operands]
    with np.errstate(all="ignore"):
        for start in range(0, found.size, 500):
            part = slice(start, start + 500)
            piece = [x[part] if isinstance(x, np.ndarray) else x for x in flat]
            found.reshape(-1)[part] = twin(name)(*piece)
    return found


def bits(array: Any) -> tuple[Any, ...]:
    """Every nan as one: IEEE 754 leaves its sign open."""
    plain = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.shape, array.dtype, plain.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", LOOPS)
def test_the_bits_are_those_of_the_kernel(build: str, name: str, dtype: Any, threads: int) -> None:
    for shape in SIZES:
        for given in NUMBERS if "n" in LOOPS[name].kinds else NUMBERS[:1]:
            operands = list(operands_of(name, shape, dtype, given))
            result = getattr(rows, name)(*operands)
            assert result.flags.c_contiguous and result.flags.writeable
            assert bits(result) == bits(expected(name, operands)), (shape, given)


@pytest.mark.parametrize("name", LOOPS)
def test_layouts(build: str, name: str) -> None:
    operands = list(operands_of(name, (50, 61), np.float32, (-0.5, 0.5)))
    turned = [x.copy().T if isinstance(x, np.ndarray) else x for x in operands]
    found = getattr(rows, name)(*turned)
    assert found.flags.f_contiguous and bits(found.T) == bits(expected(name, operands))

    shifted = [
        x[1:, :] if isinstance(x, np.ndarray) else x for x in operands
    ]  # no line's beginning
    assert bits(getattr(rows, name)(*shifted)) == bits(expected(name, shifted))


@pytest.mark.parametrize("name", LOOPS)
def test_what_is_not_taken(name: str) -> None:
    kinds = LOOPS[name].kinds
    operands = list(operands_of(name, (40, 60), np.float32, (-0.5, 0.5)))
    place = kinds.index("r")
    x = operands[place]
    raw = np.zeros(x.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(x.shape)
    half = np.zeros(x.shape, np.float16)
    others: list[Any] = [half, x.astype(">f4"), x[:, ::2], x[:5], x[:0], raw]
    others += [x.tolist(), x.astype(np.complex64), x.view(np.ma.MaskedArray), None]
    for other in others:
        assert getattr(rows, name)(*operands[:place], other, *operands[place + 1 :]) is None
    for at, kind in enumerate(kinds):
        wrong: list[Any] = [None, "1", True, 1j, 2**70] if kind == "n" else [x[0], x[:, :1], None]
        wrong += [(x > 0).view(np.uint8)] if kind == "t" else []
        for other in wrong:
            assert getattr(rows, name)(*operands[:at], other, *operands[at + 1 :]) is None
    with pytest.raises(TypeError, match=f"takes {len(kinds)} arguments, 0 were given"):
        getattr(rows, name)()


def test_where_takes_numbers_on_either_side() -> None:
    x, mask = numbers((40, 60), np.float32, 0), numbers((40, 60), np.float32, 1) > 0
    element = np.array(0.1, np.float32)
    for pair in ((x, -x), (x, 2), (0.1, x), (x, element), (element, x)):
        assert bits(rows.where(mask, *pair)) == bits(np.where(mask, *pair))
    for pair in ((1.0, 2.0), (x, element.astype(np.float64)), (x, x.astype(np.float64)), (x, x[0])):
        assert rows.where(mask, *pair) is None


def test_the_files_are_those_that_the_kernels_give() -> None:
    for file, text in elementwise_loops.written().items():
        assert (elementwise_loops.FOLDER / file).read_text() == text, (
            "python -m retrograd.replay.elementwise_loops"
        )


def test_ops_use_them_forward_and_backward() -> None:
    functional = torch.nn.functional
    x = torch.randn(60, 70).requires_grad_()
    mask, other = x.detach() > 0.3, torch.ones(60, 70)
    for function in (
        functional.leaky_relu,
        functional.hardtanh,
        functional.hardswish,
        functional.hardsigmoid,
        functional.relu,
        lambda x: x.clamp(-0.5, 0.5),
        lambda x: x.clamp(min=0.5),
        lambda x: x.clamp_max(0.5),
        lambda x: torch.where(mask, x, other),
        lambda x: torch.where(mask, 2.0, x),
        lambda x: x.masked_fill(mask, 0.5),
        lambda x: functional.mse_loss(x, other, reduction="none"),
    ):
        wide = x.detach().double().requires_grad_()
        results = function(x), function(wide)
        slopes = [
            torch.autograd.grad(y.sum(), z)[0] for y, z in zip(results, (x, wide), strict=True)
        ]
        for narrow, exact in (results, slopes):
            assert torch.allclose(narrow.double(), exact, rtol=1e-5, atol=1e-6)
