"""`torch.utils.data._utils.fetch`: the fetchers under PyTorch's names.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.utils.data.fetch import MapFetcher
from retrograd.utils.data.fetch import StreamFetcher

_IterableDatasetFetcher = StreamFetcher
_MapDatasetFetcher = MapFetcher
