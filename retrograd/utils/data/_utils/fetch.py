"""`torch.utils.data._utils.fetch`: the fetchers under PyTorch's names."""

from retrograd.utils.data.fetch import MapFetcher as _MapDatasetFetcher
from retrograd.utils.data.fetch import StreamFetcher as _IterableDatasetFetcher

__all__ = ["_IterableDatasetFetcher", "_MapDatasetFetcher"]
