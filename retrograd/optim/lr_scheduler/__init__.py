"""Learning rate schedules: change the optimizer's learning rate from epoch to epoch."""

from retrograd.optim.lr_scheduler.base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from retrograd.optim.lr_scheduler.base import LRScheduler as LRScheduler
from retrograd.optim.lr_scheduler.combine import ChainedScheduler as ChainedScheduler
from retrograd.optim.lr_scheduler.combine import SequentialLR as SequentialLR
from retrograd.optim.lr_scheduler.cycles import (
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
)
from retrograd.optim.lr_scheduler.cycles import CyclicLR as CyclicLR
from retrograd.optim.lr_scheduler.cycles import OneCycleLR as OneCycleLR
from retrograd.optim.lr_scheduler.decay import ConstantLR as ConstantLR
from retrograd.optim.lr_scheduler.decay import CosineAnnealingLR as CosineAnnealingLR
from retrograd.optim.lr_scheduler.decay import ExponentialLR as ExponentialLR
from retrograd.optim.lr_scheduler.decay import LinearLR as LinearLR
from retrograd.optim.lr_scheduler.decay import MultiStepLR as MultiStepLR
from retrograd.optim.lr_scheduler.decay import PolynomialLR as PolynomialLR
from retrograd.optim.lr_scheduler.decay import StepLR as StepLR
from retrograd.optim.lr_scheduler.functions import LambdaLR as LambdaLR
from retrograd.optim.lr_scheduler.functions import MultiplicativeLR as MultiplicativeLR
from retrograd.optim.lr_scheduler.plateau import ReduceLROnPlateau as ReduceLROnPlateau

# Without it a star import would bring the names of the files too.
__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


class _LRScheduler(LRScheduler):
    """The base class's earlier name, which user classes may still inherit from."""
