"""retrograd: PyTorch's autograd in Python, with a graph whose life is visible.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

import numpy as numpy
from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from retrograd import return_types as _return_types
from retrograd.dtypes import dtype as _dtype
from retrograd.ops.making.storages import UntypedStorage as _UntypedStorage
from retrograd.random.state import Generator as _Generator
from retrograd.reduced_dtypes import UnavailableDtype
from retrograd.signatures import F
from retrograd.tensor.size import Device
from retrograd.types import Number
from types import ModuleType
from typing import Any
from typing import Literal
from typing import NoReturn
from typing import overload
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from retrograd import autograd as autograd
from retrograd import ops as ops
from retrograd import random as random
from retrograd import sparse as sparse
from retrograd.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from retrograd.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from retrograd.autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from retrograd.engine.grad_mode import enable_grad as enable_grad
from retrograd.engine.grad_mode import inference_mode as inference_mode
from retrograd.engine.grad_mode import is_grad_enabled as is_grad_enabled
from retrograd.engine.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from retrograd.engine.grad_mode import no_grad as no_grad
from retrograd.engine.grad_mode import set_grad_enabled as set_grad_enabled
from retrograd.notices import is_warn_always_enabled as is_warn_always_enabled
from retrograd.notices import set_warn_always as set_warn_always
from retrograd.ops.making.legacy import set_default_tensor_type as set_default_tensor_type
from retrograd.ops.making.memory import TypedStorage as TypedStorage
from retrograd.ops.making.memory import UntypedStorage as UntypedStorage
from retrograd.random import Generator as Generator
from retrograd.random import default_generator as default_generator
from retrograd.random import get_rng_state as get_rng_state
from retrograd.random import initial_seed as initial_seed
from retrograd.random import manual_seed as manual_seed
from retrograd.random import seed as seed
from retrograd.random import set_rng_state as set_rng_state
from retrograd.random import thread_safe_generator as thread_safe_generator
from retrograd.tensor import Tensor as Tensor
from retrograd.tensor.size import Size as Size
from retrograd.tensor.size import channels_last as channels_last
from retrograd.tensor.size import channels_last_3d as channels_last_3d
from retrograd.tensor.size import contiguous_format as contiguous_format
from retrograd.tensor.size import device as device
from retrograd.tensor.size import layout as layout
from retrograd.tensor.size import memory_format as memory_format
from retrograd.tensor.size import preserve_format as preserve_format
from retrograd.tensor.size import sparse_bsc as sparse_bsc
from retrograd.tensor.size import sparse_bsr as sparse_bsr
from retrograd.tensor.size import sparse_coo as sparse_coo
from retrograd.tensor.size import sparse_csc as sparse_csc
from retrograd.tensor.size import sparse_csr as sparse_csr
from retrograd.tensor.size import strided as strided
from retrograd.tensors.printing import get_printoptions as get_printoptions
from retrograd.tensors.printing import printoptions as printoptions
from retrograd.tensors.printing import set_printoptions as set_printoptions

class AcceleratorError(Tensor): ...
class BFloat16Storage(TypedStorage): ...
class BFloat16Tensor(Tensor): ...
class BoolStorage(TypedStorage): ...
class BoolTensor(Tensor): ...
class ByteStorage(TypedStorage): ...
class ByteTensor(Tensor): ...
class CharStorage(TypedStorage): ...
class CharTensor(Tensor): ...
class ComplexDoubleStorage(TypedStorage): ...
class ComplexFloatStorage(TypedStorage): ...
class DoubleStorage(TypedStorage): ...
class DoubleTensor(Tensor): ...
class Event(Tensor): ...
class FloatStorage(TypedStorage): ...
class FloatTensor(Tensor): ...
from retrograd.futures import Future as Future
from retrograd.amp.grad_scaler import GradScaler as GradScaler
class HalfStorage(TypedStorage): ...
class HalfTensor(Tensor): ...
class IntStorage(TypedStorage): ...
class IntTensor(Tensor): ...
class LongStorage(TypedStorage): ...
class LongTensor(Tensor): ...
class OutOfMemoryError(Tensor): ...
from retrograd._C import PyTorchFileReader as PyTorchFileReader
from retrograd._C import PyTorchFileWriter as PyTorchFileWriter
class QInt32Storage(TypedStorage): ...
class QInt8Storage(TypedStorage): ...
class QUInt2x4Storage(TypedStorage): ...
class QUInt4x2Storage(TypedStorage): ...
class QUInt8Storage(TypedStorage): ...
from retrograd.jit import ScriptModule as ScriptModule
class ShortStorage(TypedStorage): ...
class ShortTensor(Tensor): ...
class Stream(Tensor): ...
from retrograd._C import SymBool as SymBool
from retrograd._C import SymFloat as SymFloat
from retrograd._C import SymInt as SymInt
from retrograd import _C as _C
from retrograd import __config__ as __config__
from retrograd import __future__ as __future__
__version__: str
from retrograd import _custom_ops as _custom_ops
from retrograd import _dynamo as _dynamo
from retrograd import _inductor as _inductor
from retrograd import _jit_internal as _jit_internal
from retrograd import _subclasses as _subclasses
from retrograd import _tensor as _tensor
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def abs_(self: Tensor) -> Tensor: ...
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
from retrograd import accelerator as accelerator
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def acos_(input: Tensor) -> Tensor: ...
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def acosh_(input: Tensor) -> Tensor: ...
def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int | None]) -> Tensor: ...
def adaptive_max_pool1d(
    input: Tensor,
    output_size: _int | Sequence[_int | None],
    return_indices: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def add(
    input: Tensor | Number | _complex,
    other: Tensor | Number | _complex,
    *,
    alpha: _complex = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: _complex = 1,
    alpha: _complex = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def addcdiv(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: _complex = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: _complex = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: _complex = 1,
    alpha: _complex = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: _complex = 1,
    alpha: _complex = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def addmv_(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: _complex = 1,
    alpha: _complex = 1,
) -> Tensor: ...
def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: _complex = 1,
    alpha: _complex = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def adjoint(input: Tensor) -> Tensor: ...
def affine_grid_generator(
    theta: Tensor,
    size: tuple[_int, ...],
    align_corners: _bool,
) -> Tensor: ...
def alias_copy(
    input: Tensor,
    *args: Any,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor: ...
def all(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def allclose(
    input: Tensor,
    other: Tensor,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> _bool: ...
def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def amax(
    input: Tensor,
    dim: _int | Sequence[_int] | None = (),
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def amin(
    input: Tensor,
    dim: _int | Sequence[_int] | None = (),
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def aminmax(
    input: Tensor,
    *,
    dim: _int | None = None,
    keepdim: _bool = False,
    out: Sequence[Tensor] | None = None,
) -> _return_types.aminmax: ...
from retrograd import amp as amp
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def any(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
from retrograd import ao as ao
@overload
def arange(
    end: Tensor | Number,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def arange(
    start: Tensor | Number,
    end: Tensor | Number,
    step: Tensor | Number = 1,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arccos_(input: Tensor) -> Tensor: ...
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arccosh_(input: Tensor) -> Tensor: ...
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arcsin_(input: Tensor) -> Tensor: ...
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arcsinh_(input: Tensor) -> Tensor: ...
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arctan_(input: Tensor) -> Tensor: ...
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arctanh_(input: Tensor) -> Tensor: ...
def are_deterministic_algorithms_enabled() -> _bool: ...
def argmax(
    input: Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def argmin(
    input: Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def argsort(
    input: Tensor,
    dim: _int = -1,
    descending: _bool = False,
    *,
    stable: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
def argwhere(input: Tensor) -> Tensor: ...
def as_strided(
    input: Tensor,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None,
    storage_offset: _int | None = None,
) -> Tensor: ...
def as_strided_(
    input: Tensor,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None,
    storage_offset: _int | None = None,
) -> Tensor: ...
def as_strided_copy(
    input: Tensor,
    *args: Any,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor: ...
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None,
    storage_offset: _int | None = None,
) -> Tensor: ...
def as_tensor(data: object, dtype: _dtype | None = None, device: Device = None) -> Tensor: ...
def asarray(
    obj: Any,
    *,
    dtype: _dtype | None = None,
    device: Device = None,
    copy: _bool | None = None,
    requires_grad: _bool | None = None,
) -> Tensor: ...
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def asin_(input: Tensor) -> Tensor: ...
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def asinh_(input: Tensor) -> Tensor: ...
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def atan_(input: Tensor) -> Tensor: ...
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def atanh_(input: Tensor) -> Tensor: ...
@overload
def atleast_1d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_1d(first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_2d(first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_3d(first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
from retrograd.amp.autocast_mode import autocast as autocast
from retrograd.amp.switches import autocast_decrement_nesting as autocast_decrement_nesting
from retrograd.amp.switches import autocast_increment_nesting as autocast_increment_nesting
def avg_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
) -> Tensor: ...
from retrograd import backends as backends
def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: _complex = 1,
    alpha: _complex = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def bartlett_window(
    window_length: _int,
    periodic: _bool = True,
    **options: object,
) -> Tensor: ...
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: _bool,
    momentum: _float,
    eps: _float,
    cudnn_enabled: _bool,
) -> Tensor: ...
def bernoulli(
    input: Tensor,
    p: _float | Tensor | None = None,
    *,
    generator: _Generator | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
bfloat16: _dtype
def bilinear(
    input1: Tensor,
    input2: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
) -> Tensor: ...
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: _int = 0,
) -> Tensor: ...
def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor: ...
def binomial(count: Tensor, prob: Tensor, generator: _Generator | None = None) -> Tensor: ...
bits16: UnavailableDtype
bits1x8: UnavailableDtype
bits2x4: UnavailableDtype
bits4x2: UnavailableDtype
bits8: UnavailableDtype
def bitwise_and(
    input: Tensor | Number | _complex,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def bitwise_left_shift(
    input: Tensor | Number | _complex,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def bitwise_or(
    input: Tensor | Number | _complex,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def bitwise_right_shift(
    input: Tensor | Number | _complex,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def bitwise_xor(
    input: Tensor | Number | _complex,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def blackman_window(
    window_length: _int,
    periodic: _bool = True,
    **options: object,
) -> Tensor: ...
@overload
def block_diag(*tensors: Tensor) -> Tensor: ...
@overload
def block_diag(tensors: Sequence[Tensor], /) -> Tensor: ...
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
bool: _dtype
def broadcast_shapes(*shapes: _int | Sequence[_int]) -> Size: ...
@overload
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def broadcast_tensors(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
def broadcast_to(input: Tensor, size: _int | Sequence[_int]) -> Tensor: ...
def bucketize(
    input: Tensor | _complex,
    boundaries: Tensor,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
from retrograd.dtypes import can_cast as can_cast
def cartesian_prod(*tensors: Tensor) -> Tensor: ...
def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: _float = 2.0,
    compute_mode: str = 'use_mm_for_euclid_dist_if_necessary',
) -> Tensor: ...
cdouble: _dtype
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def ceil_(input: Tensor) -> Tensor: ...
def celu(input: Tensor, alpha: _float = 1.0) -> Tensor: ...
def celu_(input: Tensor, alpha: _float = 1.0) -> Tensor: ...
cfloat: _dtype
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor: ...
chalf: _dtype
def channel_shuffle(input: Tensor, groups: _int) -> Tensor: ...
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
def cholesky_inverse(
    L: Tensor,
    upper: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def cholesky_solve(
    B: Tensor,
    L: Tensor,
    upper: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
def clamp(
    input: Tensor,
    min: Tensor | _float | None = None,
    max: Tensor | _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def clamp_(
    self: Tensor,
    min: Tensor | _float | None = None,
    max: Tensor | _float | None = None,
) -> Tensor: ...
def clamp_max(
    input: Tensor,
    max: Tensor | _float | None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def clamp_max_(self: Tensor, max: Tensor | _float | None) -> Tensor: ...
def clamp_min(
    input: Tensor,
    min: Tensor | _float | None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def clamp_min_(self: Tensor, min: Tensor | _float | None) -> Tensor: ...
from retrograd.amp.switches import clear_autocast_cache as clear_autocast_cache
def clip(
    input: Tensor,
    min: Tensor | _float | None = None,
    max: Tensor | _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def clip_(
    self: Tensor,
    min: Tensor | _float | None = None,
    max: Tensor | _float | None = None,
) -> Tensor: ...
def clone(input: Tensor, *, memory_format: memory_format | None = None) -> Tensor: ...
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor: ...
@overload
def compile(model: None = None, **options: object) -> Callable[[F], F]: ...
@overload
def compile(model: F, **options: object) -> F: ...
from retrograd import compiler as compiler
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor: ...
complex128: _dtype
complex32: _dtype
complex64: _dtype
def concat(
    tensors: Sequence[Tensor],
    dim: _int = 0,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def concatenate(
    tensors: Sequence[Tensor],
    dim: _int = 0,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def conj(input: Tensor) -> Tensor: ...
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def conj_physical_(input: Tensor) -> Tensor: ...
def constant_pad_nd(input: Tensor, pad: tuple[_int, ...], value: _complex = 0) -> Tensor: ...
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] | None = 1,
    padding: _int | Sequence[_int] | str = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] | None = 1,
    padding: _int | Sequence[_int] | str = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] | None = 1,
    padding: _int | Sequence[_int] | str = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor: ...
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] | None = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor: ...
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] | None = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor: ...
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] | None = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor: ...
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[_int],
    padding: Sequence[_int],
    dilation: Sequence[_int],
    transposed: _bool,
    output_padding: Sequence[_int],
    groups: _int,
) -> Tensor: ...
def copysign(
    input: Tensor,
    other: Tensor | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def corrcoef(input: Tensor) -> Tensor: ...
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def cos_(input: Tensor) -> Tensor: ...
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def cosh_(input: Tensor) -> Tensor: ...
def cosine_embedding_loss(*args: Tensor, **named: object) -> Tensor: ...
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor: ...
def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor: ...
def cov(
    input: Tensor,
    *,
    correction: _int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor: ...
from retrograd import cpu as cpu
def cross(
    input: Tensor,
    other: Tensor,
    dim: _int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[_int],
    target_lengths: Tensor | Sequence[_int],
    blank: _int = 0,
    reduction: _int = 0,
    zero_infinity: _bool = False,
) -> Tensor: ...
from retrograd import cuda as cuda
def cummax(
    input: Tensor,
    dim: _int,
    *,
    out: Sequence[Tensor] | None = None,
) -> _return_types.cummax: ...
def cummin(
    input: Tensor,
    dim: _int,
    *,
    out: Sequence[Tensor] | None = None,
) -> _return_types.cummin: ...
def cumprod(
    input: Tensor,
    dim: _int,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def cumsum(
    input: Tensor,
    dim: _int,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def cumulative_trapezoid(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: _float = 1,
    dim: _int = -1,
) -> Tensor: ...
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def deg2rad_(input: Tensor) -> Tensor: ...
def dequantize(self: Tensor) -> Tensor: ...
def det(input: Tensor) -> Tensor: ...
def detach(self: Tensor) -> Tensor: ...
def detach_(self: Tensor) -> Tensor: ...
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor: ...
def diagflat(input: Tensor, offset: _int = 0) -> Tensor: ...
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor: ...
def diagonal_copy(
    input: Tensor,
    *args: Any,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor: ...
def diagonal_scatter(
    input: Tensor,
    src: Tensor,
    offset: _int = 0,
    dim1: _int = 0,
    dim2: _int = 1,
) -> Tensor: ...
def diff(
    input: Tensor,
    n: _int = 1,
    dim: _int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor: ...
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def dist(input: Tensor, other: Tensor, p: _float = 2) -> Tensor: ...
from retrograd import distributed as distributed
from retrograd import distributions as distributions
def div(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    rounding_mode: str | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def divide(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    rounding_mode: str | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
from retrograd import doctor as doctor
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor: ...
double: _dtype
def dropout(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def dsmm(input: Tensor, mat2: Tensor) -> Tensor: ...
def dsplit(input: Tensor, indices_or_sections: _int | Sequence[_int]) -> tuple[Tensor, ...]: ...
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
from retrograd.dtypes import dtype as dtype
def eig(*args: Any, **options: object) -> NoReturn: ...
@overload
def einsum(equation: str, *operands: Tensor) -> Tensor: ...
@overload
def einsum(equation: str, operands: Sequence[Tensor], /) -> Tensor: ...
@overload
def einsum(operand: Tensor, sublist: Sequence[Any], /, *rest: Any) -> Tensor: ...
def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: _int = -1,
    scale_grad_by_freq: _bool = False,
    sparse: _bool = False,
) -> Tensor: ...
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: _bool = False,
    mode: _int = 0,
    sparse: _bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: _bool = False,
    padding_idx: _int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...
def embedding_renorm_(
    input: Tensor,
    indices: Tensor,
    max_norm: _float,
    norm_type: _float,
) -> Tensor: ...
@overload
def empty(
    *size: _int,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
@overload
def empty(
    size: Sequence[_int],
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
def empty_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    layout: layout | None = None,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
def empty_permuted(
    size: Sequence[_int],
    physical_layout: Sequence[_int],
    **options: object,
) -> Tensor: ...
def empty_strided(
    size: Any,
    stride: _int | Sequence[_int] | None,
    *,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def eq(
    input: Tensor,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def equal(input: Tensor, other: Tensor) -> _bool: ...
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def erf_(input: Tensor) -> Tensor: ...
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def erfc_(input: Tensor) -> Tensor: ...
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def exp2_(input: Tensor) -> Tensor: ...
def exp_(input: Tensor) -> Tensor: ...
def expand_copy(
    input: Tensor,
    *args: Any,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor: ...
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def expm1_(input: Tensor) -> Tensor: ...
from retrograd import export as export
def eye(
    n: _int,
    m: _int | None = None,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: ...
from retrograd import fft as fft
def fill(input: Tensor, value: Tensor | _complex) -> Tensor: ...
def fill_(input: Tensor, value: Tensor | _complex) -> Tensor: ...
from retrograd.dtypes import finfo as finfo
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def fix_(input: Tensor) -> Tensor: ...
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor: ...
def flip(input: Tensor, dims: _int | Sequence[_int]) -> Tensor: ...
def fliplr(input: Tensor) -> Tensor: ...
def flipud(input: Tensor) -> Tensor: ...
float: _dtype
float16: _dtype
float32: _dtype
float4_e2m1fn_x2: UnavailableDtype
float64: _dtype
float8_e4m3fn: UnavailableDtype
float8_e4m3fnuz: UnavailableDtype
float8_e5m2: UnavailableDtype
float8_e5m2fnuz: UnavailableDtype
float8_e8m0fnu: UnavailableDtype
def float_power(
    input: Tensor | _complex,
    exponent: Tensor | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def floor_(input: Tensor) -> Tensor: ...
def floor_divide(
    input: Tensor | Number | _complex,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def fmod(input: Tensor, other: Tensor | _complex, *, out: Tensor | None = None) -> Tensor: ...
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def frac_(input: Tensor) -> Tensor: ...
def frexp(input: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_types.frexp: ...
def frobenius_norm(
    input: Tensor,
    dim: Any,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def from_dlpack(
    ext_tensor: object,
    *,
    device: Device = None,
    copy: _bool | None = None,
) -> Tensor: ...
def from_numpy(ndarray: numpy.ndarray[Any, Any]) -> Tensor: ...
def frombuffer(
    buffer: object,
    *,
    dtype: _dtype | None,
    count: _int = -1,
    offset: _int = 0,
    requires_grad: _bool = False,
) -> Tensor: ...
def full(
    size: Any,
    fill_value: _complex,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
def full_like(
    input: Tensor,
    fill_value: _complex,
    *,
    dtype: _dtype | None = None,
    layout: layout | None = None,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
from retrograd import func as func
from retrograd import functional as functional
from retrograd import futures as futures
from retrograd import fx as fx
def gather(
    input: Tensor,
    dim: _int,
    index: Tensor,
    *,
    sparse_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def gcd_(input: Tensor, other: Tensor) -> Tensor: ...
def ge(
    input: Tensor,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def geqrf(input: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_types.geqrf: ...
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def get_autocast_cpu_dtype() -> _dtype: ...
from retrograd.amp.switches import get_autocast_dtype as get_autocast_dtype
def get_autocast_gpu_dtype() -> _dtype: ...
def get_autocast_ipu_dtype() -> _dtype: ...
def get_autocast_xla_dtype() -> _dtype: ...
def get_default_device() -> device: ...
from retrograd.dtypes import get_default_dtype as get_default_dtype
def get_deterministic_debug_mode() -> _int: ...
def get_device(input: Tensor) -> _int: ...
def get_device_module(device: Device = None) -> ModuleType: ...
def get_float32_matmul_precision() -> str: ...
def get_num_interop_threads() -> _int: ...
def get_num_threads() -> _int: ...
def gradient(
    input: Tensor,
    *,
    spacing: object = None,
    dim: _int | Sequence[_int] | None = None,
    edge_order: _int = 1,
) -> tuple[Tensor, ...]: ...
from retrograd import graph as graph
def greater(
    input: Tensor,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def greater_equal(
    input: Tensor,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def grid_sampler(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
) -> Tensor: ...
def grid_sampler_2d(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
) -> Tensor: ...
def grid_sampler_3d(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
) -> Tensor: ...
def group_norm(
    input: Tensor,
    num_groups: _int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
    cudnn_enabled: _bool = True,
) -> Tensor: ...
def gru(*args: Any) -> tuple[Tensor, Tensor]: ...
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor: ...
def gt(
    input: Tensor,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
half: _dtype
def hamming_window(
    window_length: _int,
    periodic: _bool = True,
    alpha: _float = 0.54,
    beta: _float = 0.46,
    **options: object,
) -> Tensor: ...
def hann_window(window_length: _int, periodic: _bool = True, **options: object) -> Tensor: ...
def hardshrink(input: Tensor, lambd: _float = 0.5) -> Tensor: ...
has_lapack: _bool
has_mkl: _bool
has_openmp: _bool
has_spectral: _bool
def hash_tensor(
    input: Tensor,
    dim: Any = (),
    *,
    keepdim: _bool = False,
    mode: _int = 0,
    out: Tensor | None = None,
) -> Tensor: ...
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def hinge_embedding_loss(*args: Tensor, **named: object) -> Tensor: ...
def histc(
    input: Tensor,
    bins: _int = 100,
    min: _float = 0,
    max: _float = 0,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def histogram(
    input: Tensor,
    bins: Any,
    *,
    range: tuple[_float, _float] | None = None,
    weight: Tensor | None = None,
    density: _bool = False,
) -> _return_types.histogram: ...
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Sequence[_float] | None = None,
    weight: Tensor | None = None,
    density: _bool = False,
) -> _return_types.histogramdd: ...
def hsmm(mat1: Tensor, mat2: Tensor) -> Tensor: ...
def hsplit(input: Tensor, indices_or_sections: _int | Sequence[_int]) -> tuple[Tensor, ...]: ...
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor: ...
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
from retrograd import hub as hub
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def i0_(input: Tensor) -> Tensor: ...
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
from retrograd.dtypes import iinfo as iinfo
def imag(input: Tensor) -> Tensor: ...
def index_add(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    *,
    alpha: _complex = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def index_copy(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Tensor | _complex) -> Tensor: ...
def index_put(
    input: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: _bool = False,
) -> Tensor: ...
def index_put_(
    input: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: _bool = False,
) -> Tensor: ...
def index_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor: ...
def index_select(
    input: Tensor,
    dim: _int,
    index: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: _bool,
    momentum: _float,
    eps: _float,
    cudnn_enabled: _bool,
) -> Tensor: ...
int: _dtype
int1: UnavailableDtype
int16: _dtype
int2: UnavailableDtype
int3: UnavailableDtype
int32: _dtype
int4: UnavailableDtype
int5: UnavailableDtype
int6: UnavailableDtype
int64: _dtype
int7: UnavailableDtype
int8: _dtype
from retrograd import interchange as interchange
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
from retrograd.amp.switches import is_autocast_cache_enabled as is_autocast_cache_enabled
def is_autocast_cpu_enabled() -> _bool: ...
from retrograd.amp.switches import is_autocast_enabled as is_autocast_enabled
def is_autocast_ipu_enabled() -> _bool: ...
def is_autocast_xla_enabled() -> _bool: ...
def is_complex(input: Tensor) -> _bool: ...
def is_conj(input: Tensor) -> _bool: ...
def is_deterministic_algorithms_warn_only_enabled() -> _bool: ...
def is_distributed(input: Tensor) -> _bool: ...
def is_floating_point(input: Tensor) -> _bool: ...
def is_inference(input: Tensor) -> _bool: ...
def is_neg(input: Tensor) -> _bool: ...
def is_nonzero(input: Tensor) -> _bool: ...
def is_same_size(input: Tensor, other: Tensor) -> _bool: ...
def is_signed(input: Tensor) -> _bool: ...
def is_storage(obj: _UntypedStorage | _float) -> _bool: ...
def is_tensor(obj: Tensor | _float) -> _bool: ...
def isclose(
    input: Tensor,
    other: Tensor,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> Tensor: ...
def isfinite(input: Tensor) -> Tensor: ...
def isin(
    elements: Tensor | _complex,
    test_elements: Tensor | _complex,
    *,
    assume_unique: _bool = False,
    invert: _bool = False,
) -> Tensor: ...
def isinf(input: Tensor) -> Tensor: ...
def isnan(input: Tensor) -> Tensor: ...
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def isreal(input: Tensor) -> Tensor: ...
def istft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    normalized: _bool = False,
    onesided: _bool | None = None,
    length: _int | None = None,
    return_complex: _bool = False,
) -> Tensor: ...
from retrograd import jit as jit
def kaiser_window(
    window_length: _int,
    periodic: _bool = True,
    beta: _float = 12.0,
    **options: object,
) -> Tensor: ...
def kl_div(
    input: Tensor,
    target: Tensor,
    reduction: _int = 0,
    *,
    log_target: _bool = False,
) -> Tensor: ...
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def kthvalue(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    keepdim: _bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> _return_types.kthvalue: ...
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
    cudnn_enable: _bool = True,
) -> Tensor: ...
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def lcm_(input: Tensor, other: Tensor) -> Tensor: ...
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def ldexp_(input: Tensor, other: Tensor) -> Tensor: ...
def le(
    input: Tensor,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def lerp(
    input: Tensor,
    end: Tensor,
    weight: Tensor | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def less(
    input: Tensor,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def less_equal(
    input: Tensor,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
from retrograd import library as library
from retrograd import linalg as linalg
def linspace(
    start: Tensor | _float,
    end: Tensor | _float,
    steps: _int,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
from retrograd.serialization.loading import load as load
def lobpcg(
    A: Tensor,
    k: _int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: _int | None = None,
    iK: Tensor | None = None,
    niter: _int | None = None,
    tol: _float | None = None,
    largest: _bool | None = None,
    method: str | None = None,
    tracker: object = None,
    ortho_iparams: object = None,
    ortho_fparams: object = None,
    ortho_bparams: object = None,
) -> tuple[Tensor, Tensor]: ...
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def log10_(input: Tensor) -> Tensor: ...
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def log1p_(input: Tensor) -> Tensor: ...
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def log2_(input: Tensor) -> Tensor: ...
def log_(input: Tensor) -> Tensor: ...
def log_softmax(input: Tensor, dim: _int, dtype: _dtype | None = None) -> Tensor: ...
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor: ...
def logdet(input: Tensor) -> Tensor: ...
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor: ...
def logit_(input: Tensor, eps: _float | None = None) -> Tensor: ...
def logspace(
    start: Tensor | _float,
    end: Tensor | _float,
    steps: _int,
    base: _float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
def logsumexp(
    input: Tensor,
    dim: _int | Sequence[_int] | None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
long: _dtype
def lstm(*args: Any) -> tuple[Tensor, Tensor, Tensor]: ...
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...
def lstsq(*args: Any, **options: object) -> NoReturn: ...
def lt(
    input: Tensor,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def lu(
    A: Tensor,
    pivot: _bool = True,
    get_infos: Literal[False] = False,
    out: Any = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def lu(
    A: Tensor,
    pivot: _bool = True,
    *,
    get_infos: Literal[True],
    out: Any = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
def lu_solve(
    b: Tensor,
    LU_data: Tensor,
    LU_pivots: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: _bool = True,
    unpack_pivots: _bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> _return_types.lu_unpack: ...
def margin_ranking_loss(*args: Tensor, **named: object) -> Tensor: ...
from retrograd import masked as masked
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | _complex) -> Tensor: ...
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor: ...
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def matrix_exp(A: Tensor) -> Tensor: ...
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor: ...
def matrix_rank(*args: Any, **options: object) -> NoReturn: ...
@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> _return_types.max: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def max_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = (),
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
) -> Tensor: ...
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def max_pool2d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = (),
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
) -> Tensor: ...
def max_pool3d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = (),
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
) -> Tensor: ...
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def mean(
    input: Tensor,
    dim: Any = ...,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
    axis: _int | Sequence[_int] | None = None,
    keepdims: _bool = False,
) -> Tensor: ...
@overload
def median(input: Tensor) -> Tensor: ...
@overload
def median(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> _return_types.median: ...
@overload
def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]: ...
@overload
def meshgrid(
    tensors: Sequence[Tensor],
    /,
    *,
    indexing: str | None = None,
) -> tuple[Tensor, ...]: ...
@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> _return_types.min: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def mode(
    input: Tensor,
    dim: _int = -1,
    keepdim: _bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> _return_types.mode: ...
from retrograd import monitor as monitor
def moveaxis(input: Tensor, source: Any, destination: Any) -> Tensor: ...
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor: ...
from retrograd import mps as mps
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
from retrograd import mtia as mtia
def mul(
    input: Tensor | Number | _complex,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def multinomial(
    input: Tensor,
    num_samples: _int,
    replacement: _bool = False,
    *,
    generator: _Generator | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def multiply(
    input: Tensor | Number | _complex,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
from retrograd import multiprocessing as multiprocessing
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor: ...
def nan_to_num(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def nan_to_num_(
    input: Tensor,
    nan: _float | None = 0.0,
    posinf: _float | None = None,
    neginf: _float | None = None,
) -> Tensor: ...
def nanmean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
) -> Tensor: ...
@overload
def nanmedian(input: Tensor) -> Tensor: ...
@overload
def nanmedian(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> _return_types.nanmedian: ...
def nanquantile(
    input: Tensor,
    q: Tensor | _float,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = 'linear',
    out: Tensor | None = None,
) -> Tensor: ...
def nansum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def narrow(input: Tensor, dim: _int, start: Tensor | _float, length: _int) -> Tensor: ...
def narrow_copy(
    input: Tensor,
    dim: _int,
    start: _int,
    length: _int,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: _bool,
    momentum: _float,
    eps: _float,
) -> tuple[Tensor, Tensor, Tensor]: ...
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor: ...
def native_dropout(input: Tensor, p: _float, train: _bool | None) -> tuple[Tensor, Tensor]: ...
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: _int,
    C: _int,
    HxW: _int,
    group: _int,
    eps: _float,
) -> tuple[Tensor, Tensor, Tensor]: ...
def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: _float,
) -> tuple[Tensor, Tensor, Tensor]: ...
def ne(
    input: Tensor,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def neg_(input: Tensor) -> Tensor: ...
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def negative_(input: Tensor) -> Tensor: ...
from retrograd import nested as nested
newaxis: None
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
from retrograd import nn as nn
@overload
def nonzero(
    input: Tensor,
    *,
    out: Tensor | None = None,
    as_tuple: Literal[False] = False,
) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
def nonzero_static(
    input: Tensor,
    *,
    size: _int,
    fill_value: _int = -1,
    out: Tensor | None = None,
) -> Tensor: ...
def norm(
    input: Tensor,
    p: Any = 'fro',
    dim: Any = None,
    keepdim: _bool = False,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor: ...
def norm_except_dim(v: Tensor, pow: _int = 2, dim: _int = 0) -> Tensor: ...
def normal(
    mean: Tensor | _float = 0.0,
    std: Tensor | _float = 1.0,
    size: _int | Sequence[_int] | None = None,
    *,
    generator: _Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
def not_equal(
    input: Tensor,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def nuclear_norm(
    input: Tensor,
    dim: Any = (-2, -1),
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def numel(input: Tensor) -> _int: ...
@overload
def ones(
    *size: _int,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
@overload
def ones(
    size: Sequence[_int],
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
def ones_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    layout: layout | None = None,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
from retrograd import onnx as onnx
from retrograd import optim as optim
def orgqr(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def ormqr(
    input: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: _bool = True,
    transpose: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
from retrograd import overrides as overrides
from retrograd import package as package
def pairwise_distance(
    x1: Tensor,
    x2: Tensor,
    p: _float = 2.0,
    eps: _float = 1e-06,
    keepdim: _bool = False,
) -> Tensor: ...
def pca_lowrank(
    A: Tensor,
    q: _int | None = None,
    center: _bool = True,
    niter: _int = 2,
) -> tuple[Tensor, Tensor, Tensor]: ...
def pdist(input: Tensor, p: _float = 2.0) -> Tensor: ...
def permute(input: Tensor, dims: _int | Sequence[_int]) -> Tensor: ...
def permute_copy(
    input: Tensor,
    *args: Any,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor: ...
def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor: ...
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor: ...
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor: ...
def poisson(input: Tensor, generator: _Generator | None = None) -> Tensor: ...
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: _bool,
    full: _bool,
    eps: _float,
    reduction: _int,
) -> Tensor: ...
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def positive(input: Tensor) -> Tensor: ...
def pow(
    input: Tensor | _complex,
    exponent: Tensor | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def prelu(input: Tensor, weight: Tensor) -> Tensor: ...
def prod(
    input: Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
    axis: _int | None = None,
    keepdims: _bool = False,
) -> Tensor: ...
from retrograd import profiler as profiler
from retrograd.progress_bar import progress as progress
from retrograd.dtypes import promote_types as promote_types
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor: ...
qint32: UnavailableDtype
qint8: UnavailableDtype
def qr(
    input: Tensor,
    some: _bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> _return_types.qr: ...
def quantile(
    input: Tensor,
    q: Tensor | _float,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = 'linear',
    out: Tensor | None = None,
) -> Tensor: ...
from retrograd import quantization as quantization
from retrograd import quasirandom as quasirandom
quint2x4: UnavailableDtype
quint4x2: UnavailableDtype
quint8: UnavailableDtype
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def rad2deg_(input: Tensor) -> Tensor: ...
@overload
def rand(
    *size: _int,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def rand(
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
def rand_like(
    input: Tensor,
    *,
    generator: _Generator | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = None,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
@overload
def randint(
    high: _int,
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randint(
    low: _int,
    high: _int,
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    high: _int,
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    low: _int,
    high: _int,
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
@overload
def randn(
    *size: _int,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randn(
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
def randn_like(
    input: Tensor,
    *,
    generator: _Generator | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = None,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
def randperm(
    n: _int,
    *,
    generator: _Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
def range(
    start: _int,
    end: _float | None = None,
    step: _float = 1,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
def ravel(input: Tensor) -> Tensor: ...
def real(input: Tensor) -> Tensor: ...
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def reciprocal_(input: Tensor) -> Tensor: ...
def relu(input: Tensor) -> Tensor: ...
def relu_(input: Tensor) -> Tensor: ...
def remainder(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def renorm(
    input: Tensor,
    p: _float,
    dim: _int,
    maxnorm: _float,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def repeat_interleave(
    input: Tensor,
    repeats: Tensor | _int | None = None,
    dim: _int | None = None,
    *,
    output_size: _int | None = None,
) -> Tensor: ...
from retrograd import replay as replay
def reshape(input: Tensor, shape: Sequence[_int]) -> Tensor: ...
def resize_as_(
    self: Tensor,
    the_template: Tensor,
    memory_format: memory_format | None = None,
) -> Tensor: ...
def resolve_conj(input: Tensor) -> Tensor: ...
def resolve_neg(input: Tensor) -> Tensor: ...
def result_type(tensor1: Tensor | _float, tensor2: _complex | Tensor) -> _dtype: ...
from retrograd import return_types as return_types
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    eps: _float | None = None,
) -> Tensor: ...
def rnn_relu(*args: Any) -> tuple[Tensor, Tensor]: ...
def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor: ...
def rnn_tanh(*args: Any) -> tuple[Tensor, Tensor]: ...
def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor: ...
def roll(
    input: Tensor,
    shifts: _int | Sequence[_int],
    dims: _int | Sequence[_int] = (),
) -> Tensor: ...
def rot90(input: Tensor, k: _int = 1, dims: Sequence[_int] = (0, 1)) -> Tensor: ...
def round(
    input: Tensor,
    *,
    decimals: _int | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def round_(self: Tensor, *, decimals: _int | None = None) -> Tensor: ...
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
def rrelu(
    input: Tensor,
    lower: _float = 0.125,
    upper: _float = 0.3333333333333333,
    training: _bool = False,
    generator: _Generator | None = None,
) -> Tensor: ...
def rrelu_(
    input: Tensor,
    lower: _float = 0.125,
    upper: _float = 0.3333333333333333,
    training: _bool = False,
) -> Tensor: ...
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def rsqrt_(input: Tensor) -> Tensor: ...
def rsub(input: Tensor, other: Tensor | _complex, *, alpha: _complex = 1) -> Tensor: ...
def saddmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: _complex = 1,
    alpha: _complex = 1,
) -> Tensor: ...
from retrograd.serialization.saving import save as save
def scalar_tensor(
    s: Sequence[_int] | None,
    *,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
def scatter(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Any = None,
    *,
    value: _complex | None = None,
    reduce: str | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def scatter_add(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def scatter_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor: ...
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | _complex,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: _int = 0,
    unsafe: _bool = False,
    initial: _float | None = None,
) -> Tensor: ...
def select(input: Tensor, dim: _int, index: _int | Tensor) -> Tensor: ...
def select_copy(
    input: Tensor,
    *args: Any,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor: ...
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor: ...
def selu(input: Tensor) -> Tensor: ...
def selu_(input: Tensor) -> Tensor: ...
from retrograd import serialization as serialization
from retrograd.amp.switches import set_autocast_cache_enabled as set_autocast_cache_enabled
def set_autocast_cpu_dtype(dtype: _dtype) -> None: ...
def set_autocast_cpu_enabled(enabled: _bool) -> None: ...
from retrograd.amp.switches import set_autocast_dtype as set_autocast_dtype
from retrograd.amp.switches import set_autocast_enabled as set_autocast_enabled
def set_autocast_gpu_dtype(dtype: _dtype) -> None: ...
def set_autocast_ipu_dtype(dtype: _dtype) -> None: ...
def set_autocast_ipu_enabled(enabled: _bool) -> None: ...
def set_autocast_xla_dtype(dtype: _dtype) -> None: ...
def set_autocast_xla_enabled(enabled: _bool) -> None: ...
def set_default_device(device: Device) -> None: ...
from retrograd.dtypes import set_default_dtype as set_default_dtype
def set_deterministic_debug_mode(debug_mode: _int | str) -> None: ...
def set_float32_matmul_precision(precision: str) -> None: ...
def set_flush_denormal(mode: _bool) -> _bool: ...
def set_num_interop_threads(num: _int) -> None: ...
def set_num_threads(num: _int) -> None: ...
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
short: _dtype
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sigmoid_(input: Tensor) -> Tensor: ...
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
from retrograd import signal as signal
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sin_(input: Tensor) -> Tensor: ...
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sinc_(input: Tensor) -> Tensor: ...
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sinh_(input: Tensor) -> Tensor: ...
def slice_copy(
    input: Tensor,
    *args: Any,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor: ...
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
) -> Tensor: ...
def slogdet(input: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_types.slogdet: ...
def smm(input: Tensor, mat: Tensor) -> Tensor: ...
def softmax(input: Tensor, dim: _int, dtype: _dtype | None = None) -> Tensor: ...
def solve(*args: Any, **options: object) -> NoReturn: ...
def sort(
    input: Tensor,
    dim: _int = -1,
    descending: _bool = False,
    *,
    stable: _bool | None = None,
    out: Sequence[Tensor] | None = None,
    axis: _int | None = None,
) -> _return_types.sort: ...
def sparse_compressed_tensor(
    compressed_indices: object,
    plain_indices: object,
    values: object,
    size: Sequence[_int] | None = None,
    *,
    dtype: _dtype | None = None,
    layout: layout | None = None,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    check_invariants: _bool | None = None,
) -> Tensor: ...
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Sequence[_int] | None = None,
    *,
    dtype: _dtype | None = None,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    check_invariants: _bool | None = None,
    is_coalesced: _bool | None = None,
) -> Tensor: ...
def sparse_csc_tensor(
    ccol_indices: object,
    row_indices: object,
    values: object,
    size: Sequence[_int] | None = None,
    *,
    dtype: _dtype | None = None,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    check_invariants: _bool | None = None,
) -> Tensor: ...
def sparse_csr_tensor(
    crow_indices: object,
    col_indices: object,
    values: object,
    size: Sequence[_int] | None = None,
    *,
    dtype: _dtype | None = None,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    check_invariants: _bool | None = None,
) -> Tensor: ...
from retrograd import special as special
def split(
    tensor: Tensor,
    split_size_or_sections: _int | Sequence[_int],
    dim: _int = 0,
) -> tuple[Tensor, ...]: ...
def split_copy(
    input: Tensor,
    *args: Any,
    out: Sequence[Tensor] | None = None,
    **options: Any,
) -> tuple[Tensor, ...]: ...
def split_with_sizes(
    input: Tensor,
    split_sizes: Sequence[_int],
    dim: _int = 0,
) -> tuple[Tensor, ...]: ...
def split_with_sizes_copy(
    input: Tensor,
    *args: Any,
    out: Sequence[Tensor] | None = None,
    **options: Any,
) -> tuple[Tensor, ...]: ...
def spmm(input: Tensor, mat2: Tensor) -> Tensor: ...
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sqrt_(input: Tensor) -> Tensor: ...
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def square_(self: Tensor) -> Tensor: ...
def squeeze(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor: ...
def squeeze_copy(
    input: Tensor,
    *args: Any,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor: ...
def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def std(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
    out: Tensor | None = None,
    axis: _int | Sequence[_int] | None = None,
    keepdims: _bool = False,
) -> Tensor: ...
def std_mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
    axis: _int | Sequence[_int] | None = None,
    keepdims: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def stft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    pad_mode: str = 'reflect',
    normalized: _bool = False,
    onesided: _bool | None = None,
    return_complex: _bool | None = None,
    align_to_window: _bool | None = None,
) -> Tensor: ...
from retrograd import storage as storage
def sub(
    input: Tensor | Number | _complex,
    other: Tensor | Number | _complex,
    *,
    alpha: _complex = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def subtract(
    input: Tensor | Number | _complex,
    other: Tensor | Number | _complex,
    *,
    alpha: _complex = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def sum(
    input: Tensor,
    dim: Any = ...,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
    axis: _int | Sequence[_int] | None = None,
    keepdims: _bool = False,
) -> Tensor: ...
from retrograd.model_summary import summary as summary
def svd(
    input: Tensor,
    some: _bool = True,
    compute_uv: _bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> _return_types.svd: ...
def svd_lowrank(
    A: Tensor,
    q: _int | None = 6,
    niter: _int | None = 2,
    M: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor: ...
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor: ...
def sym_float(a: Any) -> _float: ...
def sym_fresh_size(expr: object) -> Any: ...
def sym_int(a: Any) -> _int: ...
def sym_ite(b: _bool, t: object, f: object) -> Any: ...
def sym_max(a: Number, b: Number) -> Number: ...
def sym_min(a: Number, b: Number) -> Number: ...
def sym_not(a: object) -> _bool: ...
def sym_sqrt(a: Any) -> _float: ...
@overload
def sym_sum(args: Iterable[Number], /) -> Number: ...
@overload
def sym_sum(*args: Number) -> Number: ...
def symeig(*args: Any, **options: object) -> NoReturn: ...
def t(input: Tensor) -> Tensor: ...
def t_copy(input: Tensor, *args: Any, out: Tensor | None = None, **options: Any) -> Tensor: ...
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def take_along_dim(
    input: Tensor,
    indices: Tensor,
    dim: _int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def tan_(input: Tensor) -> Tensor: ...
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def tanh_(input: Tensor) -> Tensor: ...
def tensor(
    data: object,
    *,
    dtype: _dtype | None = None,
    device: Device = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def tensor_split(
    input: Tensor,
    indices_or_sections: Tensor | _int | Sequence[_int],
    dim: _int = 0,
) -> tuple[Tensor, ...]: ...
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor: ...
from retrograd import testing as testing
def threshold(input: Tensor, threshold: _float, value: _float) -> Tensor: ...
def threshold_(input: Tensor, threshold: _float, value: _float) -> Tensor: ...
def tile(input: Tensor, dims: _int | Sequence[_int]) -> Tensor: ...
def to_dlpack(tensor: Tensor) -> object: ...
def topk(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    largest: _bool = True,
    sorted: _bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> _return_types.topk: ...
from retrograd import torch_version as torch_version
def trace(input: Tensor) -> Tensor: ...
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor: ...
def transpose_copy(
    input: Tensor,
    *args: Any,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor: ...
def trapezoid(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: _float = 1,
    dim: _int = -1,
) -> Tensor: ...
def trapz(y: Tensor, x: Tensor | None = None, *, dx: _float = 1, dim: _int = -1) -> Tensor: ...
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: _bool = True,
    transpose: _bool = False,
    unitriangular: _bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> _return_types.triangular_solve: ...
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def tril_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: _dtype | None = None,
    layout: layout | None = None,
    device: Device = None,
    pin_memory: _bool = False,
) -> Tensor: ...
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: _float = 1.0,
    p: _float = 2,
    eps: _float = 1e-06,
    swap: _bool = False,
    reduction: _int = 0,
) -> Tensor: ...
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def triu_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: _dtype | None = None,
    layout: layout | None = None,
    device: Device = None,
    pin_memory: _bool = False,
) -> Tensor: ...
def true_divide(
    dividend: Tensor | _complex,
    divisor: Tensor | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def trunc_(input: Tensor) -> Tensor: ...
def typename(obj: object) -> str: ...
from retrograd import types as types
uint1: UnavailableDtype
uint16: _dtype
uint2: UnavailableDtype
uint3: UnavailableDtype
uint32: _dtype
uint4: UnavailableDtype
uint5: UnavailableDtype
uint6: UnavailableDtype
uint64: _dtype
uint7: UnavailableDtype
uint8: _dtype
def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]: ...
def unbind_copy(
    input: Tensor,
    *args: Any,
    out: Sequence[Tensor] | None = None,
    **options: Any,
) -> tuple[Tensor, ...]: ...
def unflatten(input: Tensor, dim: _int, sizes: object) -> Tensor: ...
def unfold_copy(
    input: Tensor,
    *args: Any,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: Literal[False] = False,
    *,
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    *,
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any: ...
def unravel_index(indices: Tensor, shape: _int | Sequence[_int]) -> tuple[Tensor, ...]: ...
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
def unsafe_split(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
def unsafe_split_with_sizes(
    input: Tensor,
    split_sizes: Sequence[_int],
    dim: _int = 0,
) -> tuple[Tensor, ...]: ...
def unsqueeze(input: Tensor, dim: _int) -> Tensor: ...
def unsqueeze_copy(
    input: Tensor,
    *args: Any,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor: ...
def use_deterministic_algorithms(mode: _bool, *, warn_only: _bool = False) -> None: ...
from retrograd import utils as utils
def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor: ...
def var(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
    out: Tensor | None = None,
    axis: _int | Sequence[_int] | None = None,
    keepdims: _bool = False,
) -> Tensor: ...
def var_mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
    axis: _int | Sequence[_int] | None = None,
    keepdims: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
from retrograd import version as version
def view_as_complex(input: Tensor) -> Tensor: ...
def view_as_complex_copy(
    input: Tensor,
    *args: Any,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor: ...
def view_as_real(input: Tensor) -> Tensor: ...
def view_as_real_copy(
    input: Tensor,
    *args: Any,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor: ...
def view_copy(
    input: Tensor,
    *args: Any,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor: ...
from retrograd.transforms.vmap import vmap as vmap
def vsplit(input: Tensor, indices_or_sections: _int | Sequence[_int]) -> tuple[Tensor, ...]: ...
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(
    condition: Tensor,
    input: Tensor | Number | _complex,
    other: Tensor | Number | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def xlogy(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def xlogy_(self: Tensor, other: Tensor | _complex) -> Tensor: ...
from retrograd import xpu as xpu
def zero_(input: Tensor) -> Tensor: ...
@overload
def zeros(
    *size: _int,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
@overload
def zeros(
    size: Sequence[_int],
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
def zeros_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    layout: layout | None = None,
    device: Device = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
