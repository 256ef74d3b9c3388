"""PyTorch's names of saved values, `_saved_<name>`, where they do not follow from ours."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrograd.ops.calling.plan import Save
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


def _indices(node: Any, prefix: str = "_saved_") -> tuple[Any, ...]:
    """The tensors of an index, each at its dimension; None (or an empty one) at the others."""
    names = ("first", "second", "third", "fourth")
    dims = node._saved_dims
    nothing = getattr(node, prefix + names[len(dims)]) if len(dims) < len(names) else None
    found: list[Any] = [nothing] * (max(dims) + 1)
    for dim, name in zip(dims, names, strict=False):
        found[dim] = getattr(node, prefix + name)
    return tuple(found)


def _size(shape: str, place: int) -> Callable[[Any], Any]:
    """One size of a saved shape."""
    return lambda node: getattr(node, f"_saved_{shape}_sym_sizes")[place]


def _resized(*names: str) -> dict[str, Callable[[Any], Any]]:
    """The size of a resized image, and the scale of each of its dimensions."""

    def scale(node: Any, place: int) -> Any:
        scales = node.saved[-1]
        return None if scales is None else scales[place]

    readers: dict[str, Callable[[Any], Any]] = {
        f"_saved_{name}": functools.partial(scale, place=place) for place, name in enumerate(names)
    }
    readers["_saved_output_size"] = lambda node: tuple(node.shape[2:])
    return readers


_IMAGE = ("scales_h", "scales_w")

# Attributes that follow from what a node saves, by node.
DERIVED: dict[str, dict[str, Callable[[Any], Any]]] = {
    "AddbmmBackward0": {
        "_saved_batch1_sym_argsize_0": _size("batch1", 0),
        "_saved_batch1_sym_argsize_1": _size("batch1", 1),
        "_saved_batch2_sym_argsize_2": _size("batch2", 2),
    },
    "Im2ColBackward0": {
        "_saved_self_sym_argsize_minus_1": _size("self", -1),
        "_saved_self_sym_argsize_minus_2": _size("self", -2),
    },
    "IndexBackward0": {
        "_saved_indices": _indices,
        "_raw_saved_indices": functools.partial(_indices, prefix="_raw_saved_"),
    },
    "UpsampleBicubic2DBackward0": _resized(*_IMAGE),
    "UpsampleBilinear2DBackward0": _resized(*_IMAGE),
    "UpsampleLinear1DBackward0": _resized("scales"),
    "UpsampleNearest1DBackward0": _resized("scales"),
    "UpsampleNearest2DBackward0": _resized(*_IMAGE),
    "UpsampleNearest3DBackward0": _resized("scales_d", *_IMAGE),
    "UpsampleTrilinear3DBackward0": _resized("scales_d", *_IMAGE),
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


def public_names(op: Op) -> dict[str, Save]:
    """PyTorch's names of what an op's nodes save; dtypes have none there."""
    renamed = _RENAMED.get(op.node_name, {})
    first = op.plan.parameters[0].name
    usual = {"result": "out", "self_sym_sizes": f"{first}_shape"}
    if first == "input":
        usual["self"] = first
    declared = {ours: theirs for theirs, ours in (usual | op.saved_names).items()}
    fields = getattr(op.returns, "_fields", ())
    found: dict[str, Save] = {}
    for save in op.plan.saves:
        name, kind = save.name, save.kind
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
            number = save.source
            public = fields[number] if number < len(fields) else f"result{number}"
        else:
            public = name
        found[public] = save
    return found


def public_value(node: Any, name: str, kind: str, value: Any) -> Any:
    """A saved option or fact in PyTorch's form: strides count elements, some `dim` are tuples."""
    if kind == "strides" and value is not None:
        dtype = node.dtype[0] if isinstance(node.dtype, list) else node.dtype
        return tuple(stride // dtype.itemsize for stride in value)
    if name == "dim" and isinstance(value, int) and node.name() in _TUPLES:
        return (value,)
    if name == "ignore_index":
        return value % (1 << 64)  # PyTorch shows it without a sign
    return value
