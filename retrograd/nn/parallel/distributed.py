"""DistributedDataParallel in a group of one process: the module, under the name `module`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.nn.module import Module


class DistributedDataParallel(Module):
    """Calls a module, whose gradients would be averaged over all processes: there is one.

    >>> torch.distributed.init_process_group("gloo", "file:///nowhere", rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    >>> torch.distributed.destroy_process_group()
    """

    def __init__(
        self, module: Module, device_ids: object = None, *args: object, **options: object
    ) -> None:
        from retrograd.distributed.group import require

        super().__init__()
        self.process_group = require(options.get("process_group"))
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        if device_ids:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with "
                "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
                f"{device_ids}, output_device {options.get('output_device')}, and module "
                "parameters {device(type='cpu')}."
            )
        self.module = module
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result."""
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """The context in which gradients are not averaged."""
        old, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = old

    @contextmanager
    def join(self, *args: object, **options: object) -> Iterator[None]:
        """The context for processes with different numbers of batches: there is one."""
        yield

    def register_comm_hook(self, state: object, hook: object) -> None:
        """Note how gradients are to be averaged: with one process they are not."""
