"""In-place ops that change a tensor's geometry, not its elements: t_, squeeze_, as_strided_ ...

They count as writes: the version grows, and leaves that require grad refuse them. The tensor's
history gets the view op's node. A view grows by one step of its chain; views of a base that changed
itself find their place again by address (`engine.views.refresh`).
"""

from __future__ import annotations

from retrograd.above import above
from retrograd.backend import backend_of
from retrograd.engine.state import STATE, TRANSFORMS
from retrograd.engine.views import ViewStep, bump, check_history, refresh
from retrograd.ops.calling.recording import make_node
from retrograd.ops.kinds import Array, Ints, Namespace
from retrograd.ops.registry import OPS, Op, composite, method_only, op
from retrograd.ops.shapes.striding import region_arguments
from retrograd.ops.sizes import Shape, as_integer, as_integers, require_tensor
from retrograd.samples import Sample, T
from retrograd.tensor import Tensor, cell_of, meta_of, wrap

# PyTorch numbers the nodes of these ops after those of the ops that give views.


@op(input=lambda m, g: m.t(g), half="move", holomorphic=False, node_name="TBackward1")
def _t_here(xp: Namespace, input: Array) -> Array:
    if input.ndim > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    view: Array = xp.raw.t(input)
    return view


@op(
    input=lambda m, g, dim0, dim1: m.transpose(g, dim0, dim1),
    half="move",
    holomorphic=False,
    node_name="TransposeBackward1",
)
def _transpose_here(xp: Namespace, input: Array, dim0: int, dim1: int) -> Array:
    view: Array = xp.raw.transpose(input, dim0, dim1)
    return view


@op(
    input=OPS["_squeeze_all"].rules["input"],
    half="move",
    holomorphic=False,
    node_name="SqueezeBackward3",
)
def _squeeze_all_here(xp: Namespace, input: Array) -> Array:
    view: Array = xp.raw._squeeze_all(input)
    return view


@op(
    input=OPS["_squeeze_dim"].rules["input"],
    half="move",
    holomorphic=False,
    node_name="SqueezeBackward4",
)
def _squeeze_dim_here(xp: Namespace, input: Array, dim: int) -> Array:
    view: Array = xp.raw._squeeze_dim(input, dim)
    return view


@op(
    input=OPS["_squeeze_dims"].rules["input"],
    half="move",
    holomorphic=False,
    node_name="SqueezeBackward5",
)
def _squeeze_dims_here(xp: Namespace, input: Array, dims: Shape) -> Array:
    view: Array = xp.raw._squeeze_dims(input, dims)
    return view


@op(
    input=lambda m, g, dim: m.squeeze(g, dim),
    half="move",
    holomorphic=False,
    node_name="UnsqueezeBackward1",
)
def _unsqueeze_here(xp: Namespace, input: Array, dim: int) -> Array:
    view: Array = xp.raw.unsqueeze(input, dim)
    return view


@op(
    input=OPS["as_strided"].rules["input"],
    half="move",
    holomorphic=False,
    node_name="AsStridedBackward1",
)
def _as_strided_here(xp: Namespace, input: Array, size: Shape, stride: Shape, shift: int) -> Array:
    view: Array = xp.raw.as_strided(input, size, stride, shift)
    return view


@above
def change_geometry(tensor: Tensor, op: Op, options: tuple[object, ...], writer: str) -> Tensor:
    """A view op in place on a batch."""
    raise NotImplementedError


