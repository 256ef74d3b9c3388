"""Graphs of CUDA devices, under the name of PyTorch's file: what is in `torch.cuda`."""

from __future__ import annotations

from typing import Any

from retrograd.namespaces import missing


def __getattr__(name: str) -> Any:
    from retrograd import cuda

    if name.startswith("_") or name not in vars(cuda):
        raise missing(__name__, name, ())
    return getattr(cuda, name)
