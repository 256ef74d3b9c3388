"""The doctor: runs a PyTorch program, explains its autograd mistakes, and tries its own advice.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from __future__ import _Feature

from retrograd.doctor.library import Report as Report
annotations: _Feature
def load_ipython_extension(shell: object) -> None: ...
from retrograd.doctor.library import watch as watch
