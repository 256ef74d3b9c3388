"""Versions: that of the PyTorch whose interface this is, and none of accelerators."""

from retrograd.torch_version import TORCH_VERSION as __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

debug = False
cuda = None
git_version = "unknown"
hip = None
rocm = None
xpu = None
