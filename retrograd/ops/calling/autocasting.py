"""Autocast on the CPU: which functions run in the lower precision, which in float32.

The lists are PyTorch's (its kernels for the dispatch key `AutocastCPU`), by PyTorch's names. Where
a function of a list is called while autocast is on, its floating-point operands are cast first, and
the function itself runs with autocast off. float64 is left alone; so are the forms that write, in
place or into ``out=``. Casts are ordinary ops of the graph (`ToCopyBackward0`).

Nothing here costs anything before autocast is first turned on. Ops then come to the general path
(the count `UNUSUAL`), which asks `cast_arguments`. Functions that are made of ops have no such
place: `install` exchanges the code of those in a list, where they are, for a call of `_Entry`.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from retrograd import dtypes
from retrograd.autograd.state import AUTOCAST, HOT, STATE, set_autocast, set_grad_mode
from retrograd.lifecycle import site
from retrograd.ops.registry import COMPOSITES, RECORDED
from retrograd.tensor import Tensor

# In the lower precision: bfloat16 or float16.
LOWER = frozenset(
    """
    _addmm_activation _convolution _native_multi_head_attention addbmm addmm baddbmm bmm conv1d
    conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d linalg_vecdot linear
    matmul mkldnn_rnn_layer mm prelu scaled_dot_product_attention
    """.split()
)

# In float32.
FLOAT32 = frozenset(
    """
    _grid_sampler_2d_cpu_fallback _lu_with_info adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d
    binary_cross_entropy binary_cross_entropy_with_logits cdist cholesky cholesky_inverse
    cholesky_solve cosine_embedding_loss cross_entropy_loss ctc_loss fake_quantize_per_tensor_affine
    fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2
    fft_irfftn fft_rfft fft_rfft2 fft_rfftn fractional_max_pool2d fractional_max_pool3d geqrf
    grid_sampler grid_sampler_2d grid_sampler_3d hinge_embedding_loss huber_loss inverse kl_div
    l1_loss linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals
    linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq
    linalg_matrix_rank linalg_qr linalg_solve linalg_svd linalg_svdvals linalg_tensorinv
    linalg_tensorsolve lu_solve margin_ranking_loss max_pool3d max_unpool2d max_unpool3d mse_loss
    multi_margin_loss multilabel_margin_loss multilabel_margin_loss_forward nanquantile nll_loss
    nll_loss2d orgqr ormqr pinverse poisson_nll_loss polar prod qr quantile reflection_pad1d
    reflection_pad2d replication_pad1d replication_pad2d replication_pad3d smooth_l1_loss
    soft_margin_loss stft svd trace triangular_solve triplet_margin_loss view_as_complex
    """.split()
)

# In float32 if an operand has it, else in the lower precision.
WIDEST = frozenset("cat index_copy stack".split())

# What is computed otherwise here than there, so that the lists alone would not give the same: ops
# that PyTorch makes of listed ones, and functions that it does not make of listed ones.
_OWN_OPS = {"affine_grid_generator": "lower"}
_OWN_COMPOSITES = {
    "linalg.lu_solve": "off",
    "linalg.pinv": "lower result",  # which is a product of matrices there
    "nn.functional.bilinear": "off",
    "torch.bartlett_window": "off",
    "torch.convolution": "off",
}

_SMALL = (*dtypes.HALF_TYPES, dtypes.F32)  # what is cast: floating point, but not float64


# --------------------------------------------------------------------------------------- casts


class _Weights:
    """Casts of weights to the lower precision, kept until the outermost region ends.

    Leaves that require grad are cast once in a region, so that their gradients meet in one node.
    As in PyTorch the cast stays what it was when the weight is written to inside of the region.
    """

    def __init__(self) -> None:
        self.casts: dict[tuple[int, Any], tuple[Tensor, Tensor]] = {}  # the weight is kept alive

    def find(self, weight: Tensor, target: Any) -> Tensor:
        key = (id(weight), target)
        found = self.casts.get(key)
        if found is not None:
            return found[1]
        enabled, cut = STATE.grad_enabled, STATE.cut
        set_grad_mode(True)  # the first use may be under no_grad, a later one not
        try:
            made: Tensor = RECORDED._to_dtype(weight, target, None)
        finally:
            set_grad_mode(enabled, cut)
        self.casts[key] = (weight, made)
        return made


WEIGHTS = _Weights()


def cast(tensor: Tensor, target: Any) -> Tensor:
    """A tensor in another NumPy dtype, if it is such as autocast casts."""
    own = tensor._array.dtype
    if own is target or own not in _SMALL:
        return tensor
    if (
        own is dtypes.F32
        and target is STATE.autocast
        and tensor.requires_grad
        and tensor.is_leaf
        and not tensor._is_view()
        and STATE.autocast_cache
        and not STATE.inference
    ):
        return WEIGHTS.find(tensor, target)
    made: Tensor = RECORDED._to_dtype(tensor, target, None)
    return made


def _cast_any(value: Any, target: Any) -> Any:
    if isinstance(value, Tensor):
        return cast(value, target)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], (Tensor, list, tuple)):
        return [_cast_any(item, target) for item in value]
    return value


def _widest(values: Iterable[Any]) -> Any:
    """The type that operands are promoted to; float64 does not count."""
    lower = current = STATE.autocast
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            own = item._array.dtype if isinstance(item, Tensor) else None
            if own not in _SMALL:
                continue
            if own is dtypes.F32 or current is dtypes.F32:
                current = dtypes.F32
            elif own is not lower:
                raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return current


# ----------------------------------------------------------------------------------------- ops


def _way(name: str) -> str | None:
    if name in LOWER:
        return "lower"
    if name in FLOAT32:
        return "float32"
    return "widest" if name in WIDEST else None


@cache
def way_of(op: Any) -> str | None:
    """What autocast does with the operands of an op: "lower", "float32", "widest" or nothing."""
    from retrograd.ops.calling.aten_names import event_name

    space, _, name = event_name(op).partition("::")
    return _OWN_OPS.get(name, _way(name)) if space == "aten" else None


def cast_arguments(op: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an op as autocast wants them."""
    way = way_of(op)
    if way is None:
        return args
    places = op.plan.tensor_places
    if way == "widest":
        target = _widest([args[place] for place in places])
    else:
        target = STATE.autocast if way == "lower" else dtypes.F32
    found = list(args)
    for place in places:
        found[place] = _cast_any(args[place], target)
    return tuple(found)


