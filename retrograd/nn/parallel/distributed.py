"""DistributedDataParallel: a module whose gradients are averaged over the processes of a group."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, NoReturn

import numpy as np

from retrograd.distributed.algorithms.ddp_comm_hooks.default_hooks import (
    allreduce_hook,
    fp16_compress_hook,
)
from retrograd.distributed.algorithms.join import Join, Joinable, JoinHook
from retrograd.distributed.collectives import all_reduce
from retrograd.distributed.group import ProcessGroup, require
from retrograd.distributed.names import ReduceOp
from retrograd.engine.grad_mode import is_grad_enabled
from retrograd.futures import Future
from retrograd.lifecycle.site import user_level
from retrograd.nn.module import Module
from retrograd.nn.parallel.buckets import GradBucket
from retrograd.nn.parallel.described import logging_data
from retrograd.nn.parallel.placed import chosen, moved
from retrograd.nn.parallel.reducer import Reducer
from retrograd.nn.parallel.states import broadcast_tensors, check_alike
from retrograd.nn.parameter import is_lazy
from retrograd.nn.sparse import Embedding, EmbeddingBag
from retrograd.tensor import Tensor, wrap
from retrograd.tensor.size import device

__all__ = ["BuiltinCommHookType", "DistributedDataParallel"]

_MEGABYTE = 1 << 20
_DEPRECATED_BUFFERS = (
    "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead. IMPORTANT: unlike "
    "`broadcast_buffers=False`, `forward_sync_buffers=False` still syncs buffers at init. If you "
    "rely on buffers NOT being synced at init (e.g. rank-local buffers), keep using "
    "`broadcast_buffers=False` until `init_sync_buffers` is available."
)
_BOTH_BUFFERS = (
    "Both `broadcast_buffers` and `forward_sync_buffers` were specified. `broadcast_buffers` is "
    "deprecated and its value is ignored when `forward_sync_buffers` is provided."
)
_OLD_CHECK = (
    "The `check_reduction` argument in `DistributedDataParallel` module is deprecated. Please "
    "avoid using it."
)
_UNUSED_IN_STATIC = (
    "You passed find_unused_parameters=true to DistributedDataParallel, `_set_static_graph` will "
    "detect unused parameters automatically, so you do not need to set "
    "find_unused_parameters=true, just be sure these unused parameters will not change during "
    "training loop while calling `_set_static_graph`."
)


class BuiltinCommHookType(Enum):
    """The hooks that `_register_builtin_comm_hook` knows."""

    ALLREDUCE = 0
    FP16_COMPRESS = 1


class DistributedDataParallel(Module, Joinable):
    """A module that each process of a group trains on batches of its own, all to the same weights.

    Parameters and buffers start as those of the first process. Gradients become the mean over all
    processes during backward: `.grad` and the optimizer are used as in a program of one process.

    device_ids               the number of the device on which the module is: inputs are moved there
    process_group            the group; that of all processes if it is not given
    bucket_cap_mb            how many MiB of gradients are exchanged together, from the second step
                             on: 1 for the first to come and then 25 if it is not given
    find_unused_parameters   look after each forward which parameters its results do not depend on:
                             the others then need not wait for their gradients
    static_graph             the same, once: all steps are like the first
    gradient_as_bucket_view  let `.grad` be a part of what is exchanged: less memory, no copies
    forward_sync_buffers     copy the buffers of the first process to all before each forward;
                             `broadcast_buffers` is the older name
    init_sync                False: parameters and buffers are alike already

    >>> torch.distributed.init_process_group("gloo", "file:///nowhere", rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    >>> model(torch.ones(3, 2)).sum().backward()
    >>> model.module.weight.grad
    tensor([[3., 3.]])
    >>> torch.distributed.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[float] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        if (delay_all_reduce_named_params is None) != (param_to_hook_all_reduce is None):
            raise ValueError(
                "delay_all_reduce_named_params and param_to_hook_all_reduce need to be set at "
                "the same time."
            )
        for name, given in (
            ("delay_all_reduce_named_params", delay_all_reduce_named_params is not None),
            ("mixed_precision", mixed_precision is not None),
            ("device_mesh", device_mesh is not None),
            ("skip_all_reduce_unused_params", skip_all_reduce_unused_params),
        ):
            if given:
                _refuse(name)
        self.process_group = require(process_group)
        ignored = getattr(module, "_ddp_params_and_buffers_to_ignore", ())
        self.parameters_to_ignore = set(ignored)
        parameters_to_place = self._check_module(module)
        self.device_ids, self.output_device = chosen(parameters_to_place, device_ids, output_device)
        self.dim = dim
        self.module = module
        self.static_graph = False
        self._set_buffers(broadcast_buffers, forward_sync_buffers)
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.batched_grad_copy = batched_grad_copy  # gradients are few copies here in any case
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        if check_reduction:
            warnings.warn(_OLD_CHECK, FutureWarning, stacklevel=user_level())
        if bucket_cap_mb_list:
            limits = [int(cap * _MEGABYTE) for cap in bucket_cap_mb_list]
        elif bucket_cap_mb is not None:
            limits = [int(bucket_cap_mb * _MEGABYTE)]
        else:
            limits = [_MEGABYTE, 25 * _MEGABYTE]
        self._limits = limits
        self.bucket_bytes_cap = max(limits)
        self._divide_by_initial_world_size = True
        self._comm_hook_name = ""
        parameters, names, sparse = self._parameters_to_average()
        if init_sync:
            check_alike(self.process_group, parameters, names)
            also_buffers = broadcast_buffers is not False or forward_sync_buffers is not None
            self._copy_states(0, also_buffers)
        self.reducer = self._made_reducer(parameters, names, sparse)
        if static_graph:
            self._set_static_graph()

    def _check_module(self, module: Module) -> list[Tensor]:
        parameters: list[Tensor] = [
            parameter
            for name, parameter in module.named_parameters()
            if name not in self.parameters_to_ignore
        ]
        if not any(parameter.requires_grad for parameter in parameters):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        if any(is_lazy(parameter) for parameter in parameters):
            raise RuntimeError(
                "Modules with uninitialized parameters can't be used with "
                "`DistributedDataParallel`. Run a dummy forward pass to correctly initialize the "
                "modules"
            )
        self.device = parameters[0].device
        return parameters

    def _set_buffers(self, broadcast: bool | None, forward: bool | None) -> None:
        if broadcast is not None:
            text = _DEPRECATED_BUFFERS if forward is None else _BOTH_BUFFERS
            warnings.warn(text, FutureWarning, stacklevel=user_level())
        self.forward_sync_buffers = forward if forward is not None else broadcast is not False

    @property
    def broadcast_buffers(self) -> bool:
        """The older name of `forward_sync_buffers`."""
        return self.forward_sync_buffers

    @broadcast_buffers.setter
    def broadcast_buffers(self, value: bool) -> None:
        self.forward_sync_buffers = value

    def _parameters_to_average(self) -> tuple[list[Tensor], list[str], list[bool]]:
        """Those that require gradients, once each, their names, and which get sparse ones."""
        found: dict[int, tuple[Tensor, str, bool]] = {}
        for path, module in self.module.named_modules():
            sparse = isinstance(module, Embedding | EmbeddingBag) and module.sparse
            for own, parameter in module.named_parameters(recurse=False):
                name = f"{path}.{own}" if path else own
                if parameter.requires_grad and name not in self.parameters_to_ignore:
                    found.setdefault(id(parameter), (parameter, name, sparse))
        parameters, names, sparse_ones = zip(*found.values(), strict=True)
        return list(parameters), list(names), list(sparse_ones)

    def _made_reducer(
        self, parameters: list[Tensor], names: list[str], sparse: list[bool]
    ) -> Reducer:
        return Reducer(
            self.module,
            parameters,
            names,
            sparse,
            self.process_group,
            self._limits,
            find_unused=self.find_unused_parameters,
            as_views=self.gradient_as_bucket_view,
        )

    # ------------------------------------------------------------------ forward

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result; the gradients of the backward behind it are averaged."""
        averages = self.require_backward_grad_sync and is_grad_enabled()
        asked = self._join_config
        if asked.enable:
            self._tell_joined()
        if is_grad_enabled():
            self.reducer.rebuild()
        if self.forward_sync_buffers and self.require_forward_param_sync:
            self._copy_buffers()
        if asked.enable:
            self._says_whether_it_averages(self.require_backward_grad_sync)
        if self.device_ids is not None:
            there = device(self.device.type, self.device_ids[0])
            inputs, kwargs = moved(inputs, there), moved(kwargs, there)
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = averages
        if averages:
            looks = self.find_unused_parameters or self.static_graph
            self.reducer.prepare(list(_tensors_in(output)) if looks else ())
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """The context in which gradients are added up here, and averaged by the next backward.

        >>> torch.distributed.init_process_group("gloo", "file:///nowhere", rank=0, world_size=1)
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
        >>> with model.no_sync():
        ...     model(torch.ones(2, 1)).sum().backward()
        >>> model(torch.ones(1, 1)).sum().backward()
        >>> model.module.weight.grad
        tensor([[3.]])
        >>> torch.distributed.destroy_process_group()
        """
        old, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = old

    def _set_static_graph(self) -> None:
        """Say that all steps will be like the first; `static_graph=True` does the same."""
        if self.static_graph:
            warnings.warn(
                "You've set static_graph to be True, no need to set it again.",
                stacklevel=user_level(),
            )
            return
        self.reducer.set_static()
        self.static_graph = True
        if self.find_unused_parameters:
            warnings.warn(_UNUSED_IN_STATIC, stacklevel=user_level())

    # ------------------------------------------------------------------ hooks

    def register_comm_hook(self, state: object, hook: Callable[..., Future[Tensor]]) -> None:
        """Let ``hook(state, bucket)`` exchange the gradients of a bucket; it may be set once.

        It returns a future with a tensor like ``bucket.buffer()``: what the gradients become.
        `torch.distributed.algorithms.ddp_comm_hooks.default_hooks` has some.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        signature = inspect.signature(hook)
        if not _says(signature.parameters["bucket"].annotation, GradBucket, "GradBucket"):
            raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
        if not _says(signature.return_annotation, Future[Tensor], "Future"):
            raise ValueError(
                "Communication hook: return annotation should be "
                "torch.futures.Future[torch.Tensor]."
            )
        self.reducer.exchange.set_hook(hook, state)
        self._comm_hook_name = hook.__qualname__

    def _register_builtin_comm_hook(self, comm_hook_type: BuiltinCommHookType) -> None:
        builtin = {"ALLREDUCE": allreduce_hook, "FP16_COMPRESS": fp16_compress_hook}
        self.reducer.exchange.set_hook(builtin[comm_hook_type.name], self.process_group)
        self._comm_hook_name = str(comm_hook_type)

    def _get_ddp_logging_data(self) -> dict[str, object]:
        """What PyTorch's logger has of a model: names and numbers, no times."""
        return logging_data(self)

    # ------------------------------------------------------------------ states of all processes

    def _buffers_to_copy(self) -> list[Tensor]:
        named = self.module.named_buffers()
        return [buffer for name, buffer in named if name not in self.parameters_to_ignore]

    def _copy_buffers(self) -> None:
        buffers = self._buffers_to_copy()
        if buffers:
            root = self._common_rank(True) if self._join_config.enable else 0
            broadcast_tensors(self.process_group, buffers, root, "buffers")

    def _copy_states(self, root: int, also_buffers: bool) -> None:
        states = [
            parameter.detach()
            for name, parameter in self.module.named_parameters()
            if name not in self.parameters_to_ignore
        ]
        if also_buffers:
            states += self._buffers_to_copy()
        broadcast_tensors(self.process_group, states, root, "parameters and buffers")

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(
        module: Module, params_and_buffers_to_ignore: list[str]
    ) -> None:
        """Leave some parameters and buffers, by their names, as each process has them."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    # ------------------------------------------------------------------ uneven batches

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """The block of a loop in which processes may have different numbers of batches.

        divide_by_initial_world_size  False: the mean is over the processes that have batches left

        >>> torch.distributed.init_process_group("gloo", "file:///nowhere", rank=0, world_size=1)
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
        >>> with model.join():
        ...     model(torch.ones(2, 1)).sum().backward()
        >>> torch.distributed.destroy_process_group()
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What answers the processes that still have batches."""
        self._divide_by_initial_world_size = kwargs.get("divide_by_initial_world_size", True)
        return _DDPJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The group over which gradients are averaged."""
        return self.process_group

    def _tell_joined(self) -> None:
        work = Join.notify_join_context(self)
        self.reducer.remaining = None
        if work is not None and not self._divide_by_initial_world_size:

            def remaining() -> float:
                work.wait()
                return work.result()[0].item()

            self.reducer.remaining = remaining

    def _says_whether_it_averages(self, averages: bool) -> bool:
        """Tell processes without batches, and learn from the others, whether they average."""
        told = wrap(np.array([averages], np.float32))
        all_reduce(told, group=self.process_group)
        return told.item() != 0

    def _common_rank(self, candidate: bool) -> int:
        """The highest number of the processes that are candidates."""
        number = self.process_group.rank() if candidate else -1
        told = wrap(np.array([number], np.int64))
        all_reduce(told, ReduceOp.MAX, self.process_group)
        return int(told.item())

    # ------------------------------------------------------------------ copies

    def __getstate__(self) -> dict[str, object]:
        if self.process_group is not require():
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default "
                "process group. That is, when you have called init_process_group and have not "
                "passed process_group argument to DDP constructor"
            )
        state = super().__getstate__()
        for name in ("process_group", "reducer"):
            state.pop(name)
        return state

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        self.process_group = require()
        self.reducer = self._made_reducer(*self._parameters_to_average())
        if self.static_graph:
            self.reducer.set_static()


