"""Versions: that of the PyTorch whose interface this is, and none of accelerators.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.torch_version import TORCH_VERSION

__version__ = TORCH_VERSION
cuda: str | None
debug: bool
git_version: str
hip: str | None
rocm: str | None
xpu: str | None
