"""What PyTorch has in ``torch.nn.modules.fold``."""

from retrograd.nn.fold import Fold as Fold
from retrograd.nn.fold import Unfold as Unfold
