"""All operations, by topic. Importing this package registers them.

``torch.ops.aten`` is here as well: PyTorch's names for ops, see `calling.overloads`.
"""

import sys as _sys
from typing import Any as _Any

from retrograd.ops import (
    compositions,
)
from retrograd.ops.elementwise import (
    arithmetic,
    bitwise,
    comparison,
    complexes,
    division,
    polynomials,
    power,
    rounding,
    selection,
    signs,
    special,
    special_bessel,
    special_gamma,
    ternary,
    trigonometry,
    unary,
)
from retrograd.ops.indexing import (
    brackets,
    flat,
    gathering,
    masking,
    reductions,
    tensors,
    vectors,
)
from retrograd.ops.linalg import (
    cholesky,
    einsum,
    functions,
    ldl,
    low_rank,
    lu,
    matmul,
    norm,
    pinv,
    product_sums,
    products,
    qr,
    reflections,
    solve,
    spectral,
    tensor_products,
)
from retrograd.ops.neural import (
    activation,
    adaptive_pooling,
    attention,
    batch_normalization,
    binary_loss,
    classification,
    convolution,
    ctc_loss,
    distance,
    dropout,
    embedding,
    folding,
    fractional_pooling,
    grid_sampling,
    leaky_activation,
    linear_cross_entropy,
    loss,
    margin_loss,
    native_forms,
    normalization,
    padding,
    pooling,
    recurrent_steps,
    resampling,
    smooth_activation,
    softmax,
    weight_norm,
)
from retrograd.ops.reduction import (
    counting,
    extremes,
    finite_differences,
    norms,
    order_statistics,
    reduce,
    scan,
    segments,
    sorting,
    statistics,
)
from retrograd.ops.shapes import (
    broadcasting,
    copying,
    dimensions,
    dual,
    joining,
    rearranging,
    regions,
    replay,
    shape,
    splitting,
    striding,
    view_copies,
    view_inplace,
)
from retrograd.ops.signals import (
    fft,
    fft_many,
    short_time_fourier,
    window_functions,
)

# Files that a program wanted to load. What it goes on to say of an operator may be about theirs.
_refused_libraries: list[str] = []


def load_library(path: _Any) -> None:
    """Load operators that are compiled for PyTorch: an OSError, as for any file that is unusable.

    Packages go on without their compiled part then, and may still register rules for its operators:
    these are kept, and the operators refuse when they are called.

    >>> torch.ops.load_library("_C.so")
    Traceback (most recent call last):
    OSError: _C.so: operators that are compiled for PyTorch cannot be loaded by retrograd
    """
    _refused_libraries.append(str(path))
    raise OSError(f"{path}: operators that are compiled for PyTorch cannot be loaded by retrograd")


def __getattr__(name: str) -> _Any:
    if name in ("aten", "prim", "retrograd"):  # seldom needed: imported when asked for
        from retrograd.ops.calling.overloads import namespace

        return namespace(name)
    overloads = _sys.modules.get("retrograd.ops.calling.overloads")
    if overloads is not None and not name.startswith("_") and overloads.is_declared(name):
        return overloads.namespace(name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
