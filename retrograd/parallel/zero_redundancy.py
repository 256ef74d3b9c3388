"""An optimizer whose states are spread over processes: each updates its share of the parameters."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from retrograd.distributed.algorithms.join import Joinable, JoinHook
from retrograd.distributed.group import Group, ProcessGroup, require
from retrograd.distributed.objects import gather_object
from retrograd.distributed.transports.interface import Flat, Transport
from retrograd.engine.grad_mode import no_grad
from retrograd.ops.making.queries import typename
from retrograd.optim.optimizer import Optimizer
from retrograd.tensor import Tensor, cell_of, wrap

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Wraps an optimizer class: its states, as those of Adam, are held once for all processes.

    optimizer_class  what updates the parameters of this process's share
    process_group    the processes; all of them if it is not given
    defaults         the options of that class

    Gradients must be the same in all processes, as DistributedDataParallel leaves them.

    >>> torch.distributed.init_process_group("gloo", "file:///nowhere", rank=0, world_size=1)
    >>> weight = torch.nn.Parameter(torch.ones(2))
    >>> adam = torch.optim.Adam
    >>> step = torch.distributed.optim.ZeroRedundancyOptimizer([weight], adam, lr=0.5)
    >>> weight.sum().backward()
    >>> step.step()
    >>> weight.detach()
    tensor([0.5000, 0.5000])
    >>> torch.distributed.destroy_process_group()
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: type[Optimizer],
        process_group: Group = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "torch.distributed.optim.ZeroRedundancyOptimizer(overlap_with_ddp=True) is not "
                "supported by retrograd"
            )
        given = _checked(params)
        self._made = False
        self.process_group: ProcessGroup = require(process_group)
        self.world_size = self.process_group.size()
        self.rank = self.process_group.rank()
        self.parameters_as_bucket_view = parameters_as_bucket_view  # parameters stay where they are
        self._consolidated: list[dict[str, Any]] = []
        Optimizer.__init__(self, given, defaults)
        Joinable.__init__(self)
        self._shares = self._divided()
        self.optim = optimizer_class(self._shares[self.rank], **defaults)
        for own, group in zip(self.optim.param_groups, self.param_groups, strict=True):
            _copy_options(own, group)
        self._made = True

    def _divided(self) -> list[list[dict[str, Any]]]:
        """For each process its parameter groups: the largest parameters go first, to the least."""
        shares: list[list[dict[str, Any]]] = [[] for _ in range(self.world_size)]
        held = [0] * self.world_size
        for group in self.param_groups:
            parts: list[list[Tensor]] = [[] for _ in range(self.world_size)]
            for parameter in sorted(group["params"], key=lambda each: -each.numel()):
                rank = held.index(min(held))
                parts[rank].append(parameter)
                held[rank] += parameter.numel()
            for share, part in zip(shares, parts, strict=True):
                share.append({**group, "params": part})
        return shares

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """One more group of parameters; the shares of those that are there may change."""
        super().add_param_group(param_group)
        if self._made:
            states = dict(self.optim.state)
            before = self._shares
            self._shares = self._divided()
            for old, new in zip(before, self._shares, strict=True):
                for earlier, now in zip(old, new, strict=False):
                    # What has a state stays where the state is.
                    now["params"] = earlier["params"]
            self.optim.add_param_group(self._shares[self.rank][-1])
            self.optim.state.update(states)

    def step(self, closure: Callable[[], Any] | None = None, **options: Any) -> Any:
        """Update this process's share of the parameters, and get those of the others."""
        for own, group in zip(self.optim.param_groups, self.param_groups, strict=True):
            _copy_options(group, own)
        result = self.optim.step(closure, **options)
        for own, group in zip(self.optim.param_groups, self.param_groups, strict=True):
            _copy_options(own, group)
        self._exchange()
        return result

    def _exchange(self) -> None:
        if self.world_size == 1:
            return
        mine = [parameter for group in self._shares[self.rank] for parameter in group["params"]]
        packed = _packed(mine)
        flats: list[Flat] = []
        shares = [[p for group in share for p in group["params"]] for share in self._shares]
        for share in shares:
            flats.append(np.empty(sum(p.nbytes for p in share), np.uint8))

        def run(transport: Transport, tag: int) -> None:
            transport.allgather(flats, packed, tag)

        total = sum(flat.nbytes for flat in flats)
        name = "ZeroRedundancyOptimizer"
        self.process_group.begin(name, "updated parameters", f"{total}", run).wait()
        for rank, (share, flat) in enumerate(zip(shares, flats, strict=True)):
            if rank != self.rank:
                _unpack(share, flat)

    # ------------------------------------------------------------------ states

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the states of all processes to one, which can then call `state_dict`."""
        for own, group in zip(self.optim.param_groups, self.param_groups, strict=True):
            _copy_options(group, own)
        mine = self.rank == to
        found: list[Any] | None = [None] * self.world_size if mine else None
        gather_object(self.optim.state_dict(), found, group=self.process_group, group_dst=to)
        self._consolidated = found or []

    def state_dict(self) -> dict[str, Any]:
        """The states as `consolidate_state_dict` brought them together here."""
        if not self._consolidated:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant "
                "to save the global state."
            )
        told = super().state_dict()
        numbers = self._numbers()
        states: dict[int, Any] = {}
        for share, local in zip(self._shares, self._consolidated, strict=True):
            for group, numbered in zip(share, local["param_groups"], strict=True):
                for parameter, number in zip(group["params"], numbered["params"], strict=True):
                    if number in local["state"]:
                        states[numbers[id(parameter)]] = local["state"][number]
        told["state"] = dict(sorted(states.items()))
        return told

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back states of all parameters, as `state_dict` gave them: each process its share."""
        super().load_state_dict({**state_dict, "state": {}})
        numbers = self._numbers()
        local = self.optim.state_dict()
        local["state"] = {}
        groups = zip(self.optim.param_groups, local["param_groups"], strict=True)
        for own, numbered in groups:
            for parameter, number in zip(own["params"], numbered["params"], strict=True):
                index = numbers[id(parameter)]
                if index in state_dict["state"]:
                    local["state"][number] = copy.deepcopy(state_dict["state"][index])
        self.optim.load_state_dict(local)
        for own, group in zip(self.optim.param_groups, self.param_groups, strict=True):
            _copy_options(group, own)

    def _numbers(self) -> dict[int, int]:
        every = [parameter for group in self.param_groups for parameter in group["params"]]
        return {id(parameter): number for number, parameter in enumerate(every)}

    # ------------------------------------------------------------------ uneven batches

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What answers the processes that still have batches: a step."""
        return _StepJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The processes that share the states."""
        return self.process_group


