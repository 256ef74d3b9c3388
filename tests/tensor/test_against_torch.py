"""The record is what real PyTorch does now, and random numbers agree with it call by call."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")

import retrograd
from tests.tensor.record import PLACE, record


def test_the_record_is_current() -> None:
    before = torch.is_warn_always_enabled()
    torch.storage._reset_warn_typed_storage_removal()  # said once, perhaps in another test
    try:
        found = json.loads(json.dumps(record()))
    finally:
        torch.set_warn_always(before)
        torch.set_default_device(None)  # even "cpu" is a mode that other tests would notice
    recorded = json.loads(PLACE.read_text(encoding="utf-8"))
    assert found.keys() == recorded.keys()
    for group, expressions in found.items():
        assert expressions == recorded[group], group


def test_generator_states_are_interchangeable() -> None:
    torch.manual_seed(11)
    torch.randn(7)
    retrograd.set_rng_state(retrograd.from_numpy(torch.get_rng_state().numpy()))
    assert retrograd.randn(33).tolist() == torch.randn(33).tolist()
    torch.set_rng_state(torch.from_numpy(retrograd.get_rng_state().numpy()))
    assert retrograd.rand(3).tolist() == torch.rand(3).tolist()


def test_dlpack_both_ways() -> None:
    ours = retrograd.arange(6.0).reshape(2, 3)
    theirs = torch.from_dlpack(ours)
    theirs[0, 0] = 7
    assert ours[0, 0].item() == 7
    back = retrograd.from_dlpack(torch.arange(3))
    assert back.tolist() == [0, 1, 2]
