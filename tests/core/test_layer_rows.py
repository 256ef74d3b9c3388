"""A bias is added in the memory of a small product: the sums are those of NumPy, bit for bit."""

import numpy as np
import pytest

import retrograd as torch


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [1, 3, 64])
@pytest.mark.parametrize("columns", [1, 2, 7, 31, 33])
def test_bias_of_a_row(dtype, rows, columns):
    random = np.random.default_rng(0)
    first, second = random.normal(size=(rows, 5)), random.normal(size=(5, columns))
    first, second = first.astype(dtype), second.astype(dtype)
    wide = random.normal(size=2 * columns).astype(dtype)
    wide[:1] = np.inf
    wide[-1:] = np.nan
    product = torch.mm(torch.from_numpy(first), torch.from_numpy(second)).numpy()
    unaligned = np.frombuffer(bytearray(b"x" + wide.tobytes()), np.uint8)[1:].view(dtype)[:columns]
    for bias in (wide[:columns], wide[::2], unaligned, wide[:1]):
        given = bias.copy()
        found = torch.addmm(*map(torch.from_numpy, (bias, first, second))).numpy()
        np.testing.assert_array_equal(found, product + bias)
        np.testing.assert_array_equal(bias, given)


def test_a_bias_of_another_size_is_refused():
    with pytest.raises(RuntimeError, match="expanded size"):
        torch.addmm(torch.ones(3), torch.ones(2, 5), torch.ones(5, 4))
