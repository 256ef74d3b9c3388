"""Batching rules of ops on images whose tensors differ in shape: sampling at grids, max pooling.

All of them have the number of images as first dimension; the examples of a batch are more images.
"""

from __future__ import annotations

from retrograd.ops.registry import OPS
from retrograd.tensor import Tensor
from retrograd.transforms.batching.neural import joined, parted
from retrograd.transforms.batching.rules import BatchedCall, batching, loop


def _more_images(call: BatchedCall) -> list[Tensor]:
    """Join the batch with the images of every tensor, and of the shapes that options tell."""
    names = call.op.plan.tensor_names
    if not call.size or any(call.rank(name) < 3 for name in names):
        return loop(call)  # the smallest tensor of all is an affine matrix for every image
    changed: dict[str, object] = {name: joined(call.expanded(name)) for name in names}
    for name in ("input_shape", "size"):
        if name in call.places:
            images, *rest = call[name]
            changed[name] = (images * call.size, *rest)
    return [parted(call, result) for result in call.run(**changed)]


batching(
    *[name for name in OPS if name.lstrip("_").startswith(("grid_sampler_", "grid_derivative"))],
    *("affine_grid_generator", "_affine_grid_gradient", "channel_shuffle"),
)(_more_images)


@batching("_gather_spatial", "_scatter_spatial")
def _spatial(call: BatchedCall) -> list[Tensor]:
    """Places in the last dimensions, for any number of images."""
    return call.run(**{name: call.expanded(name) for name in call.op.plan.tensor_names})
