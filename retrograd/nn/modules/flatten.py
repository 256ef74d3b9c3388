"""What PyTorch has in ``torch.nn.modules.flatten``."""

from retrograd.nn.flatten import Flatten as Flatten
from retrograd.nn.flatten import Unflatten as Unflatten
