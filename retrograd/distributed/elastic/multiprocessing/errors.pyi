"""Errors that a launcher reads: `record` marks the main function, whose error Python shows.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.namespaces.as_written import decorated

record = decorated
