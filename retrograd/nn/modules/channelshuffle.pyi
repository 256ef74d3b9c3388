"""What PyTorch has in ``torch.nn.modules.channelshuffle``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.channelshuffle import ChannelShuffle as ChannelShuffle
