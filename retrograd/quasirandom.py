"""Sobol sequences: points that fill a cube evenly.

>>> import retrograd as torch
>>> torch.quasirandom.SobolEngine(dimension=2).draw(3)
tensor([[0.0000, 0.0000],
        [0.5000, 0.5000],
        [0.7500, 0.2500]])
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from retrograd import dtypes
from retrograd.namespaces import from_table
from retrograd.ops.errors import unsupported
from retrograd.ops.making.construction import fresh
from retrograd.ops.registry import PUBLIC
from retrograd.random import Generator
from retrograd.tensor import Array, Tensor

_LIST = Path(__file__).parent / "random" / "sobol_directions.txt"


@cache
def _rows() -> list[list[int]]:
    """For each dimension after the first: degree, coefficients, first direction numbers."""
    lines = _LIST.read_text(encoding="utf-8").splitlines()
    return [[int(n) for n in line.split()] for line in lines if not line.startswith("#")]


def _directions(dimension: int, bits: int) -> Array:
    """The direction numbers of each dimension, as fractions of ``2**bits``."""
    found = np.ones((dimension, bits), np.int64)
    for place, (degree, coefficients, *first) in enumerate(_rows()[: dimension - 1], 1):
        numbers = list(first)
        for j in range(degree, bits):
            number = numbers[j - degree] ^ (numbers[j - degree] << degree)
            for k in range(1, degree):
                if coefficients >> (degree - 1 - k) & 1:
                    number ^= numbers[j - k] << k
            numbers.append(number)
        found[place] = numbers
    return found << np.arange(bits - 1, -1, -1)


class SobolEngine:
    """A source of the points of a Sobol sequence, in up to 256 dimensions.

    With `scramble` the sequence is shuffled in a way that keeps it even; `seed` decides how.
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        if dimension > len(_rows()) + 1:
            raise unsupported(
                f"SobolEngine in {dimension} dimensions: it has the direction numbers of "
                f"{len(_rows()) + 1}"
            )
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.sobolstate = fresh(_directions(dimension, self.MAXBIT))
        self.shift = fresh(np.zeros(dimension, np.int64))
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self.num_generated = 0

    def _scramble(self) -> None:
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        randint, bits = PUBLIC["torch"]["randint"], self.MAXBIT
        shift = randint(2, (self.dimension, bits), generator=generator)._array
        self.shift = fresh(shift @ (np.int64(1) << np.arange(bits)))
        sizes = (self.dimension, bits, bits)
        matrices = np.tril(randint(2, sizes, generator=generator)._array)
        matrices[:, np.arange(bits), np.arange(bits)] = 1
        # numbers as columns of bits, most significant first, times the matrix, modulo two
        places = np.arange(bits - 1, -1, -1)
        state = (self.sobolstate._array[:, None, :] >> places[:, None]) & 1
        turned = (matrices @ state) & 1
        self.sobolstate = fresh((turned << places[:, None]).sum(axis=1))

    def _advance(self, count: int) -> Array:
        """The next points as whole numbers; the state moves on to the last of them."""
        start = max(self.num_generated - 1, 0)
        numbers = np.arange(start, start + count)
        # each point differs from the one before in the direction of the lowest zero bit
        lowest = ~numbers & (numbers + 1)
        which = np.log2(lowest).astype(np.int64)
        steps = self.sobolstate._array[:, which].T
        points: Array = np.bitwise_xor.accumulate(
            np.concatenate([self.quasi._array[None], steps]), axis=0
        )
        self.quasi = fresh(points[-1].copy())
        return points

    def draw(
        self, n: int = 1, out: Tensor | None = None, dtype: dtypes.dtype | None = None
    ) -> Tensor:
        """The next `n` points, one in each row."""
        kind = dtypes.get_default_dtype() if dtype is None else dtype
        first = self.num_generated == 0
        points = self._advance(n - 1 if first else n)
        self.num_generated += n
        wide = (points if first else points[1:]) / np.float64(2**self.MAXBIT)
        result = fresh(wide.astype(kind.numpy))
        if out is not None:
            written = out.resize_as_(result)
            return written.copy_(result)
        return result

    def draw_base2(
        self, m: int, out: Tensor | None = None, dtype: dtypes.dtype | None = None
    ) -> Tensor:
        """The next ``2**m`` points; their number and that of those before must be a power of 2."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begin again."""
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out `n` points."""
        self._advance(n - 1 if self.num_generated == 0 else n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"


from_table(__name__)
