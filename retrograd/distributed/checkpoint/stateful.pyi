"""What has a state that can be kept.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.namespaces.stateful import Stateful as Stateful
