"""What PyTorch has in ``torch.nn.modules.distance``."""

from retrograd.nn.distance import CosineSimilarity as CosineSimilarity
from retrograd.nn.distance import PairwiseDistance as PairwiseDistance
