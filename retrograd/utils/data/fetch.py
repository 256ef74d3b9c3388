"""How the samples of a batch come out of a dataset, in the main process or in a worker."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any


class MapFetcher:
    """Looks up the samples of a dataset with `__getitem__`."""

    def __init__(
        self, dataset: Any, batched: bool, collate_fn: Callable[[Any], object], drop_last: bool
    ) -> None:
        self.dataset = dataset
        self.batched = batched
        self.collate_fn = collate_fn

    def fetch(self, index: Any) -> object:
        """The batch of a list of keys or, without batches, the sample of a key."""
        key = index
        try:
            if not self.batched:
                sample = self.dataset[index]
                key = _NO_KEY
                return self.collate_fn(sample)
            at_once = getattr(self.dataset, "__getitems__", None)
            if at_once:
                samples = at_once(index)
            else:
                samples = []
                for key in index:
                    samples.append(self.dataset[key])
            key = _NO_KEY
            return self.collate_fn(samples)
        except Exception as error:
            _note_key(error, self.dataset, index, key)
            raise


_NO_KEY = object()
_MOST_KEYS = 8


def _note_key(error: Exception, dataset: object, index: object, key: object) -> None:
    """Tell in a note which items of the dataset an error is about.

    key  the one that was looked up; `_NO_KEY` if all samples were there and did not fit together
    """
    if os.environ.get("RETROGRAD_REPORT") == "short":
        return
    name = type(dataset).__name__
    if key is not _NO_KEY:
        what = "items" if isinstance(key, list | tuple) else "item"
        error.add_note(f"while reading {what} {_keys(key)} of the dataset ({name})")
        return
    text = f"while making a batch of items {_keys(index)} of the dataset ({name})"
    if isinstance(index, list | tuple):
        # Messages count the samples of a batch; the dataset has them under other numbers.
        places = [int(place) for place in re.findall(r"(?:entry|element) (\d+)\b", str(error))]
        known = [place for place in dict.fromkeys(places) if place < len(index)]
        if known:
            text += ": " + ", ".join(f"entry {place} is item {index[place]!r}" for place in known)
    error.add_note(text)


def _keys(index: object) -> str:
    if isinstance(index, list | tuple) and len(index) > _MOST_KEYS:
        return "[" + ", ".join(repr(key) for key in index[:_MOST_KEYS]) + ", ...]"
    return repr(index)


class StreamFetcher:
    """Takes the next samples out of an iterable dataset."""

    def __init__(
        self, dataset: Any, batched: bool, collate_fn: Callable[[Any], object], drop_last: bool
    ) -> None:
        self.samples = iter(dataset)
        self.batched = batched
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, index: Any) -> object:
        """The next batch, as long as `index`, or the next sample; StopIteration at the end."""
        if self.ended:
            raise StopIteration
        if not self.batched:
            return self.collate_fn(next(self.samples))
        batch = []
        for _ in index:
            try:
                batch.append(next(self.samples))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and len(batch) < len(index)):
            raise StopIteration
        return self.collate_fn(batch)


class _DatasetKind:
    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int,
        dataset: object,
        auto_collation: bool,
        collate_fn: Callable[[Any], object],
        drop_last: bool,
    ) -> MapFetcher | StreamFetcher:
        fetcher = MapFetcher if kind == _DatasetKind.Map else StreamFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)
