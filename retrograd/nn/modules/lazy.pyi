"""What PyTorch has in ``torch.nn.modules.lazy``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.lazy import LazyModuleMixin as LazyModuleMixin
