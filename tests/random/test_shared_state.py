"""The state of a generator that many may come back to, in one array."""

import pytest

import retrograd as torch
from retrograd.random import default_generator, fork_rng


def test_it_is_one_array_until_something_is_drawn():
    torch.manual_seed(3)
    first = default_generator.shared_state()
    assert default_generator.shared_state() is first
    torch.rand(2)
    assert default_generator.shared_state() is not first


def test_nobody_can_write_it():
    with pytest.raises(ValueError, match="read-only"):
        default_generator.shared_state()[0] = 1
    state = torch.get_rng_state()
    state[0] = 1  # a copy: it is the caller's own


def test_a_fork_comes_back_to_it():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    with fork_rng():
        inside = torch.rand(3)
        with fork_rng():
            torch.rand(5)
        further = torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(torch.cat([inside, further]), torch.rand(6))
