"""Small products of the machine: every form, with what is added; sums and copies around them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import retrograd as torch
from retrograd.replay.assembly import MachineExecutor
from retrograd.replay.chains import machine
from retrograd.replay.recording import RECORDING
from tests.replay.test_machine import assert_same, both, build, close, recorded

__all__ = ["build"]
pytestmark = pytest.mark.skipif(machine is None, reason="the machine is not built")
raw, xp = RECORDING.raw, RECORDING.xp
SIZES = [(32, 3, 1), (3, 32, 1), (1, 4, 64), (1, 64, 2), (8, 10, 5), (4, 20, 3), (2, 2, 2),
         (5, 1, 7), (1, 1, 1), (17, 9, 17), (64, 1, 4), (7, 70, 2)]  # fmt: skip
BIASES = ["none", "row", "column", "one", "whole", "turned", "strided"]


def bias_of(form, rows, columns, draw):
    shapes = {"row": (columns,), "column": (rows, 1), "one": (1, 1), "turned": (columns, rows)}
    if form == "strided":
        return draw.normal(size=(rows, 2 * columns))[:, ::2]
    made = draw.normal(size=shapes.get(form, (rows, columns)))
    return made.T if form == "turned" else made


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_every_form(build, sizes, bias, dtype):
    rows, inner, columns = sizes
    draw = np.random.default_rng(2)
    added = bias_of(bias, rows, columns, draw)
    added = added.astype(dtype, order="K") if bias != "strided" else added
    if added.dtype != dtype:
        added = np.repeat(added.astype(dtype), 2, 1)[:, ::2]
    for turned in itertools.product([False, True], repeat=2):
        a = draw.normal(size=(inner, rows) if turned[0] else (rows, inner)).astype(dtype)
        b = draw.normal(size=(columns, inner) if turned[1] else (inner, columns)).astype(dtype)

        def step(a, b, added, turned=turned):
            first, second = a.T if turned[0] else a, b.T if turned[1] else b
            if bias == "none":
                return [raw.mm(first, second)]
            return [raw.addmm(added, first, second)]

        close(*both(step, [a, b, added]), dtype)


def test_nan_and_inf_pass_through(build):
    a = np.array([[np.nan, 1.0], [np.inf, 0.0], [1.0, 2.0]])
    b = np.array([[1.0, 0.0, 3.0, -1.0], [0.0, np.inf, 1.0, 1.0]])
    with np.errstate(invalid="ignore"):
        expected, found = both(lambda a, b: [raw.addmm(b[0], a, b)], [a, b])
    assert_same(expected, found)


# ------------------------------------------------------------------------------ sums of products


def products_of(step, arrays):
    groups = MachineExecutor(recorded(step, arrays)).groups
    return [g.made[1] for g in groups if isinstance(g.made, tuple)], groups


def matrices(count, rows=3, inner=4, columns=5):
    draw = np.random.default_rng(3)
    left = [draw.normal(size=(rows, inner)) for _ in range(count)]
    return left + [draw.normal(size=(inner, columns)) for _ in range(count)]


def test_products_that_are_added_up_take_the_sum_along(build):
    def step(*given):
        total = raw.mm(given[0], given[6])
        for n in range(1, 6):
            product = raw.mm(given[n], given[6 + n])
            total = xp.add(total, product) if n % 2 else raw.add(product, total)
        return [total]

    made, groups = products_of(step, matrices(6))
    assert len(groups) == len(made) == 6 and sum(x[-1] is not None for x in made) == 5
    close(*both(step, matrices(6)), "float64")


def test_a_product_that_somebody_else_reads_or_gets_stays(build):
    def step(a, b):
        product = raw.mm(a, b)
        other = raw.mm(a, b)
        return [xp.add(product, b[0]), xp.multiply(product, product), other, xp.add(other, b[1])]

    made, _ = products_of(step, matrices(1))
    assert [x[-1] for x in made] == [None, None]
    close(*both(step, matrices(1)), "float64")


def test_a_product_is_not_moved_over_a_write_to_what_it_reads(build):
    def step(a, b, c):
        product = raw.mm(a, b)
        a += 1.0
        return [xp.add(product, c)]

    arrays = [*matrices(1), np.ones((3, 5))]
    made, _ = products_of(step, arrays)
    assert [x[-1] for x in made] == [None]
    close(*both(step, arrays), "float64")


def test_a_sum_of_another_shape_or_type_stays_a_sum(build):
    def step(a, b, c, d):
        product = raw.mm(a, b)
        return [xp.add(product, c), xp.add(raw.mm(a, b), d)]

    arrays = [*matrices(1), np.ones((2, 3, 5)), np.ones((3, 5), "float32")]
    made, _ = products_of(step, arrays)
    assert [x[-1] for x in made] == [None, None]
    close(*both(step, arrays, calls=True), "float64")


def test_both_halves_of_a_sum_may_be_products(build):
    def step(a, b):
        return [xp.add(raw.mm(a, b), raw.mm(a, b))]

    made, groups = products_of(step, matrices(1))
    assert len(made) == len(groups) == 2
    close(*both(step, matrices(1)), "float64")


# ------------------------------------------------------------------------------ matrices in line


def test_a_matrix_that_many_rows_take_is_put_in_line_once(build):
    draw = np.random.default_rng(4)
    rows, weight = [draw.normal(size=(1, 4)) for _ in range(5)], draw.normal(size=(9, 4))
    bias = draw.normal(size=9)

    def step(weight, bias, *rows):
        return [raw.addmm(bias, row, weight.T) for row in rows]

    made, groups = products_of(step, [weight, bias, *rows])
    assert len(groups) == 6 and {x[6][-1] for x in made} == {1}
    close(*both(step, [weight, bias, *rows]), "float64")


def test_a_matrix_that_is_written_meanwhile_is_not_copied(build):
    draw = np.random.default_rng(5)
    rows, weight = [draw.normal(size=(1, 4)) for _ in range(5)], draw.normal(size=(9, 4))

    def step(weight, *rows):
        found = []
        for row in rows:
            found.append(raw.mm(row, weight.T))
            weight *= 0.5
        return found

    made, _ = products_of(step, [weight, *rows])
    assert {x[6][-1] for x in made} == {4}
    close(*both(step, [weight, *rows]), "float64")


# ------------------------------------------------------------------------------ chains of any rank


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [1, 2, 5, 15, 16, 17, 40, 63, 65])
def test_dimensions_of_one_do_not_part_chains(build, length, dtype):
    """And memory behind an array of any length, which vectors may touch, is nobody's."""

    def step(a, b):
        line = xp.multiply(a.reshape(length), 2.0)
        tall = xp.add(line.reshape(length, 1), b.reshape(1))
        flat = xp.subtract(tall.reshape(1, length), line)
        total = xp.sum(flat, axis=0)
        product = xp.multiply(total, line)
        return [flat, total, product, xp.sum(tall, axis=1), xp.sum(product)]

    draw = np.random.default_rng(6)
    arrays = [draw.normal(size=(1, length, 1)).astype(dtype), np.full((1, 1), -0.5, dtype)]
    program = recorded(step, arrays)
    assert len(MachineExecutor(program).groups) == 1
    close(*both(step, arrays), dtype)


def test_a_sum_over_one_element_is_the_element(build):
    a = np.array([[-0.0], [np.nan], [np.inf], [3.0]])
    assert_same(*both(lambda a: [xp.sum(a, axis=1), raw.amax(a, (1,), False)], [a]))


def test_parts_of_arrays_write_nothing_behind_their_memory():
    """A slice that begins between two vectors must not end with a vector behind its array."""
    torch.manual_seed(0)
    x = torch.randn(5, dtype=torch.float64, requires_grad=True)
    at = torch.tensor([0.0, 0.7, 1.1, 2.5, 3.0], dtype=torch.float64, requires_grad=True)
    weights = torch.randn(5, dtype=torch.float64)

    def step():
        x.grad = at.grad = None
        (slope,) = torch.gradient(x, spacing=(at,))
        (slope * weights).sum().backward()

    step()
    expected = x.grad.clone(), at.grad.clone()
    replayed = torch.replay(step)
    for _ in range(5):
        replayed()
        assert torch.allclose(x.grad, expected[0]) and torch.allclose(at.grad, expected[1])
