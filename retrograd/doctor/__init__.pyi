"""The doctor: runs a PyTorch program, explains its autograd mistakes, and tries its own advice.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.doctor.library import Report as Report
def load_ipython_extension(shell: object) -> None: ...
from retrograd.doctor.library import watch as watch
