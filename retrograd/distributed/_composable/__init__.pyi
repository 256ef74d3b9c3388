"""Parts of a model in several processes: refused, see `fsdp`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed._composable import fsdp as fsdp
