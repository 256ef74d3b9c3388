"""What PyTorch has in ``torch.nn.modules.distance``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.distance import CosineSimilarity as CosineSimilarity
from retrograd.nn.distance import PairwiseDistance as PairwiseDistance
