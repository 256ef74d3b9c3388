"""How the samples of a batch come out of a dataset, in the main process or in a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class MapFetcher:
    """Looks up the samples of a dataset with `__getitem__`."""

    def __init__(
        self, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> None:
        self.dataset = dataset
        self.batched = batched
        self.collate_fn = collate_fn

    def fetch(self, index: Any) -> Any:
        """The batch of a list of keys or, without batches, the sample of a key."""
        if not self.batched:
            return self.collate_fn(self.dataset[index])
        at_once = getattr(self.dataset, "__getitems__", None)
        if at_once:
            return self.collate_fn(at_once(index))
        return self.collate_fn([self.dataset[key] for key in index])


class StreamFetcher:
    """Takes the next samples out of an iterable dataset."""

    def __init__(
        self, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> None:
        self.samples = iter(dataset)
        self.batched = batched
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, index: Any) -> Any:
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
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool
    ) -> MapFetcher | StreamFetcher:
        fetcher = MapFetcher if kind == _DatasetKind.Map else StreamFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)
