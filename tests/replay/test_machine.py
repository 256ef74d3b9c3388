"""The machine does what the Python executor does: in random programs, on every build."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd as torch
from retrograd.backend import CPU, NAMED
from retrograd.replay import recording
from retrograd.replay.assembly import MachineExecutor
from retrograd.replay.chains import Chain, machine
from retrograd.replay.constants import with_constants
from retrograd.replay.copies import without_copies
from retrograd.replay.execute import PythonExecutor
from retrograd.replay.program import Instruction, Program, Slot
from retrograd.replay.recording import RECORDING, Recorded, Tape

pytestmark = pytest.mark.skipif(machine is None, reason="the machine is not built")
BUILDS = () if machine is None else machine.builds()
xp = RECORDING.xp


@pytest.fixture(params=BUILDS)
def build(request):
    before = machine.use_build(request.param)
    yield request.param
    machine.use_build(before)


def recorded(step, arrays):
    """The program of a function of arrays: its outputs are what the function gives."""
    tape = Tape()
    taken = [Recorded(a, tape.new_buffer(a, "input")) for a in arrays]
    recording.running.append(tape)
    NAMED["cpu"] = RECORDING
    try:
        with CPU.xp.errstate(all="ignore"):
            found = step(*taken)
    finally:
        recording.running.clear()
        NAMED["cpu"] = CPU
    assert tape.refusal is None
    facts = tape.buffers, tape.slots, tape.instructions
    return Program(*facts, [t.slot for t in taken], [f.slot for f in found])


def both(step, arrays, calls=False):
    """What the two executors make of the same arrays, outputs and what was written to inputs.

    Twice each: what a run leaves in the machine's memory is nothing to the next.
    calls  whether kernels may be called, as for what is written where it is read
    """
    program = recorded(step, [laid_alike(a) for a in arrays])
    expected, found = [], []
    for executor, results in (
        (PythonExecutor(program), expected),
        (machine_of(program, calls), found),
    ):
        for _ in range(2):
            given = [laid_alike(a) for a in arrays]
            results += [a.copy() for a in executor.run(given)] + given
    return expected, found


def machine_of(program, calls):
    made = MachineExecutor(program)
    called = [g.made.op for g in made.groups if isinstance(g.made, Instruction)]
    assert calls or called == []
    return made


def laid_alike(array):
    """A copy in memory of its own, with the same strides."""
    low, high, address = recording.bounds(array)
    block = np.zeros(max(high - low, 1), np.uint8)
    made = np.ndarray(array.shape, array.dtype, block, address - low, array.strides)
    if array.flags.writeable:
        made[...] = array
    elif array.size:
        made[tuple([slice(0, 1) if s == 0 else slice(None) for s in array.strides])] = array[
            tuple([slice(0, 1) if s == 0 else slice(None) for s in array.strides])
        ]
    return made


def assert_same(expected, found):
    for wanted, made in zip(expected, found, strict=True):
        assert made.dtype == wanted.dtype and made.shape == wanted.shape
        np.testing.assert_array_equal(made, wanted)
        np.testing.assert_array_equal(
            np.signbit(made)[made == made], np.signbit(wanted)[made == made]
        )


# ------------------------------------------------------------------------------ random programs

NUMBERS = [0.0, -0.0, 1.0, -1.5, 0.1, 3e4, -2e-3, np.inf, -np.inf, np.nan]
EXACT_UNARY = {
    "negative": xp.negative, "absolute": xp.absolute, "square": xp.square, "copy": xp.array,
    "relu": RECORDING.raw.relu, "trunc": xp.trunc, "reciprocal": RECORDING.raw.reciprocal,
    "isnan": lambda a: xp.where(xp.isnan(a), 1.0, a), "sign": RECORDING.raw.sign,
    "shrink": lambda a: RECORDING.raw.hardshrink(a, 0.5), "clone": RECORDING.raw.clone,
    "clamp": lambda a: RECORDING.raw.clamp(a, -1.0, 2.0), "ones": xp.ones_like,
}  # fmt: skip
EXACT_BINARY = {
    "add": xp.add, "subtract": xp.subtract, "multiply": xp.multiply, "divide": xp.divide,
    "maximum": xp.maximum, "minimum": xp.minimum, "mul": RECORDING.raw.mul,
    "where": lambda a, b: xp.where(xp.less(a, b), a, xp.multiply(b, 2)),
    "keep": lambda a, b: RECORDING.raw._relu_gradient(a, b),
    "masked": lambda a, b: RECORDING.raw.masked_fill(a, xp.greater(a, b), 0.5),
    "count": lambda a, b: xp.equal(a, b).astype(a.dtype),
    "operators": lambda a, b: (a - b) * 2 + a,
}  # fmt: skip


@st.composite
def arrays(draw, shape, dtype):
    """An array of a shape that broadcasts to another, in some layout."""
    kept = draw(st.integers(0, len(shape)))
    own = tuple([1 if draw(st.integers(0, 5)) == 0 else n for n in shape[kept:]])
    size = int(np.prod(own, dtype=int))
    few = draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=8))
    values = np.resize(np.array(few), size) * np.linspace(1, 2, size)
    values = values.astype(dtype).reshape(own)
    layout = draw(st.sampled_from(["C", "F", "sliced", "reversed", "expanded"]))
    if layout == "F" and own:
        return np.asfortranarray(values)
    if layout == "sliced":
        return np.repeat(values, 2, -1)[..., ::2] if own else values
    if layout == "reversed":
        return values[tuple([slice(None, None, -1)] * len(own))]
    if layout == "expanded":
        return np.broadcast_to(values, shape)
    return values


SHAPES = st.sampled_from(
    [(), (1,), (5,), (0,), (3, 4), (4, 1), (2, 3, 4), (2, 0, 3), (70, 33), (700,)]
)


@st.composite
def programs(draw):
    shape, dtype = draw(SHAPES), draw(st.sampled_from(["float32", "float64"]))
    given = [draw(arrays(shape, dtype)) for _ in range(draw(st.integers(1, 3)))]
    return given, shape, draw(st.randoms(use_true_random=False))


def random_step(chance, shape, writable):
    """A step of exact functions, in place and not, on the inputs and on views of what it made."""
    plan = [(chance.random(), chance.random(), chance.random(), chance.random()) for _ in range(
        chance.randrange(1, 25))]  # fmt: skip

    def step(*inputs):
        pool = list(inputs)
        full = [x for x, may in zip(inputs, writable, strict=True) if may and x.shape == shape]
        for kind, first, second, which in plan:
            a, b = pool[int(first * len(pool))], pool[int(second * len(pool))]
            if kind < 0.35:
                found = list(EXACT_UNARY.values())[int(which * len(EXACT_UNARY))](a)
            elif kind < 0.7:
                found = list(EXACT_BINARY.values())[int(which * len(EXACT_BINARY))](a, b)
            elif kind < 0.8 and full:  # in place, where shapes allow it
                target = full[int(first * len(full))]
                found = in_place(target, b, which)
            elif kind < 0.9 and full and shape and shape[0] > 1:  # parts that overlap
                target = full[int(second * len(full))]
                found = target[1:] if which < 0.5 else target[::-1]
                if which < 0.25:
                    xp.iadd(found, target[:-1])
            else:
                found = xp.full(shape, which, dtype=inputs[0].dtype)
            if found.shape == shape and kind >= 0.35:
                full.append(found) if writes(found) else None
            pool.append(found)
            pool = [x for x in pool if fits(x.shape, shape)]
        return pool

    return step


def fits(own, shape):
    try:
        return np.broadcast_shapes(own, shape) == shape
    except ValueError:
        return False


def writes(found):
    return found.flags.writeable and found.held.base is None


def in_place(target, other, which):
    if which < 0.4:
        xp.iadd(target, other)
        return target
    if which < 0.7:
        target *= other
        return target
    target[...] = other
    return target


@settings(max_examples=150)
@given(programs())
def test_exact_programs(case):
    given, shape, chance = case
    step = random_step(chance, shape, [a.flags.writeable for a in given])
    for name in BUILDS:
        before = machine.use_build(name)
        expected, found = both(step, given, calls=True)
        machine.use_build(before)
        assert_same(expected, found)


# -------------------------------------------------------------- functions with an error, and sums


def close(expected, found, dtype):
    loose = 2e-6 if dtype == "float32" else 1e-14
    for wanted, made in zip(expected, found, strict=True):
        assert made.dtype == wanted.dtype and made.shape == wanted.shape
        scale = np.nanmax(np.abs(wanted[np.isfinite(wanted)]), initial=1.0)
        np.testing.assert_allclose(made, wanted, rtol=8 * loose, atol=loose * scale * 0.05)


FUNCTIONS = """
    exp tanh sigmoid silu gelu softplus log sqrt erf log1p expm1 sin cos sinh cosh tan atan asinh
    elu mish logsigmoid hardswish rsqrt exp2 log2 log10
