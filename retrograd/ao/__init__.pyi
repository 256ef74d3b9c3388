"""Models made smaller: what there was to name is in `torch.ao.quantization`, and refuses.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.ao import quantization as quantization
