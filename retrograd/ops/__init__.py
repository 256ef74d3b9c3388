"""All operations, by topic. Importing this package registers them.

``torch.ops.aten`` is here as well: PyTorch's names for ops, see `ops.overloads`.
"""

import sys as _sys
from typing import Any as _Any

from retrograd.ops import activation as activation
from retrograd.ops import adaptive_pooling as adaptive_pooling
from retrograd.ops import advanced_indexing as advanced_indexing
from retrograd.ops import arithmetic as arithmetic
from retrograd.ops import attention as attention
from retrograd.ops import batch_normalization as batch_normalization
from retrograd.ops import binary_loss as binary_loss
from retrograd.ops import bitwise as bitwise
from retrograd.ops import broadcasting as broadcasting
from retrograd.ops import classification as classification
from retrograd.ops import comparison as comparison
from retrograd.ops import complexes as complexes
from retrograd.ops import convolution as convolution
from retrograd.ops import copying as copying
from retrograd.ops import counting as counting
from retrograd.ops import ctc_loss as ctc_loss
from retrograd.ops import dimensions as dimensions
from retrograd.ops import distance as distance
from retrograd.ops import division as division
from retrograd.ops import dropout as dropout
from retrograd.ops import dual as dual
from retrograd.ops import einsum as einsum
from retrograd.ops import embedding as embedding
from retrograd.ops import extremes as extremes
from retrograd.ops import fft as fft
from retrograd.ops import fft_many as fft_many
from retrograd.ops import finite_differences as finite_differences
from retrograd.ops import flat_indexing as flat_indexing
from retrograd.ops import folding as folding
from retrograd.ops import fractional_pooling as fractional_pooling
from retrograd.ops import gathering as gathering
from retrograd.ops import grid_sampling as grid_sampling
from retrograd.ops import index_reduction as index_reduction
from retrograd.ops import index_vectors as index_vectors
from retrograd.ops import indexing as indexing
from retrograd.ops import joining as joining
from retrograd.ops import leaky_activation as leaky_activation
from retrograd.ops import linalg_cholesky as linalg_cholesky
from retrograd.ops import linalg_functions as linalg_functions
from retrograd.ops import linalg_ldl as linalg_ldl
from retrograd.ops import linalg_lu as linalg_lu
from retrograd.ops import linalg_norm as linalg_norm
from retrograd.ops import linalg_pinv as linalg_pinv
from retrograd.ops import linalg_qr as linalg_qr
from retrograd.ops import linalg_solve as linalg_solve
from retrograd.ops import linalg_spectral as linalg_spectral
from retrograd.ops import linear_cross_entropy as linear_cross_entropy
from retrograd.ops import loss as loss
from retrograd.ops import low_rank as low_rank
from retrograd.ops import margin_loss as margin_loss
from retrograd.ops import masking as masking
from retrograd.ops import matmul as matmul
from retrograd.ops import native_forms as native_forms
from retrograd.ops import normalization as normalization
from retrograd.ops import norms as norms
from retrograd.ops import order_statistics as order_statistics
from retrograd.ops import padding as padding
from retrograd.ops import polynomials as polynomials
from retrograd.ops import pooling as pooling
from retrograd.ops import power as power
from retrograd.ops import product_sums as product_sums
from retrograd.ops import products as products
from retrograd.ops import rarer as rarer
from retrograd.ops import rearranging as rearranging
from retrograd.ops import reduce as reduce
from retrograd.ops import reflections as reflections
from retrograd.ops import regions as regions
from retrograd.ops import replay as replay
from retrograd.ops import resampling as resampling
from retrograd.ops import rounding as rounding
from retrograd.ops import scan as scan
from retrograd.ops import segments as segments
from retrograd.ops import selection as selection
from retrograd.ops import shape as shape
from retrograd.ops import short_time_fourier as short_time_fourier
from retrograd.ops import signs as signs
from retrograd.ops import smooth_activation as smooth_activation
from retrograd.ops import softmax as softmax
from retrograd.ops import sorting as sorting
from retrograd.ops import special as special
from retrograd.ops import special_bessel as special_bessel
from retrograd.ops import special_gamma as special_gamma
from retrograd.ops import splitting as splitting
from retrograd.ops import statistics as statistics
from retrograd.ops import striding as striding
from retrograd.ops import tensor_products as tensor_products
from retrograd.ops import ternary as ternary
from retrograd.ops import trigonometry as trigonometry
from retrograd.ops import unary as unary
from retrograd.ops import view_copies as view_copies
from retrograd.ops import view_inplace as view_inplace
from retrograd.ops import weight_norm as weight_norm
from retrograd.ops import window_functions as window_functions

from retrograd.ops import second_names as second_names  # isort: skip  (renames what the others declare)


def load_library(path: _Any) -> None:
    """Load operators that are compiled for PyTorch: an OSError, as for any file that is unusable.

    >>> import retrograd as torch
    >>> torch.ops.load_library("_C.so")
    Traceback (most recent call last):
    OSError: _C.so: operators that are compiled for PyTorch cannot be loaded by retrograd
    """
    raise OSError(f"{path}: operators that are compiled for PyTorch cannot be loaded by retrograd")


def __getattr__(name: str) -> _Any:
    if name in ("aten", "prim", "retrograd"):  # seldom needed: imported when asked for
        from retrograd.ops.overloads import namespace

        return namespace(name)
    overloads = _sys.modules.get("retrograd.ops.overloads")
    if overloads is not None and not name.startswith("_") and overloads.is_declared(name):
        return overloads.namespace(name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
