"""What PyTorch has in ``torch.nn.modules.channelshuffle``."""

from retrograd.nn.channelshuffle import ChannelShuffle as ChannelShuffle
