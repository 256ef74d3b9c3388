"""PyTorch's private place for parts of the loader that programs import all the same."""

from retrograd.utils.data._utils import collate as collate
