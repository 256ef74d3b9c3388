"""Invertible maps between constrained spaces.

>>> import retrograd as torch
>>> from retrograd.distributions.transforms import AffineTransform, ComposeTransform, TanhTransform
>>> squash = ComposeTransform([TanhTransform(), AffineTransform(1.0, 2.0)])
>>> x = torch.tensor(0.5)
>>> squash.inv(squash(x))
tensor(0.5000)
>>> squash.log_abs_det_jacobian(x, squash(x))
tensor(0.4529)
"""

from retrograd.distributions.transforms.base import ComposeTransform as ComposeTransform
from retrograd.distributions.transforms.base import IndependentTransform as IndependentTransform
from retrograd.distributions.transforms.base import Transform as Transform
from retrograd.distributions.transforms.base import _InverseTransform as _InverseTransform
from retrograd.distributions.transforms.base import identity_transform as identity_transform
from retrograd.distributions.transforms.elementwise import AbsTransform as AbsTransform
from retrograd.distributions.transforms.elementwise import AffineTransform as AffineTransform
from retrograd.distributions.transforms.elementwise import (
    CumulativeDistributionTransform as CumulativeDistributionTransform,
)
from retrograd.distributions.transforms.elementwise import ExpTransform as ExpTransform
from retrograd.distributions.transforms.elementwise import PowerTransform as PowerTransform
from retrograd.distributions.transforms.elementwise import SigmoidTransform as SigmoidTransform
from retrograd.distributions.transforms.elementwise import SoftplusTransform as SoftplusTransform
from retrograd.distributions.transforms.elementwise import TanhTransform as TanhTransform
from retrograd.distributions.transforms.parts import CatTransform as CatTransform
from retrograd.distributions.transforms.parts import StackTransform as StackTransform
from retrograd.distributions.transforms.structured import (
    CorrCholeskyTransform as CorrCholeskyTransform,
)
from retrograd.distributions.transforms.structured import (
    LowerCholeskyTransform as LowerCholeskyTransform,
)
from retrograd.distributions.transforms.structured import (
    PositiveDefiniteTransform as PositiveDefiniteTransform,
)
from retrograd.distributions.transforms.structured import ReshapeTransform as ReshapeTransform
from retrograd.distributions.transforms.structured import SoftmaxTransform as SoftmaxTransform
from retrograd.distributions.transforms.structured import (
    StickBreakingTransform as StickBreakingTransform,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]