class _DDPJoinHook(JoinHook):
    """Makes the exchanges of a step without a batch: zeros for gradients, nobody's buffers."""

    def __init__(self, model: DistributedDataParallel) -> None:
        self._model = model

    def main_hook(self) -> None:
        model = self._model
        model.reducer.rebuild()
        if model.forward_sync_buffers and model.require_forward_param_sync:
            buffers = model._buffers_to_copy()
            if buffers:
                root = model._common_rank(False)
                broadcast_tensors(model.process_group, buffers, root, "buffers")
        averages = model._says_whether_it_averages(False)
        model.require_forward_param_sync = averages
        if averages:
            model.reducer.answer()

    def post_hook(self, is_last_joiner: bool) -> None:
        model = self._model
        root = model._common_rank(is_last_joiner)
        model._copy_states(root, model.forward_sync_buffers)


def _tensors_in(output: object) -> Iterator[Tensor]:
    """The tensors in what a forward returned, in lists, tuples, dictionaries and dataclasses."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, list | tuple):
        for each in output:
            yield from _tensors_in(each)
    elif isinstance(output, dict):
        yield from _tensors_in(list(output.values()))
    elif is_dataclass(output) and not isinstance(output, type):
        for field in fields(output):
            yield from _tensors_in(getattr(output, field.name))


def _says(annotation: object, wanted: object, name: str) -> bool:
    if isinstance(annotation, str):  # by `from __future__ import annotations`
        return name in annotation
    return annotation is inspect.Signature.empty or annotation == wanted


def _refuse(argument: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.nn.parallel.DistributedDataParallel({argument}=...) is not supported by retrograd"
    )
