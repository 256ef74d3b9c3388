"""The way of gradients into buckets, to all processes, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from retrograd.distributed.group import ProcessGroup
from retrograd.distributed.names import ReduceOp
from retrograd.distributed.transports.interface import Flat, Transport
from retrograd.futures import Future
from retrograd.lifecycle.site import user_level
from retrograd.nn.parallel import sparse_gradients
from retrograd.nn.parallel.buckets import Bucket, GradBucket, Place
from retrograd.notices import runtime_error, warn_once
from retrograd.tensor import Tensor, cell_of, meta_of, wrap

__all__ = ["Exchange"]

_HIGHER_ORDER = (
    "Using DistributedDataParallel with create_graph=True  is not well-supported. The higher-order "
    "gradient will  not be synchronized across ranks, and backpropagation  through all_reduce "
    "operations will not occur. If you require  DDP to work with higher-order gradients for your "
    "use case,  please ping https://github.com/pytorch/pytorch/issues/63929"
)


class Exchange:
    """Buckets of gradients and what is done with them.

    as_views  whether `.grad` is a part of a bucket, not an array of its own
    """

    def __init__(
        self,
        parameters: Sequence[Tensor],
        names: Sequence[str],
        group: ProcessGroup,
        as_views: bool,
    ) -> None:
        self.parameters = parameters
        self.names = names
        self.group = group
        # buckets lie in the memory of the CPU: on a device they cannot be what `.grad` shows
        self.as_views = as_views and all(type(p._array) is np.ndarray for p in parameters)
        self.factor = 1.0
        self.hook: tuple[Callable[..., Any], object] | None = None
        self.buckets: list[Bucket] = []
        self.places: list[Place] = []

    def assign(self, buckets: Sequence[Sequence[int]], sparse: Sequence[bool]) -> None:
        """Have these parameters in the buckets."""
        self.buckets = [
            Bucket(index, numbers, self.parameters, sparse[numbers[0]])
            for index, numbers in enumerate(buckets)
        ]
        self.lay_out()

    def lay_out(self) -> None:
        """Say where gradients are in the buckets: also when that depends on something else now."""
        found: dict[int, Place] = {}
        for bucket in self.buckets:
            bucket.lay_out(whole=self.as_views or self.hook is not None)
            found.update((place.number, place) for place in bucket.places)
        self.places = [found[number] for number in range(len(self.parameters))]

    def set_hook(self, hook: Callable[..., Any], state: object) -> None:
        """Let a function exchange the buckets."""
        if self.hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self.hook = hook, state
        self.lay_out()

    def begin(self) -> None:
        """Wait for all gradients anew."""
        for bucket in self.buckets:
            bucket.pending = len(bucket.places)
            bucket.work = None
            for place in bucket.places:
                place.ready = False
                place.flat = None

    # ------------------------------------------------------------------ there

    def fill(self, place: Place) -> None:
        """Put a parameter's share of the mean into its bucket; zeros if it has no gradient."""
        parameter = self.parameters[place.number]
        if place.bucket.sparse:
            return
        gradient = parameter.grad
        view = place.view
        if gradient is None:
            self.fill_with_zeros(place)
            return
        if gradient.requires_grad:
            warn_once(_HIGHER_ORDER, user_level())
            raise _not_averaged()
        array = _here(gradient)
        factor = self.factor if self.hook is None else 1.0
        if view is not None:
            if array is not view or factor != 1.0:
                np.multiply(array, factor, out=view, casting="unsafe")
        elif self._may_travel(parameter, gradient):
            np.multiply(array, factor, out=array)
            place.flat = array.reshape(-1)
        else:
            place.flat = np.multiply(array, factor).reshape(-1)
        if self.as_views and array is not view:
            self._show_view(parameter, view)

    def fill_with_zeros(self, place: Place) -> None:
        """The share of a process that has no gradient."""
        if place.view is not None:
            place.view[...] = 0
        elif not place.bucket.sparse:
            size = int(np.prod(place.shape))
            place.flat = np.zeros(size, place.dtype)

    @staticmethod
    def _may_travel(parameter: Tensor, gradient: Tensor) -> bool:
        """Whether the gradient's own memory can be exchanged, while backward goes on.

        Other hooks of the parameter, which run now, must see what they would see without that.
        """
        array: Any = gradient._array
        hooks = meta_of(parameter).post_accumulate_hooks
        return (
            type(array) is np.ndarray
            and array.flags.c_contiguous
            and array.flags.writeable
            and not gradient.requires_grad
            and hooks is not None
            and len(hooks) == 1
        )

    def send(self, bucket: Bucket) -> None:
        """Begin the exchange of a bucket whose gradients are there."""
        bucket.work = self._sent(bucket, bucket.flats())

    def _sent(self, bucket: Bucket, flats: list[Flat]) -> Any:
        if bucket.sparse:
            parameter = bucket.parameters[0]
            gradient = parameter.grad if bucket.places[0].ready else None
            return sparse_gradients.begin(self.group, parameter, gradient, self.factor)
        if self.hook is not None:
            hook, state = self.hook
            packed = flats[0] if flats else bucket.packed
            last = bucket is self.buckets[-1]
            future = hook(state, GradBucket(bucket, packed, last))
            if not isinstance(future, Future):
                raise TypeError(
                    "a DDP communication hook must return a torch.futures.Future[torch.Tensor], "
                    f"not {type(future).__name__}"
                )
            return future

        def run(transport: Transport, tag: int) -> None:
            for flat in flats:
                transport.allreduce(flat, ReduceOp.SUM, tag)

        name = "DistributedDataParallel"
        return self.group.begin(name, bucket.detail, bucket.agreed, run)

    # ------------------------------------------------------------------ back

    def take_back(self, used: Any) -> None:
        """Wait for all buckets; the means replace the gradients.

        used  how many processes used each parameter: without any its gradient stays as it was
        """
        for bucket in self.buckets:
            try:
                found = bucket.work.wait()
            except Exception as error:
                error.add_note(self._told(bucket))
                raise
            finally:
                bucket.work = None
            if bucket.sparse:
                if found is not None and (used is None or used[bucket.numbers[0]]):
                    bucket.parameters[0].grad = found
                continue
            results = None if self.hook is None else _parts(bucket, found)
            for index, place in enumerate(bucket.places):
                if used is None or used[place.number]:
                    result = place.result() if results is None else results[index]
                    self._replace(place, result)
                place.flat = None

    def _replace(self, place: Place, result: Any) -> None:
        parameter = self.parameters[place.number]
        if self.as_views:
            if result is not place.view:
                place.view[...] = result
            if parameter.grad is None or parameter.grad._array is not place.view:
                self._show_view(parameter, place.view)
            else:
                cell_of(parameter.grad).version += 1
            return
        gradient = parameter.grad
        if gradient is None:
            own: Any = parameter._array
            made = np.empty_like(own) if type(own) is np.ndarray else None
            if made is None:
                parameter.grad = wrap(result.copy()).to(parameter.device)
            else:
                made[...] = result
                meta_of(parameter).grad = wrap(made)
            return
        array: Any = gradient._array
        if type(array) is not np.ndarray:
            gradient.detach().copy_(wrap(result).to(gradient.device))
            return
        cell_of(gradient).version += 1
        if not np.may_share_memory(array, result):
            array[...] = result

    @staticmethod
    def _show_view(parameter: Tensor, view: Any) -> None:
        meta_of(parameter).grad = wrap(view)

    def _told(self, bucket: Bucket) -> str:
        names = ", ".join(self.names[number] for number in bucket.numbers[:6])
        more = f" and {len(bucket.numbers) - 6} more" if len(bucket.numbers) > 6 else ""
        return (
            f"while rank {self.group.rank()} averaged the gradients of bucket {bucket.index} "
            f"({names}{more}): no gradient of this backward can be trusted"
        )


def _not_averaged() -> Exception:
    error = runtime_error(
        "a leaf Variable that requires grad is being used in an in-place operation.", code="RG105"
    )
    error.add_note(
        "backward(create_graph=True) leaves gradients with a history, which an average over "
        "processes has not. Call torch.autograd.grad(..., create_graph=True), and backward() "
        "without it on what you make of the result"
    )
    return error


def _here(gradient: Tensor) -> Any:
    array: Any = gradient._array
    return array if type(array) is np.ndarray else gradient.detach().cpu()._array


def _parts(bucket: Bucket, found: object) -> list[Any]:
    """A hook's result as the parameters' means."""
    if not isinstance(found, Tensor):
        raise TypeError(
            f"the future of a DDP communication hook must hold a tensor, not {type(found).__name__}"
        )
    if found.numel() != bucket.packed.size:
        raise RuntimeError(
            f"the future of a DDP communication hook holds a tensor of {found.numel()} elements; "
            f"bucket {bucket.index} has {bucket.packed.size}"
        )
    flat = _here(found).reshape(-1)
    ends = np.cumsum([parameter.numel() for parameter in bucket.parameters])
    parts = np.split(flat, ends[:-1])
    shapes = [parameter.shape for parameter in bucket.parameters]
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