def _change_geometry(
    tensor: Tensor, view_op: str, options: tuple[object, ...], writer: str
) -> Tensor:
    """Make `tensor` show its memory as the view op `view_op` does."""
    require_tensor(writer, tensor, "self")
    check_history(tensor, writer)  # before the history is brought up to date, which may be refused
    info = tensor._view
    if info is not None:
        refresh(tensor)
    if tensor._level:
        if view_op == "t" and tensor._array.ndim > 2:
            raise RuntimeError(
                f"t_() expects a tensor with <= 2 dimensions, but self is {tensor._array.ndim}D"
            )
        if TRANSFORMS.dual_levels:
            TRANSFORMS.relay_tangents(tensor, OPS[view_op], options)
        return change_geometry(tensor, OPS[view_op], options, writer)
    recorded = OPS[f"_{view_op.lstrip('_')}_here"]
    result = getattr(backend_of(tensor._array).raw, recorded.name)(tensor._array, *options)
    node = None
    if STATE.grad_enabled and tensor._requires_grad:
        node = make_node(recorded, (tensor, *options), [tensor], [wrap(result)], None)
    if TRANSFORMS.dual_levels:
        TRANSFORMS.relay_tangents(tensor, OPS[view_op], options)
    tensor._array = result
    bump(tensor, writer)
    version = cell_of(tensor).version
    if info is not None:
        info.chain = (*info.chain, ViewStep(OPS[view_op], options, None))
        if node is not None:
            info.at = version
    else:
        meta = meta_of(tensor)
        meta.relaid = version
        meta.accumulator = None  # it knows the old shape
    if node is not None:
        # hooks and `retain_grad` stay with the old history, whose gradient has the old shape
        tensor._grad_fn = node
        tensor._output_nr = 0
    return tensor


@method_only(
    samples=lambda: [Sample(T(2, 3), grad=False), Sample(T(2, 2, 2), grad=False), Sample(T(2, 3))]
)
def t_(self: Tensor) -> Tensor:
    """Transpose a matrix in place.

    >>> torch.zeros(2, 3).t_().shape
    torch.Size([3, 2])
    """
    return _change_geometry(self, "t", (), "t_")


@method_only(
    methods=("transpose_", "swapdims_"),
    samples=lambda: [
        Sample(T(2, 3, 4), 0, -1, grad=False),
        Sample(T(2, 3), 0, 2, grad=False),
        Sample(T(2, 3), 0, 1),
    ],
)
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions in place."""
    return _change_geometry(self, "transpose", (dim0, dim1), "transpose_")


@method_only(samples=lambda: [Sample(T(2, 3, 4), axis0=0, axis1=-1, grad=False)])
def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """Swap two dimensions in place."""
    return _change_geometry(self, "transpose", (axis0, axis1), "swapaxes_")


@method_only(
    samples=lambda: [
        Sample(T(1, 3, 1), grad=False),
        Sample(T(1, 3, 1), 0, grad=False),
        Sample(T(1, 3, 1), (0, -1), grad=False),
        Sample(T(1, 3), 2, grad=False),
    ]
)
def squeeze_(self: Tensor, dim: Ints | None = None) -> Tensor:
    """Take out dimensions of size one in place."""
    if dim is None:
        return _change_geometry(self, "_squeeze_all", (), "squeeze_")
    if isinstance(dim, (tuple, list)):
        dims = as_integers("squeeze_", "dim", 1, dim)
        return _change_geometry(self, "_squeeze_dims", (dims,), "squeeze_")
    place = as_integer(dim, "squeeze_", "dim", 1)
    return _change_geometry(self, "_squeeze_dim", (place,), "squeeze_")


@method_only(
    samples=lambda: [
        Sample(T(3), 0, grad=False),
        Sample(T(2, 3), dim=-1, grad=False),
        Sample(T(3), 5, grad=False),
    ]
)
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """Put in a dimension of size one in place."""
    return _change_geometry(self, "unsqueeze", (dim,), "unsqueeze_")


@composite(
    methods=("as_strided_",),
    samples=lambda: [
        Sample(T(6), (2, 2), (3, 1), grad=False),
        Sample(T(6), (2, 2), (3, 1), 1, grad=False),
        Sample(T(6), (3, 3), (3, 1), grad=False),
    ],
)
def as_strided_(
    input: Tensor, size: Ints, stride: Ints | None, storage_offset: int | None = None
) -> Tensor:
    """Show the tensor's storage with any sizes and strides (in elements), in place."""
    require_tensor("as_strided_", input)
    region = region_arguments("as_strided_", input, size, stride, storage_offset)
    return _change_geometry(input, "as_strided", region, "as_strided_")
