"""Warnings about changes of long ago: they can be switched, and are never given.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


class _broadcast_warning_settings:
    enabled: bool
broadcast_warning: _broadcast_warning_settings
class _keepdim_warning_settings:
    enabled: bool
keepdim_warning: _keepdim_warning_settings
