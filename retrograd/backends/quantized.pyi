"""Kernels for quantized tensors, of which there are none: the setting is remembered.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


engine: str
supported_engines: list[str]
