"""Whether mixed precision on CUDA is out of the question.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.cuda.amp import amp_definitely_not_available as amp_definitely_not_available
