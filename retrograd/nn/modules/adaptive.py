"""What PyTorch has in ``torch.nn.modules.adaptive``."""

from retrograd.nn.adaptive import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from retrograd.nn.adaptive import _ASMoutput as _ASMoutput