AUTOCAST.cast_arguments, AUTOCAST.way_of = cast_arguments, way_of

# ---------------------------------------------------------------------------------- composites


def without_autocast(function: Callable[..., Any], args: Any, options: Any) -> Any:
    """Call a function with autocast off."""
    lower = STATE.autocast
    set_autocast(None)
    try:
        return function(*args, **options)
    finally:
        set_autocast(lower)


def run_lowered(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function as autocast would one that is in the list of the lower precision."""
    target = STATE.autocast
    return without_autocast(function, [_cast_any(value, target) for value in args], {})


class _Entry:
    """What runs in the place of a listed function."""

    __slots__ = ("name", "original", "way")

    def __init__(self, original: Callable[..., Any], way: str) -> None:
        self.original = original
        self.name = original.__name__
        self.way = way

    def __call__(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        lower = STATE.autocast if HOT["UNUSUAL"] else None
        if lower is None or self._is_other_form(args, options):
            return self.original(*args, **options)
        if self.way == "off" or options.get("out") is not None:
            return without_autocast(self.original, args, options)
        if self.way == "lower result":
            return cast(without_autocast(self.original, args, options), lower)
        target = lower if self.way == "lower" else dtypes.F32
        args = tuple([_cast_any(value, target) for value in args])
        options = {name: _cast_any(value, target) for name, value in options.items()}
        return without_autocast(self.original, args, options)

    def _is_other_form(self, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
        """Whether the arguments choose something that is in no list."""
        if self.name in ("mse_loss", "l1_loss"):  # weighted losses are made of other ops
            return (args[5] if len(args) > 5 else options.get("weight")) is not None
        if self.name == "max_pool3d":
            return bool(args[6] if len(args) > 6 else options.get("return_indices"))
        return False


def _composite_name(key: str) -> str:
    """PyTorch's name for one of our composites: ``linalg_inv`` for ``linalg.inv``."""
    if key == "torch.lu":
        return "_lu_with_info"
    space, _, name = key.rpartition(".")
    if space in ("linalg", "fft"):
        return f"{space}_{name}"
    return "cross_entropy_loss" if name == "cross_entropy" else name


def listed_composites() -> dict[str, tuple[Any, str]]:
    """The functions made of ops that are in a list: key, function, what autocast does."""
    found = {}
    for key, composite in COMPOSITES.items():
        way = _OWN_COMPOSITES.get(key, _way(_composite_name(key)))
        if way is not None:
            found[key] = (composite.function, way)
    for name in ("__matmul__", "__rmatmul__"):
        found[f"Tensor.{name}"] = (getattr(Tensor, name), "lower")
    found["matmul of rules"] = (RECORDED.matmul, "lower")
    return found


class _Installed:
    done = False


def install() -> None:
    """Let the listed functions ask whether autocast is on; from the first time it is turned on."""
    if _Installed.done:
        return
    _Installed.done = True
    seen = set()
    for function, way in listed_composites().values():
        if function not in seen:
            seen.add(function)
            _exchange(function, way)


def _exchange(function: Any, way: str) -> None:
    """Give a function other code: all that hold it, hold it still."""
    original = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    original.__kwdefaults__ = function.__kwdefaults__
    original.__qualname__ = function.__qualname__
    if not hasattr(function, "__signature__"):
        function.__signature__ = inspect.signature(function)
    code = _entry_code(len(function.__code__.co_freevars))
    # another thread may call at any point: the code goes last, and both find their defaults
    function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "_entry": _Entry(original, way)}
    function.__code__ = code.replace(
        co_name=function.__name__, co_firstlineno=function.__code__.co_firstlineno
    )


@cache
def _entry_code(free: int) -> types.CodeType:
    """Code that passes a call on to an `_Entry`, with as many free variables as it must have."""
    filename = "<retrograd autocast>"
    site.mark_library_file(filename)
    names = ", ".join(f"free{number}" for number in range(free))
    text = (
        f"def outer({names}):\n"
        "    def entry(*args, _entry, **options):\n"
        f"        {names or 'pass'}\n"
        "        return _entry(args, options)\n"
        "    return entry\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), scope)
    code: types.CodeType = scope["outer"](*range(free)).__code__
    return code
