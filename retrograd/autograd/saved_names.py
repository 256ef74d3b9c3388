"""PyTorch's names of saved values, `_saved_<name>`, where they do not follow from ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrograd.ops.registry import Op

_EIGEN = {"out0": "eigenvalues", "out1": "eigenvectors"}
_INPUT = {"input": "input"}
_STRIDED = {"shift": "storage_offset", "strides": "stride"}

# by node: our name (a parameter, or `out0`, `out1` ... for results) and PyTorch's
_RENAMED: dict[str, dict[str, str]] = {
    "AsStridedBackward0": _STRIDED,
    "AsStridedScatterBackward0": _STRIDED,
    "CholeskyInverseBackward0": {"L": "self"},
    "CholeskySolveBackward0": {"L": "input2", "B": "self"},
    "FrexpBackward0": {"out1": "exponent"},
    "GridSampler2DBackward0": {"mode": "interpolation_mode"},
    "GridSampler3DBackward0": {"mode": "interpolation_mode"},
    "LinalgCholeskyExBackward0": {"out0": "L"},
    "LinalgDetBackward0": {"input": "A"},
    "LinalgEigBackward0": _EIGEN,
    "LinalgEighBackward0": _EIGEN,
    "LinalgInvExBackward0": {"out0": "inverse"},
    "LinalgLstsqBackward0": {"other": "b", "out0": "solution"},
    "LinalgLuBackward0": {"out0": "P", "out1": "L", "out2": "U"},
    "LinalgLuFactorExBackward0": {"out0": "LU", "out1": "pivots"},
    "LinalgQrBackward0": {"out0": "Q", "out1": "R"},
    "LinalgSlogdetBackward0": {"input": "A", "out0": "sign"},
    "LinalgSolveExBackward0": {"out0": "result"},
    "LinalgSolveTriangularBackward0": {"A": "self"},
    "LinalgSvdBackward0": {"out0": "U", "out1": "S", "out2": "Vh"},
    "NativeBatchNormBackward0": _INPUT,
    "NativeGroupNormBackward0": _INPUT,
    "NativeLayerNormBackward0": _INPUT,
    "SliceBackward0": {"stop": "end"},
    "SqueezeBackward2": {"dims": "dim"},
}

# Nodes that save a number operand as a tensor without dimensions.
WRAPPING = frozenset(("DivBackward0", "MulBackward0"))

# Nodes whose `_saved_dim` is a tuple, even of one.
_TUPLES = frozenset(
    f"{stem}Backward{number}"
    for stem, number in (
        *(("Amax", 0), ("Amin", 0), ("LinalgVectorNorm", 0), ("Logsumexp", 0), ("Mean", 1)),
        *(("Nansum", 0), ("Std", 0), ("StdMean", 0), ("Sum", 1), ("Var", 0), ("VarMean", 0)),
    )
)


def public_names(op: Op, kinds: dict[str, str]) -> dict[str, str]:
    """PyTorch's names of an op's saved values, each with ours; dtypes have none there."""
    renamed = _RENAMED.get(op.node_name, {})
    declared = {ours: theirs for theirs, ours in op.saved_names.items() if ours in kinds}
    first = op.parameters[0].name
    if first != "input" and declared.get(first) == "self":
        del declared[first]
    fields = getattr(op.returns, "_fields", ())
    found: dict[str, str] = {}
    for name, kind in kinds.items():
        if name in renamed:
            public = renamed[name]
        elif name in declared:
            public = declared[name]
        elif kind == "dtype":
            continue
        elif kind in ("shape", "strides"):
            stem = name.rpartition("_")[0]
            stem = "self" if stem == first == "input" else stem
            public = f"{stem}_sym_{'sizes' if kind == 'shape' else 'strides'}"
        elif kind == "output" and name[3:]:
            number = int(name[3:])
            public = fields[number] if number < len(fields) else f"result{number}"
        else:
            public = name
        found[public] = name
    return found


def public_value(node: Any, name: str, kind: str, value: Any) -> Any:
    """A saved option or fact in PyTorch's form: strides count elements, some `dim` are tuples."""
    if kind == "strides" and value is not None:
        dtype = node.dtype[0] if isinstance(node.dtype, list) else node.dtype
        return tuple(stride // dtype.itemsize for stride in value)
    if name == "dim" and isinstance(value, int) and node.name() in _TUPLES:
        return (value,)
    return value
