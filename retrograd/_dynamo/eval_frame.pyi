"""The module of PyTorch's compiler whose class tells compiled models from others.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.optimized import OptimizedModule as OptimizedModule
def is_dynamo_supported(*args: object, **options: object) -> bool: 'Whether models can be compiled here: no.'
