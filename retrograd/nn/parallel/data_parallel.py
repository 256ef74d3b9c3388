"""DataParallel: without accelerators it calls the module it is given."""

from __future__ import annotations

from typing import Any

from retrograd.nn.module import Module


class DataParallel(Module):
    """The module it wraps, under the name `module`; there are no devices to split a batch over.

    >>> model = torch.nn.DataParallel(torch.nn.Linear(2, 1))
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    >>> model(torch.zeros(4, 2)).shape
    torch.Size([4, 1])
    """

    def __init__(
        self, module: Module, device_ids: object = None, output_device: object = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[object] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: object,
    device_ids: object = None,
    output_device: object = None,
    dim: int = 0,
    module_kwargs: object = None,
) -> Any:
    """Refused, as PyTorch does where there is no accelerator."""
    raise RuntimeError("device type could not be determined")
