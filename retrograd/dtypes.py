"""Data types: PyTorch's dtype objects over NumPy's, promotion, and the default dtype.

>>> import retrograd as torch
>>> torch.promote_types(torch.int64, torch.float16)
torch.float16
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from retrograd.backend import is_array

# the dtype of an array: NumPy's objects, on every device
ArrayDtype = np.dtype[Any]


class dtype:
    """One data type, compared by identity: there is exactly one object per type."""

    __slots__ = (
        "abbreviation",
        "category",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "name",
        "numpy",
        "type_name",
    )

    def __init__(self, name: str, numpy_type: Any, type_name: str, category: int) -> None:
        self.name = name
        self.numpy = np.dtype(numpy_type)
        self.type_name = type_name  # as in "torch.FloatTensor"
        self.category = category  # BOOL < INTEGER < FLOAT < COMPLEX decides promotion
        self.itemsize = self.numpy.itemsize
        self.is_floating_point = category == FLOAT
        self.is_complex = category == COMPLEX
        self.is_signed = not name.startswith("uint") and name != "bool"
        self.abbreviation = _ABBREVIATIONS.get(name, name[0] + str(8 * self.itemsize))

    @property
    def tensor_name(self) -> str:
        """How messages name tensors of this type: PyTorch's older ones have a Python class."""
        if self.is_complex or self.name in _WITHOUT_CLASS:
            return f"CPU{self.type_name}Type"
        return f"torch.{self.type_name}Tensor"

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return "bool_" if self.name == "bool" else self.name

    def __deepcopy__(self, memo: dict[int, object]) -> dtype:
        return self

    def __copy__(self) -> dtype:
        return self

    def to_real(self) -> dtype:
        """The type of the real part: float32 for complex64."""
        return _REAL_OF.get(self.name, self)

    def to_complex(self) -> dtype:
        """The complex type of this precision: complex64 for float32."""
        return _COMPLEX_OF.get(self.name, self)


BOOL, INTEGER, FLOAT, COMPLEX = range(4)
_ABBREVIATIONS = {"bfloat16": "bf16", "bool": "b8"}
_WITHOUT_CLASS = ("bfloat16", "bool", "uint16", "uint32", "uint64")

float16 = half = dtype("float16", np.float16, "Half", FLOAT)
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, "BFloat16", FLOAT)
float32 = dtype("float32", np.float32, "Float", FLOAT)
float64 = double = dtype("float64", np.float64, "Double", FLOAT)
complex32 = chalf = dtype("complex32", ml_dtypes.complex32, "ComplexHalf", COMPLEX)
complex64 = cfloat = dtype("complex64", np.complex64, "ComplexFloat", COMPLEX)
complex128 = cdouble = dtype("complex128", np.complex128, "ComplexDouble", COMPLEX)
int8 = dtype("int8", np.int8, "Char", INTEGER)
int16 = short = dtype("int16", np.int16, "Short", INTEGER)
int32 = dtype("int32", np.int32, "Int", INTEGER)
int64 = long = dtype("int64", np.int64, "Long", INTEGER)
uint8 = dtype("uint8", np.uint8, "Byte", INTEGER)
bool_ = dtype("bool", np.bool_, "Bool", BOOL)
uint16 = dtype("uint16", np.uint16, "UInt16", INTEGER)
uint32 = dtype("uint32", np.uint32, "UInt32", INTEGER)
uint64 = dtype("uint64", np.uint64, "UInt64", INTEGER)

_REAL_OF = {"complex32": float16, "complex64": float32, "complex128": float64}
_COMPLEX_OF = {
    **{"float16": complex32, "bfloat16": complex64, "float32": complex64, "float64": complex128}
}
ALL = (
    *(float16, bfloat16, float32, float64, complex64, complex128),
    *(int8, int16, int32, int64, uint8, bool_),
)
# Newer types that take no part in promotion, as in PyTorch.
UNSIGNED = (uint16, uint32, uint64)
NEWER = (complex32, *UNSIGNED)  # without classes of tensors and of storages
_BY_NUMPY: dict[object, dtype] = {d.numpy: d for d in (*ALL, *NEWER)}
_BY_NAME = {d.name: d for d in (*ALL, *NEWER)} | {
    "half": float16, "float": float32, "double": float64, "chalf": complex32,
    "cfloat": complex64, "cdouble": complex128, "short": int16, "int": int32, "long": int64,
}  # fmt: skip

