"""The gradients of a process become the mean over all while backward still runs.

Each parameter has a hook that runs when its `.grad` is complete. Buckets go out in their order, so
that all processes exchange the same ones; backward ends when all are back. `prepare` begins a new
round, after each forward whose gradients are to be averaged.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from retrograd.distributed.group import ProcessGroup
from retrograd.distributed.names import ReduceOp
from retrograd.distributed.transports.interface import Transport
from retrograd.engine.accumulate import is_accumulator
from retrograd.engine.hooks import RemovableHandle
from retrograd.engine.node import Node
from retrograd.engine.walk import ENGINE
from retrograd.lifecycle.site import user_level
from retrograd.nn.module import Module
from retrograd.nn.parallel import unreduced
from retrograd.nn.parallel.buckets import Place, assigned
from retrograd.nn.parallel.exchange import Exchange
from retrograd.notices import warn_once
from retrograd.tensor import Tensor

__all__ = ["Reducer"]

_UNBOUNDED = 1 << 62
_NOTHING_UNUSED = (
    "find_unused_parameters=True was specified in DDP constructor, but did not find any unused "
    "parameters in the forward pass. This flag results in an extra traversal of the autograd graph "
    "every iteration,  which can adversely affect performance. If your model indeed never has any "
    "unused parameters in the forward pass, consider turning this flag off. Note that this warning "
    "may be a false positive if your model has flow control causing later iterations to have "
    "unused parameters."
)


class Reducer:
    """Averages the gradients of some parameters over a group.

    module    the module that they belong to, and their names in it: for messages
    sparse    which of them get sparse gradients
    limits    how many bytes close the first bucket, the second ...
    """

    def __init__(
        self,
        module: Module,
        parameters: Sequence[Tensor],
        names: Sequence[str],
        sparse: Sequence[bool],
        group: ProcessGroup,
        limits: Sequence[int],
        *,
        find_unused: bool,
        as_views: bool,
    ) -> None:
        self.module = module
        self.parameters = list(parameters)
        self.names = list(names)
        self.sparse = list(sparse)
        self.group = group
        self.limits = list(limits)
        self.find_unused = find_unused
        self.static = False
        self.rounds = 0
        self.rebuilt = False
        self.exchange = Exchange(self.parameters, self.names, group, as_views)
        self.remaining: Callable[[], float] | None = None  # how many processes still have batches
        self._expecting = False  # hooks count, until the end of the round
        self._unfinished = False  # a gradient of this round was there
        self._queued = False
        self._order: list[int] = []  # in which gradients came in the first round
        self._unused: Sequence[int] = ()  # to be marked as ready with the first gradient
        self._used = np.zeros(len(self.parameters), np.int32)
        self._used_work: Any = None
        self._calls_each: list[int] | None = None  # of a static graph: how often hooks are called
        self._calls: list[int] = []
        self._next = 0
        order = range(len(self.parameters))
        # The order of the gradients is not known yet: one bucket is right for any.
        first = self.limits if find_unused else [_UNBOUNDED]
        buckets = assigned(order, self.parameters, first, self.sparse)
        self.exchange.assign(buckets[::-1], self.sparse)
        self._handles = [
            _hooked(parameter, weakref.ref(self), number)
            for number, parameter in enumerate(self.parameters)
        ]

    def __del__(self) -> None:
        for handle in getattr(self, "_handles", ()):
            handle.remove()

    @property
    def _tells_used(self) -> bool:
        """Whether processes tell each other in this round which parameters they used."""
        return self.rounds == 0 if self.static else self.find_unused

    def set_static(self) -> None:
        """All rounds will be like the first."""
        if self.rounds:
            raise RuntimeError(
                "set_static_graph() should be called before training loop starts and after "
                "DistributedDataParallel is constructed."
            )
        self.static = True

    # ------------------------------------------------------------------ before a round

    def check_finished(self) -> None:
        """An error if gradients of the round before are missing."""
        if self._unfinished:
            missing = [place.number for place in self.exchange.places if not place.ready]
            raise unreduced.missing_gradients(self, missing)

    def rebuild(self) -> bool:
        """After the first round: have the buckets in the order in which gradients come."""
        if self.rebuilt or not self.rounds or (self.find_unused and not self.static):
            return False
        self.check_finished()
        came = dict.fromkeys((*self._order, *range(len(self.parameters))))
        agreed = np.array(list(came), np.int64)

        def run(transport: Transport, tag: int) -> None:
            transport.broadcast(agreed, 0, tag)

        detail = "the order in which gradients come in rank 0"
        self.group.begin("DistributedDataParallel", detail, "order", run).wait()
        self.rebuilt = True
        buckets = assigned(agreed.tolist(), self.parameters, self.limits, self.sparse)
        self.exchange.assign(buckets, self.sparse)
        return True

    def prepare(self, outputs: Sequence[Tensor]) -> None:
        """Begin a round, after a forward that returned these tensors."""
        self.check_finished()
        self._expecting = True
        self._queued = False
        self._next = 0
        self.exchange.begin()
        if self.static:
            self._calls = list(self._calls_each or [0] * len(self.parameters))
            self._unused = [number for number, calls in enumerate(self._calls) if not calls]
            if self._calls_each is None:
                self._watch(outputs)
        elif self.find_unused:
            self._unused = self._outside(outputs)
            if not self._unused:
                warn_once(_NOTHING_UNUSED, user_level())
            self._watch(outputs)

    def _watch(self, outputs: Sequence[Tensor]) -> None:
        """Be told when backward begins: the outermost one, at whose end all gradients are there."""
        reference = weakref.ref(self)

        def begun(_: Tensor) -> None:
            reducer = reference()
            if reducer is not None and reducer._expecting:
                reducer._queue_rest()

        for output in outputs:
            if output.grad_fn is not None:
                output.register_hook(begun)

    def _outside(self, outputs: Sequence[Tensor]) -> list[int]:
        """The parameters that the graph of some tensors does not lead to."""
        reached = {id(output) for output in outputs}
        stack = [output.grad_fn for output in outputs if output.grad_fn is not None]
        seen: set[Node] = set(stack)
        while stack:
            node = stack.pop()
            if is_accumulator(node):
                reached.add(id(node.saved[0]))
            for target in node.edges:
                if target is not None and target not in seen:
                    seen.add(target)
                    stack.append(target)
        numbers = range(len(self.parameters))
        return [number for number in numbers if id(self.parameters[number]) not in reached]

    # ------------------------------------------------------------------ during backward

    def arrived(self, number: int) -> None:
        """The gradient of a parameter is complete: called by its hook, also outside of rounds."""
        if self._tells_used:
            self._used[number] = 1
        if not self._expecting:
            return
        if not self.rebuilt:
            self._order.append(number)
        if self.static:
            if self._calls_each is None:  # how often it is called is known at the end
                self._calls[number] += 1
                self._queue_rest()
                return
            if not self._calls[number]:
                raise unreduced.changed_graph()
            self._calls[number] -= 1
        elif self.find_unused:
            self._queue_rest()
        unused, self._unused = self._unused, ()
        for each in unused:
            if each != number:
                self._mark(each)
        if not self.static or not self._calls[number]:
            self._mark(number)

    def _queue_rest(self) -> None:
        """Let what is not there at the end of backward count as unused."""
        if not self._queued:
            self._queued = True
            ENGINE.queue_callback(self._mark_rest)

    def _mark_rest(self) -> None:
        if not self._expecting:
            return
        self._unused = ()
        if self.static and self._calls_each is None:
            self._calls_each = list(self._calls)
        for place in self.exchange.places:
            if not place.ready:
                self._mark(place.number)

    def _mark(self, number: int) -> None:
        """The gradient of a parameter can go out, or it is known that there is none."""
        place: Place = self.exchange.places[number]
        if place.ready:
            raise unreduced.twice(self, number)
        if not self._unfinished:
            self._unfinished = True
            joined = self.remaining() if self.remaining is not None else 0.0
            self.exchange.factor = 1.0 / (joined or self.group.size())
        place.ready = True
        bucket = place.bucket
        self.exchange.fill(place)
        bucket.pending -= 1
        if bucket.pending:
            return
        buckets = self.exchange.buckets
        while self._next < len(buckets) and not buckets[self._next].pending:
            self.exchange.send(buckets[self._next])
            self._next += 1
        if self._next == len(buckets):
            if self._tells_used:
                self._used_work = self.send_used(self._used)
            ENGINE.queue_callback(self._finish)

    def send_used(self, used: Any) -> Any:
        """Begin to tell each other which parameters were used."""

        def run(transport: Transport, tag: int) -> None:
            transport.allreduce(used, ReduceOp.SUM, tag)

        return self.group.begin("DistributedDataParallel", "used parameters", "used", run)

    def answer(self) -> None:
        """A round of a process without a batch: zeros from it, and the means of the others."""
        self.exchange.begin()
        for place in self.exchange.places:
            self.exchange.fill_with_zeros(place)
        for bucket in self.exchange.buckets:
            self.exchange.send(bucket)
        if self._tells_used:
            self._used[:] = 0
            self._used_work = self.send_used(self._used)
        self._finish()

    def _finish(self) -> None:
        """The end of backward: the means replace the gradients."""
        self._expecting = False
        self._unfinished = False
        self.rounds += 1
        if self._used_work is not None:
            self._used_work.wait()
            self._used_work = None
        tells = self.find_unused or self.static
        try:
            self.exchange.take_back(self._used if tells else None)
        finally:
            if not self.static:
                self._used[:] = 0


def _hooked(
    parameter: Tensor, reference: weakref.ReferenceType[Reducer], number: int
) -> RemovableHandle:
    def arrived(_: Tensor) -> None:
        reducer = reference()
        if reducer is not None:
            reducer.arrived(number)

    handle: RemovableHandle = parameter.register_post_accumulate_grad_hook(arrived)
    return handle
