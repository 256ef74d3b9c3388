"""Functions that fill an ``out=`` tensor of their result's dtype only.

Most functions convert their result for `out`. Some compute in the memory of `out` in PyTorch, and
refuse another dtype; the words differ with the way in which they are written there. Declarations
name it, ``out="elementwise"`` or ``out="structured"``; or say "bool or uint8"; or have the words.
"""

from __future__ import annotations

from retrograd import dtypes
from retrograd.notices import runtime_error
from retrograd.ops.registry import OUT_RULES

# How C++ spells the types, where a message uses its words.
_SPELLED = {
    dtypes.uint8: "unsigned char",
    dtypes.int8: "signed char",
    dtypes.int16: "short int",
    dtypes.int32: "int",
    dtypes.int64: "long int",
    dtypes.float16: "c10::Half",
    dtypes.bfloat16: "c10::BFloat16",
    dtypes.float32: "float",
    dtypes.float64: "double",
    dtypes.bool_: "bool",
    dtypes.complex32: "c10::complex<c10::Half>",
    dtypes.complex64: "c10::complex<float>",
    dtypes.complex128: "c10::complex<double>",
}


def check_out_type(name: str, result: dtypes.dtype, out: dtypes.dtype) -> None:
    """Refuse an `out` whose dtype is not the result's, where PyTorch refuses it."""
    rule = OUT_RULES.get(name)
    if rule is None:
        return
    if rule == "elementwise":
        raise runtime_error(
            f"Found dtype {out.type_name} but expected {result.type_name}", code="RG301"
        )
    if rule == "structured":
        raise RuntimeError(
            f"Expected out tensor to have dtype {_SPELLED.get(result, result.name)}, but got "
            f"{_SPELLED.get(out, out.name)} instead"
        )
    if rule == "bool or uint8":
        if out is dtypes.uint8:
            return
        rule = name + " only supports bool tensor for result, got: {out}"
    raise RuntimeError(rule.format(result=result.type_name, out=out.type_name))
