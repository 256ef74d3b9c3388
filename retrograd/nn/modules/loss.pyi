"""What PyTorch has in ``torch.nn.modules.loss``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.loss import BCELoss as BCELoss
from retrograd.nn.loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from retrograd.nn.loss import CTCLoss as CTCLoss
from retrograd.nn.loss import CosineEmbeddingLoss as CosineEmbeddingLoss
from retrograd.nn.loss import CrossEntropyLoss as CrossEntropyLoss
from retrograd.nn.loss import GaussianNLLLoss as GaussianNLLLoss
from retrograd.nn.loss import HingeEmbeddingLoss as HingeEmbeddingLoss
from retrograd.nn.loss import HuberLoss as HuberLoss
from retrograd.nn.loss import KLDivLoss as KLDivLoss
from retrograd.nn.loss import L1Loss as L1Loss
from retrograd.nn.linear_cross_entropy import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from retrograd.nn.loss import MSELoss as MSELoss
from retrograd.nn.loss import MarginRankingLoss as MarginRankingLoss
from retrograd.nn.loss import MultiLabelMarginLoss as MultiLabelMarginLoss
from retrograd.nn.loss import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from retrograd.nn.loss import MultiMarginLoss as MultiMarginLoss
from retrograd.nn.loss import NLLLoss as NLLLoss
from retrograd.nn.loss import NLLLoss2d as NLLLoss2d
from retrograd.nn.loss import PoissonNLLLoss as PoissonNLLLoss
from retrograd.nn.loss import SmoothL1Loss as SmoothL1Loss
from retrograd.nn.loss import SoftMarginLoss as SoftMarginLoss
from retrograd.nn.loss import TripletMarginLoss as TripletMarginLoss
from retrograd.nn.loss import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from retrograd.nn.loss import _Loss as _Loss
from retrograd.nn.loss import _WeightedLoss as _WeightedLoss
