"""Errors of datasets and of batches say which items of the dataset they are about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd.utils.data import DataLoader, Dataset

Sample = Callable[[int], Any]


class Items(Dataset[Any]):
    def __init__(self, sample: Sample) -> None:
        self.sample = sample

    def __len__(self) -> int:
        return 20

    def __getitem__(self, key: int) -> Any:
        return self.sample(key)


def broken(key: int) -> int:
    if key == 13:
        raise ValueError("broken sample")
    return key


def uneven(key: int) -> Any:
    return torch.ones(3 if key == 13 else 2)


def absent(key: int) -> Any:
    return None if key == 13 else torch.ones(2)


def failure(sample: Sample, **options: Any) -> Any:
    with pytest.raises(Exception) as caught:
        list(DataLoader(Items(sample), **options))
    return caught.value


def test_a_sample_that_cannot_be_read() -> None:
    error = failure(broken, batch_size=4)
    assert (type(error), str(error)) == (ValueError, "broken sample")
    assert error.__notes__ == ["while reading item 13 of the dataset (Items)"]
    assert failure(broken, batch_size=None).__notes__ == error.__notes__


def test_samples_that_do_not_fit_together() -> None:
    error = failure(uneven, batch_size=4)
    assert str(error).startswith("stack expects each tensor to be equal size, but got [2] at")
    assert error.__notes__[-1] == (
        "while making a batch of items [12, 13, 14, 15] of the dataset (Items): "
        "entry 0 is item 12, entry 1 is item 13"
    )
    error = failure(absent, batch_sampler=[(1, 13)])
    assert error.__notes__[-1].endswith("items (1, 13) of the dataset (Items): entry 1 is item 13")


def test_long_batches_are_shortened() -> None:
    error = failure(uneven, batch_size=20)
    assert "items [0, 1, 2, 3, 4, 5, 6, 7, ...] of" in error.__notes__[-1]
    assert error.__notes__[-1].endswith("entry 13 is item 13")


def test_datasets_that_read_many_items_at_once() -> None:
    class Many(Items):
        def __getitems__(self, keys: list[int]) -> Any:
            return [self[key] for key in keys]

    with pytest.raises(ValueError) as caught:
        list(DataLoader(Many(broken), batch_size=2))
    assert caught.value.__notes__ == ["while reading items [12, 13] of the dataset (Many)"]


def test_workers_tell_it_in_their_traceback() -> None:
    error = failure(broken, batch_size=4, num_workers=1)
    assert str(error).startswith("Caught ValueError in DataLoader worker process 0.\n")
    assert "while reading item 13 of the dataset (Items)" in str(error)


def test_short_reports_have_no_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETROGRAD_REPORT", "short")
    assert not hasattr(failure(broken, batch_size=4), "__notes__")


def load(model: torch.nn.Module, state: dict[str, Any]) -> Any:
    with pytest.raises(RuntimeError, match=r"Error\(s\) in loading state_dict") as caught:
        model.load_state_dict(state)
    return caught.value


def test_state_with_a_prefix_too_much_or_too_little() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    wrapped = torch.nn.ModuleDict({"module": model})
    (note,) = load(model, wrapped.state_dict()).__notes__
    assert 'begins with "module."' in note and 'key.removeprefix("module.")' in note
    (note,) = load(wrapped, model.state_dict()).__notes__
    assert 'every key of the model begins with "module."' in note
    assert "load it into model.module, or load" in note
    deeper = {f"a.b.{key}": value for key, value in model.state_dict().items()}
    assert 'removeprefix("a.b.")' in load(model, deeper).__notes__[0]


def test_other_states_have_no_hint() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    for state in ({}, {"x": torch.ones(1)}, {**model.state_dict(), "module.x": torch.ones(1)}):
        assert not hasattr(load(model, state), "__notes__")
