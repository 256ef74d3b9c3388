"""What PyTorch has in ``torch.nn.modules.sparse``."""

from retrograd.nn.sparse import Embedding as Embedding
from retrograd.nn.sparse import EmbeddingBag as EmbeddingBag