# Every array in the library has one of these NumPy dtype *objects*, so that `is` decides: NumPy
# may hand out other instances of equal dtypes (byte order, pickles), `canonical` replaces them.
F16, BF16, F32, F64 = float16.numpy, bfloat16.numpy, float32.numpy, float64.numpy
C32, C64, C128, I64, B8 = (
    complex32.numpy,
    complex64.numpy,
    complex128.numpy,
    int64.numpy,
    bool_.numpy,
)
U8 = uint8.numpy
HALF_TYPES = frozenset((F16, BF16))
# what arithmetic in them runs in; NumPy itself does not know complex32 as complex: its `kind` is
# another, `.real` is wrong and a cast to a real type fails, so it is widened before any of that
WIDER = {F16: F32, BF16: F32, C32: C64}
COMPLEX_TYPES = frozenset((C32, C64, C128))
DIFFERENTIABLE = frozenset((F16, BF16, F32, F64, C32, C64, C128))


def from_numpy_dtype(numpy_type: object) -> dtype:
    """The dtype of a NumPy dtype; TypeError, in PyTorch's words, where there is none."""
    found = _BY_NUMPY.get(numpy_type)
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {_numpy_name(numpy_type)}. "
            "The only supported types are: float64, float32, float16, complex64, complex128, "
            "int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
    return found


def _numpy_name(numpy_type: object) -> str:
    kind = getattr(numpy_type, "type", None)
    return f"numpy.{kind.__name__}" if kind is not None else repr(numpy_type)


def by_name(name: str) -> dtype | None:
    """The dtype called `name` ("float32", "long", ...) or None."""
    return _BY_NAME.get(name)


_BY_TYPE_NAME = {f"torch.{d.type_name}Tensor": d for d in (*ALL, *NEWER)}

# Python's own types may stand for a dtype
PYTHON_TYPES: dict[object, dtype] = {
    bool: bool_, int: int64, float: float64, complex: complex128
}  # fmt: skip


def by_type_name(name: str) -> dtype | None:
    """The dtype of a legacy type name such as "torch.FloatTensor", or None."""
    return _BY_TYPE_NAME.get(name)


def as_dtype(value: object, function: str, name: str = "dtype") -> dtype | None:
    """A ``dtype=`` argument: None, a dtype, or one of Python's number types."""
    if value is None or isinstance(value, dtype):
        return value
    found = PYTHON_TYPES.get(value) if isinstance(value, type) else None
    if found is None:
        raise TypeError(
            f"{function}(): argument '{name}' must be torch.dtype, not {type(value).__name__}"
        )
    return found


class _Defaults:
    float: dtype = float32


DEFAULTS = _Defaults()


def get_default_dtype() -> dtype:
    """The floating point type of new tensors made from Python numbers."""
    return DEFAULTS.float


def set_default_dtype(d: dtype, /) -> None:
    """Make `d` the floating point type of tensors made from Python numbers."""
    if not isinstance(d, dtype):
        raise TypeError(
            "invalid dtype object: only floating-point types are supported as the default type"
        )
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    DEFAULTS.float = d


def default_complex() -> dtype:
    """The complex type that goes with the default floating point type."""
    return DEFAULTS.float.to_complex()


# --------------------------------------------------------------------------------- promotion

_INTEGER_LATTICE = {
    ("uint8", "int8"): int16,
    ("uint8", "int16"): int16,
    ("uint8", "int32"): int32,
    ("uint8", "int64"): int64,
}


