"""Random numbers of the device: PyTorch's, by its table of results."""

from __future__ import annotations

import json
import unittest
from pathlib import Path

import retrograd as torch
from retrograd.random import state
from retrograd.random.cuda import CudaGenerator
from retrograd.random.philox import Grid
from retrograd.utils.checkpoint import checkpoint
from tests.cuda.device.comparing import raised
from tests.cuda.draws import compare

TABLE = Path(__file__).parent.parent / "draws.json"


def test_every_draw_is_pytorchs():
    if not TABLE.exists():
        raise unittest.SkipTest("the table was not made yet")
    table = json.loads(TABLE.read_text())
    generator = CudaGenerator.default()
    grid = Grid(table["multiprocessors"], table["threads"])
    if generator.grid != grid and generator.samplers.kernels:
        raise unittest.SkipTest(f"the table is of another device, {table['device']}")
    with generator.of_size(grid):
        wrong, count = compare(table, rounded=not generator.samplers.kernels)
    assert not wrong and count > 300, f"{len(wrong)} of {count}: " + "; ".join(wrong)


def test_states():
    torch.manual_seed(123)
    generator = CudaGenerator.default()
    assert generator.get_state().tolist() == [123] + [0] * 15
    torch.rand(5, device="cuda")
    state = generator.get_state()
    assert state.tolist() == [123] + [0] * 7 + [4] + [0] * 7 and state.device.type == "cpu"
    first = torch.rand(3, device="cuda").tolist()
    generator.set_state(state)
    assert torch.rand(3, device="cuda").tolist() == first


def test_a_generator_of_its_own():
    generator = torch.Generator("cuda")
    assert generator.initial_seed() == 67280421310721 and generator.get_offset() == 0
    generator.manual_seed(7)
    found = torch.rand(2, device="cuda", generator=generator).tolist()
    assert found == [0.9545971155166626, 0.49503979086875916]
    other = generator.clone_state()
    more = torch.rand(2, device="cuda", generator=generator).tolist()
    assert more == [0.4069603979587555, 0.887346625328064]
    assert torch.rand(2, device="cuda", generator=other).tolist() == more
    generator.set_offset(8)
    again = torch.rand(2, device="cuda", generator=generator).tolist()
    assert again == [0.00607512891292572, 0.28963664174079895] and generator.get_offset() == 12


def test_what_is_refused():
    here, there = torch.Generator(), torch.Generator("cuda")
    wanted = "RuntimeError: Expected a '{}' device type for generator but found '{}'"
    assert raised(lambda: torch.rand(2, device="cuda", generator=here)) == wanted.format(
        "cuda", "cpu"
    )
    assert raised(lambda: torch.rand(2, generator=there)) == wanted.format("cpu", "cuda")
    assert raised(lambda: there.set_offset(3)) == "RuntimeError: offset must be a multiple of 4"
    short = torch.zeros(9, dtype=torch.uint8)
    assert raised(lambda: there.set_state(short)) == "RuntimeError: RNG state is wrong size"
    assert raised(here.get_offset) == "RuntimeError: CPU Generator does not use offset"


def test_fork_rng():
    def drawn_inside(**options):
        torch.manual_seed(3)
        with torch.random.fork_rng(**options):
            first = torch.rand(2, device="cuda").tolist()
        return torch.rand(2, device="cuda").tolist() == first

    assert drawn_inside() and drawn_inside(devices=[0]) and drawn_inside(devices=["cuda"])
    assert not drawn_inside(devices=[])


def test_a_generator_that_was_not_asked_for_yet_is_put_back():
    known = dict(state.GENERATORS)
    state.GENERATORS.clear()  # as in a program that has drawn nothing on the device
    try:
        x = torch.ones(64, device="cuda", requires_grad=True)
        y = checkpoint(lambda t: torch.nn.functional.dropout(t, 0.5), x, use_reentrant=False)
        y.sum().backward()
        assert torch.equal(x.grad, y.detach()) and 0 < int((y == 0).sum()) < 64
    finally:
        state.GENERATORS.update(known)
