"""Functions that fill an ``out=`` tensor of their result's dtype only.

Most functions convert their result for `out`. These compute in the memory of `out` in PyTorch, and
refuse another dtype; the words differ with the way in which they are written there.
"""

from __future__ import annotations

from retrograd import dtypes
from retrograd.notices import explained

_ELEMENTWISE = frozenset(
    """
    abs absolute bitwise_not ceil conj_physical fix floor frac lerp neg negative round sgn sign
    special_round trunc
    """.split()
)
_STRUCTURED = frozenset(
    """
    addmm alias_copy argmax argmin cross diag diagonal_copy inverse linalg_cholesky linalg_cross
    linalg_det linalg_eigvalsh linalg_inv linalg_solve linalg_svdvals linalg_vector_norm mm msort mv
    norm slice_copy squeeze_copy t_copy tril triu unsqueeze_copy
    """.split()
)
_TO_BOOL = {
    "all": "all only supports bool tensor for result, got: {out}",
    "any": "any only supports bool tensor for result, got: {out}",
    "isneginf": "isneginf does not support non-boolean outputs.",
    "isposinf": "isposinf does not support non-boolean outputs.",
    "signbit": "signbit does not support non-boolean outputs.",
}
_OTHERS = {
    "complex": "Expected object of scalar type {result} but got scalar type {out} for argument "
    "'out'",
    "dot": "result dtype {out} does not match input dtype {result}",
    "index_select": "index_select(): self and result must have the same scalar type",
    "masked_select": "masked_select(): self and result must have the same scalar type",
    "nan_to_num": "nan_to_num: dtype of out: {out} should be same as input: {result}",
    "nonzero": "nonzero: Expected out tensor to have scalar type Long but got scalar type{out}",
    "vdot": "result dtype {out} does not match input dtype {result}",
}
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
    dtypes.complex64: "c10::complex<float>",
    dtypes.complex128: "c10::complex<double>",
}


def check_out_type(name: str, result: dtypes.dtype, out: dtypes.dtype) -> None:
    """Refuse an `out` whose dtype is not the result's, where PyTorch refuses it."""
    if name in _ELEMENTWISE:
        raise explained(
            RuntimeError(f"Found dtype {out.type_name} but expected {result.type_name}")
        )
    if name in _STRUCTURED:
        raise RuntimeError(
            f"Expected out tensor to have dtype {_SPELLED.get(result, result.name)}, but got "
            f"{_SPELLED.get(out, out.name)} instead"
        )
    if name in _TO_BOOL and not (out is dtypes.uint8 and name in ("all", "any")):
        raise RuntimeError(_TO_BOOL[name].format(out=out.type_name))
    if name in _OTHERS:
        raise RuntimeError(_OTHERS[name].format(result=result.type_name, out=out.type_name))