def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest type that both convert to, by PyTorch's table (the two halves: float32)."""
    if a is b:
        return a
    first, second = a, b
    if a.category < b.category:
        a, b = b, a
    if a.category == COMPLEX:
        if b.category < FLOAT:
            return a
        return max(a, b.to_complex(), key=lambda kind: kind.itemsize)
    if b.category < a.category and a not in UNSIGNED:
        return a
    if a.category == FLOAT:
        if {a, b} == {float16, bfloat16}:
            return float32
        return a if a.itemsize > b.itemsize else b
    if a in UNSIGNED or b in UNSIGNED:
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{first.type_name} and {second.type_name}"
        )
    if b is uint8:
        a, b = b, a
    mixed = _INTEGER_LATTICE.get((a.name, b.name))
    return mixed if mixed is not None else (a if a.itemsize >= b.itemsize else b)


def number_dtype(value: object) -> dtype:
    """The type that a Python number counts as: weak, so only its category matters to tensors."""
    if isinstance(value, (bool, np.bool_)):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating)):
        return DEFAULTS.float
    return default_complex()


def result_dtype(operands: Any) -> dtype:
    """PyTorch's promotion over arrays and numbers: dimensioned, then 0-d, then Python numbers.

    A weaker class counts only if its category is higher; it then decides with its own type.
    """
    classes: list[dtype | None] = [None, None, None]
    for operand in operands:
        if is_array(operand):
            rank = 0 if operand.ndim else 1
            found = _BY_NUMPY[operand.dtype]
        else:
            rank, found = 2, number_dtype(operand)
        held = classes[rank]
        classes[rank] = found if held is None else promote_types(held, found)
    result = classes[0]
    for weaker in classes[1:]:
        if weaker is None:
            continue
        if result is None:
            result = weaker
        elif weaker.category > result.category:
            # a complex scalar takes the precision of the float it meets
            complex_over_float = weaker.category == COMPLEX and result.category == FLOAT
            result = result.to_complex() if complex_over_float else weaker
    assert result is not None
    return result


def can_cast(source: dtype, target: dtype) -> bool:
    """Whether PyTorch lets a result of type `source` be written into `target` (by category)."""
    if target is bool_:
        return source is bool_
    return source.category <= target.category


# ------------------------------------------------------------------------------ finfo, iinfo


def _limits_type(function: str, value: object) -> dtype:
    if not isinstance(value, dtype):
        raise TypeError(
            f"{function}(): argument 'type' (position 1) must be torch.dtype, not "
            f"{type(value).__name__}"
        )
    return value


class finfo:
    """Limits of a floating point type: ``finfo(torch.float32).eps``."""

    def __init__(self, type: dtype | None = None) -> None:
        found = _limits_type("finfo", DEFAULTS.float if type is None else type)
        if found.category < FLOAT:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                "'torch.finfo'"
            )
        real = found.to_real()
        tiny = real.name.startswith("float8")  # can be asked about; there are no tensors of it
        limits: Any = ml_dtypes.finfo if real is bfloat16 or tiny else np.finfo
        info = limits(real.name if tiny else real.numpy)
        self.dtype = real.name
        self.bits = int(info.bits)
        self.eps = 0.125 if real.name == "float8_e5m2fnuz" else float(info.eps)
        self.max = float(info.max)
        self.min = float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = (
            1.0 if tiny else 0.01 if real is bfloat16 else float(f"1e-{info.precision}")
        )

    def __repr__(self) -> str:
        fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        values = ", ".join(f"{name}={getattr(self, name):g}" for name in fields)
        return f"finfo({values}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


class iinfo:
    """Limits of an integer type: ``iinfo(torch.int8).max``."""

    def __init__(self, type: dtype) -> None:
        if _limits_type("iinfo", type).category > INTEGER:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle "
                "'torch.iinfo'"
            )
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        info = np.iinfo(type.numpy)
        self.dtype = type.name
        self.bits = int(info.bits)
        self.max = int(info.max)
        self.min = int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


PUBLIC_NAMES: dict[str, Any] = {
    **_BY_NAME,
    "dtype": dtype,
    "finfo": finfo,
    "iinfo": iinfo,
    "get_default_dtype": get_default_dtype,
    "set_default_dtype": set_default_dtype,
    "promote_types": promote_types,
    "can_cast": can_cast,
}
"""What the package publishes from here; `bool`, `int` and `float` are names of dtypes there."""
