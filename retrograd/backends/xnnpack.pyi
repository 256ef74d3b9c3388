"""XNNPACK: absent.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


enabled: bool