class _StepJoinHook(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self._optimizer = optimizer

    def main_hook(self) -> None:
        self._optimizer.step()


def _checked(params: Any) -> list[Any]:
    if isinstance(params, Tensor):
        raise TypeError(
            f"`params` argument should be an iterable of Tensors, but got {typename(params)}"
        )
    try:
        given = list(params)
    except TypeError as error:
        raise TypeError(
            "`params` argument should be an iterable of Tensors or dicts, but got "
            f"{typename(params)}"
        ) from error
    if not given:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    if all(isinstance(each, Tensor) for each in given):
        every = given
    elif all(isinstance(each, dict) for each in given):
        if any("params" not in each for each in given):
            raise ValueError(
                "Each parameter group passed-in via `params` must have a 'params' key mapping to "
                "the parameters in the group"
            )
        given = [{**each, "params": list(each["params"])} for each in given]
        every = [parameter for each in given for parameter in each["params"]]
    else:
        raise TypeError("`params` argument should be an iterable of Tensors or dicts")
    kinds = list(dict.fromkeys(each.type() for each in every))
    if len(kinds) > 1:
        raise ValueError(
            "ZeroRedundancyOptimizer only supports using the same dense type for all parameters "
            f"but got both {kinds[0]} and {kinds[1]}"
        )
    return given


def _copy_options(source: Mapping[str, Any], target: Any) -> None:
    for key, value in source.items():
        if key != "params":
            target[key] = value


def _packed(parameters: list[Tensor]) -> Flat:
    """Their elements as bytes, one after the other."""
    parts = []
    for parameter in parameters:
        array: Any = parameter.detach().cpu()._array
        parts.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
    return np.concatenate(parts) if parts else np.empty(0, np.uint8)


def _unpack(parameters: list[Tensor], flat: Flat) -> None:
    at = 0
    for parameter in parameters:
        array: Any = parameter._array
        part = flat[at : at + parameter.nbytes]
        at += parameter.nbytes
        if type(array) is np.ndarray:
            cell_of(parameter).version += 1
            array[...] = part.view(array.dtype).reshape(array.shape)
        else:
            like: Any = parameter.detach().cpu()._array
            with no_grad():
                parameter.copy_(wrap(part.view(like.dtype).reshape(like.shape)))
