"""What PyTorch has in ``torch.nn.modules.sparse``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.sparse import Embedding as Embedding
from retrograd.nn.sparse import EmbeddingBag as EmbeddingBag
