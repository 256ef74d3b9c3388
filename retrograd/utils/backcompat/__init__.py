"""Warnings about changes of long ago: they can be switched, and are never given.

>>> import retrograd as torch
>>> torch.utils.backcompat.broadcast_warning.enabled
False
"""


class Warning:
    """A switch that is remembered."""

    enabled = False


broadcast_warning = Warning()
keepdim_warning = Warning()