""".split()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(build, name, dtype):
    few = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 88.5, 89.2, -104.0, 709.5, -746.0, 1e-8, 20.5]
    )
    values = np.concatenate([few, np.linspace(-9, 9, 401), np.geomspace(1e-30, 1, 60)]).astype(
        dtype
    )
    with np.errstate(all="ignore"):
        expected, found = both(lambda a: [getattr(RECORDING.raw, name)(a)], [values])
    tiny = np.finfo(dtype).tiny
    for wanted, made in zip(expected, found, strict=True):
        wanted = np.where(np.abs(wanted) < tiny, 0, wanted)  # may be 0: docs/design.md
        made = np.where(np.abs(made) < tiny, 0, made)
        loose = np.finfo(dtype).eps
        np.testing.assert_allclose(made, wanted, rtol=8 * loose, atol=4 * loose)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), (1, 2), (0, 1), (0, 1, 2), -1])
@pytest.mark.parametrize("shape", [(2, 3, 4), (5, 1, 70), (3, 0, 2), (90, 20, 30), (1, 1, 1)])
def test_sums_at_the_end_of_a_chain(build, shape, axis, dtype):
    values = np.random.default_rng(0).normal(size=shape).astype(dtype)

    def step(a):
        product = xp.multiply(a, a)
        return [xp.sum(product, axis=axis), xp.sum(a.T, axis=axis, keepdims=True), product]

    expected, found = both(step, [values], calls=not values.size)
    close(expected, found, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "sizes", [(1, 10, 5), (3, 4, 2), (40, 20, 60), (64, 1, 33), (1, 128, 128), (40, 50, 60)]
)
@pytest.mark.parametrize("form", ["plain", "first", "second", "both", "sliced"])
def test_products(build, sizes, form, dtype):
    rows, inner, columns = sizes
    draw = np.random.default_rng(1)
    a = draw.normal(size=(inner, rows) if form in ("first", "both") else (rows, inner)).astype(
        dtype
    )
    b = draw.normal(size=(columns, inner) if form in ("second", "both") else (inner, columns))
    b = b.astype(dtype)
    if form == "sliced":
        a = np.ascontiguousarray(np.repeat(a, 2, 0))[::2]

    def step(a, b):
        first = a.T if form in ("first", "both") else a
        second = b.T if form in ("second", "both") else b
        return [RECORDING.raw.mm(first, second), RECORDING.raw.addmm(second[0], first, second)]

    # large ones call what chooses between BLAS and own loops
    expected, found = both(step, [a, b], calls=rows * inner * columns > 1 << 16)
    first = a.T if form in ("first", "both") else a
    second = b.T if form in ("second", "both") else b
    terms = np.abs(first) @ np.abs(second)
    sizes_of_terms = [
        terms,
        terms + np.abs(second[0]),
        0,
        0,
    ] * 2  # results and what was given, of two runs
    for wanted, made, size in zip(expected, found, sizes_of_terms, strict=True):
        assert made.dtype == wanted.dtype and made.shape == wanted.shape
        # added in another order: the terms' sizes count, not that of a sum in which they cancel
        assert (np.abs(made - wanted) <= 2 * np.finfo(dtype).eps * size).all()


@pytest.mark.parametrize("shape", [(3, 4, 5, 6), (2, 9, 20, 30)])
def test_batched_products(build, shape):
    batch, rows, inner, columns = shape
    draw = np.random.default_rng(1)
    a, b = draw.normal(size=(batch, rows, inner)), draw.normal(size=(batch, columns, inner))
    expected, found = both(lambda a, b: [RECORDING.raw.bmm(a, b.transpose(0, 2, 1))], [a, b])
    close(expected, found, "float64")


# ------------------------------------------------------------------------------------ other ends


def test_one_chain_for_a_loss_and_its_gradient():
    def step(a):
        t = RECORDING.raw.tanh(a)
        loss = RECORDING.raw._sum_all(t)
        gradient = xp.filled(a.shape, xp.filled((), 1.0, a.dtype))
        return [loss, RECORDING.raw._tanh_gradient(gradient, t)]

    made = MachineExecutor(recorded(step, [np.ones((4, 5))]))
    assert len([g for g in made.groups if isinstance(g, Chain) and g.shape == (4, 5)]) == 1


def test_copies_are_left_out():
    """Where nobody sees the difference: not of what is written later, on either side, or leaves."""

    def step(a):
        first, second, third, fourth = (xp.multiply(a, n) for n in range(1, 5))
        plain, kept, changed, late = (xp.array(x) for x in (first, second, third, fourth))
        xp.iadd(changed, a)  # its source is not read any more
        xp.iadd(late, a)
        return [plain, kept, second, changed, late, xp.add(fourth, a)]

    values = np.arange(12.0).reshape(3, 4)
    program = recorded(step, [values])
    assert len(program.instructions) - len(without_copies(program).instructions) == 2
    assert_same(*both(step, [values]))


def test_calls_of_kernels():
    """What the machine lacks is called, with what chains have made, and what it gives goes on."""

    def step(a):
        ordered = xp.sort(xp.multiply(a, 2), axis=0)
        return [xp.add(ordered, 1), xp.cumsum(ordered, axis=1)]

    program = recorded(step, [np.random.default_rng(0).normal(size=(6, 7))])
    made = MachineExecutor(program)
    assert [g.made.op for g in made.groups if isinstance(g.made, Instruction)] == [
        "xp.sort",
        "xp.cumsum",
    ]
    values = np.random.default_rng(2).normal(size=(6, 7))
    assert_same(PythonExecutor(program).run([values]), made.run([values]))


def given_by(function, *arrays):
    """A machine of one call: what it gives for the arrays is the only output."""
    buffers = [(0, a.nbytes, None) for a in arrays] + [(4, arrays[0].nbytes, True)]
    views = [(n, 0, a.shape, a.strides, a.dtype, False) for n, a in enumerate([*arrays, arrays[0]])]
    inputs, last = [*range(len(arrays))], len(arrays)
    kernel = (function, None, (None,) * last, tuple(inputs), (), (last,))
    return machine.Machine(buffers, views, inputs, [last], [(2, kernel, ())])


def test_what_a_call_gives_is_taken_as_it_is():
    """No copy is made of an array that nobody else has; one is of all others."""
    made = []

    def doubled(a):
        made.append(CPU.address(found := a * 2))
        return [(found,)]

    values = np.arange(3.0)
    (found,) = given_by(doubled, values).run([values])
    assert found.tolist() == [0, 2, 4] and CPU.address(found) == made[0]
    kept = np.arange(3.0)
    for function in (
        lambda a: kept, lambda a: kept[:], lambda a: np.arange(6.0)[::2] / 2, lambda a: a,
        lambda a: (kept,), lambda a: np.arange(4.0)[:3], lambda a: np.ma.asarray(kept),
    ):  # fmt: skip
        (found,) = given_by(function, values).run([values])
        assert found.tolist() == [0, 1, 2] and found.base is None
        assert not np.shares_memory(found, kept) and not np.shares_memory(found, values)
    with pytest.raises(RuntimeError, match="not as it was when recorded"):
        given_by(lambda a: a[:2], values).run([values])
    with pytest.raises(ZeroDivisionError):
        given_by(lambda a: 1 / 0, values).run([values])


def test_compiled_functions_are_called_and_answer_with_none():
    """The kernel of Python runs where a compiled function does not take the arrays."""
    values = np.random.default_rng(0).normal(size=(40, 30))

    def step(a):
        taken = RECORDING.raw.softmax(a, -1)
        left = RECORDING.raw.softmax(a, 0)
        return [RECORDING.raw._softmax_gradient(taken, left, -1), left]

    program = recorded(step, [values])
    found, wanted = MachineExecutor(program).run([values]), PythonExecutor(program).run([values])
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_memory_of_calls_is_let_go_after_its_last_use():
    """And nothing may name it then, nor before it is made."""
    gone = []

    def doubled(a):
        found = a * 2
        weakref.finalize(found, gone.append, "doubled")
        return found

    views = [(n, 0, (3,), (8,), np.dtype("float64"), False) for n in range(2)]
    buffers = [(0, 24, None), (4, 24, False)]
    call = (np.negative, None, (None,), (0,), (), (1,))
    again = (np.negative, None, (None,), (1,), (), (-1,))
    seen = (lambda: gone.append("later"), None, (), (), (), (-1,))
    lines = [(2, (doubled, *call[1:]), ()), (2, again, (1,)), (2, seen, ())]
    machine.Machine(buffers, views, [0], [], lines).run([np.zeros(3)])
    assert gone == ["doubled", "later"]
    for instructions in (
        [(2, again, ())],  # before it is made
        [(2, call, (1,)), (2, again, ())],  # after it is let go
        [(2, call, ()), (2, call, ())],  # made twice
        [(2, call, (0,))],  # an input is let go
        [(2, (np.negative, None, (None,), (7,), (), (1,)), ())],
        [(2, (np.negative, None, (None,), (0,), (), (7,)), ())],
        [(2, (np.negative, None, (None,), (), (), (1,)), ())],
        [(2, (None, None, (None,), (0,), (), (1,)), ())],
    ):
        with pytest.raises(ValueError):
            machine.Machine(buffers, views, [0], [], instructions)


def test_outputs_keep_their_memory():
    made = MachineExecutor(recorded(lambda a: [xp.add(a, 1)], [np.zeros(3)]))
    (first,), (second,) = made.run([np.zeros(3)]), made.run([np.ones(3)])
    assert first.tolist() == [1, 1, 1] and second.tolist() == [2, 2, 2]


@pytest.mark.parametrize("other", [np.zeros(4), np.zeros(3, "f"), np.zeros(6)[::2], [0.0] * 3])
def test_arrays_that_are_laid_out_otherwise(other):
    made = MachineExecutor(recorded(lambda a: [xp.add(a, 1)], [np.zeros(3)]))
    with pytest.raises(ValueError, match="laid out otherwise"):
        made.run([other])
    with pytest.raises(TypeError, match="takes 1 arrays"):
        made.run([])


def test_bad_programs_are_refused():
    """Bounds are looked at when the machine is made: nothing is when it runs."""
    slot = recorded(lambda a: [a], [np.zeros(3)]).inputs[0]
    outside = Slot(1, slot.buffer, 8, (3,), (8,), slot.dtype)
    with pytest.raises(ValueError, match="inside of its buffer"):
        MachineExecutor(Program([slot.buffer], [slot, outside], [], [slot], [outside]))
    make = machine.Machine
    views = [(0, 0, (3,), (8,), np.dtype("float64"), False)]
    numbers = machine.OPERATIONS
    for chain in (
        (1, (3,), [(0, 8, (8,), 0)], [], [], [(numbers["LOAD"], 0, 0, 0, 0)], 0, 1),
        (1, (3,), [], [], [], [(numbers["add"], 0, 0, 0, 0)], 0, 1),
        (1, (3,), [], [], [], [(numbers["LOAD"], 0, 0, 0, 0)], 0, 1),
        (1, (3,), [], [], [1.0], [(numbers["CONSTANT"], 5, 0, 0, 0)], 1, 1),
        (1, (3,), [], [], [], [(999, 0, 0, 0, 0)], 0, 1),
        (1, (3,), [], [(0, 16, (1,), 3, 1.0, 0)], [], [], 0, 1),
        (1, (3,), [], [(0, 0, (0,), 1, 1.0, 3)], [], [], 0, 1),
        (1, (3,), [], [], [], [], 0, 4000),
        (2, (3,), [], [], [], [], 0, 1),
    ):
        with pytest.raises(ValueError):
            make([(0, 24, None)], views, [0], [0], [(0, chain)])
    for product in (
        (1, 1, 2, 2, 1, (0, 0, 0, 1, 1), (0, 0, 0, 1, 1), (0, 0, 0, 2, 1), None),
        (1, 1, 100, 100, 100, (0, 0, 0, 0, 0), (0, 0, 0, 0, 0), (0, 0, 0, 0, 0), None),
    ):
        with pytest.raises(ValueError):
            make([(0, 24, None)], views, [0], [0], [(1, product)])


def test_what_is_made_of_constants_is_made_once():
    """A mask is; not what is written later or leaves, random numbers, memory without values."""

    def step(a):
        mask = xp.where(xp.tri(3, 3, dtype=bool), 0.0, -np.inf)
        written, left = xp.tri(3, 3), xp.add(xp.tri(3, 3), 1.0)
        xp.iadd(written, a)
        drawn = RECORDING.drawn(np.random.default_rng().normal, 0, 1, (3, 3))
        return [xp.add(a, mask), written, left, xp.multiply(drawn, xp.zeros((3, 3)))]

    values = np.arange(9.0).reshape(3, 3)
    program = recorded(step, [values])
    names = [each.op for each in with_constants(program).instructions]
    assert names.count("xp.tri") == 1 and "xp.where" not in names and "drawn" in names
    made = MachineExecutor(program)
    for _ in range(2):
        wanted, found = PythonExecutor(program).run([values]), made.run([values])
        np.testing.assert_array_equal(found[0], wanted[0])
        np.testing.assert_array_equal(found[1], wanted[1])
        np.testing.assert_array_equal(found[2], wanted[2])
        found[1][...] = found[2][...] = 7  # the caller's now


def test_shapes_that_take_a_copy():
    values = np.arange(24.0).reshape(2, 3, 4)
    assert_same(
        *both(lambda a: [xp.reshape(xp.transpose(a, (2, 0, 1)), (6, 4)), a.T.ravel()], [values])
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("skipped", [0, 1])
def test_arrays_that_are_too_large_for_the_caches(build, dtype, skipped):
    """They are stored past them: all elements, wherever the memory begins."""
    values = np.random.default_rng(0).normal(size=(8 << 20) // np.dtype(dtype).itemsize + 77)
    values = values.astype(dtype)[skipped:]

    def step(a):
        xp.copyto(a, xp.add(a, 1))
        return [xp.multiply(a, 3), xp.maximum(a, 0)]

    assert_same(*both(step, [values]))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_threads_give_the_same_bits(axis):
    """Parts are the same for any number of threads, and sums add them up in one order."""
    values = np.random.default_rng(0).normal(size=(70_001, 7)).astype("float32")

    def step(a):
        return [xp.tanh(a), xp.sum(xp.multiply(a, a), axis=axis), xp.add(a, xp.sum(a, axis=axis)
                if axis != 1 else 1.0)]  # fmt: skip

    program = recorded(step, [values])
    results = []
    before = torch.get_num_threads()
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append(MachineExecutor(program).run([values]))
    finally:
        torch.set_num_threads(before)
    for several in results[1:]:
        assert_same(results[0], several)
    for one, other in zip(results[0], PythonExecutor(program).run([values]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1,), (7, 10), (3, 1, 40), (300, 5), (2, 70_000)])
def test_extremes_at_the_end_of_a_chain(build, shape, dtype):
    """Along any dimension, with NumPy's nans; zeros may have either sign, as there."""
    values = np.random.default_rng(0).normal(size=shape).astype(dtype)
    unclear = values.copy()
    unclear.reshape(-1)[values.size // 2] = np.nan
    unclear.reshape(-1)[0] = -np.inf

    def step(a):
        found = []
        for axis in (None, *range(a.ndim)):
            found += [xp.max(xp.add(a, 1), axis=axis), xp.min(a, axis=axis, keepdims=True)]
        return found

    for each in (values, unclear, np.full(shape, -np.inf, dtype)):
        for wanted, made in zip(*both(step, [each]), strict=True):
            assert made.dtype == wanted.dtype and made.shape == wanted.shape
            np.testing.assert_array_equal(made, wanted)


def test_short_softmax_is_chains():
    """A result that is written to a given place, by place in the call, is not lost."""
    values = np.random.default_rng(0).normal(size=(32, 10)) * 30

    def step(a):
        found = RECORDING.raw.log_softmax(a, 1)
        return [
            found,
            RECORDING.raw.softmax(a, 1),
            RECORDING.raw._log_softmax_gradient(a, found, 1),
        ]

    expected, found = both(step, [values])
    for wanted, made in zip(expected, found, strict=True):
        np.testing.assert_allclose(made, wanted, rtol=1e-12, atol=1e-13)

    def placed(a):
        out = xp.multiply(a, 2)
        xp.exp(out, out)
        return [out]

    assert "out" in recorded(placed, [values]).instructions[-1].keywords
    (wanted, _), (made, _) = (x[:2] for x in both(placed, [values]))
    np.testing.assert_allclose(made, wanted, rtol=1e-12)
