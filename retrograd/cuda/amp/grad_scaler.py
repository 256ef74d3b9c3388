"""The older form of `torch.amp.GradScaler("cuda")`."""

from __future__ import annotations

from retrograd.amp import grad_scaler
from retrograd.amp.grad_scaler import OptState as OptState
from retrograd.amp.older import deprecated_form

__all__ = ["GradScaler"]


class GradScaler(grad_scaler.GradScaler):
    """Deprecated: ``torch.amp.GradScaler("cuda", ...)``."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        deprecated_form("cuda.amp.GradScaler(args...)", "amp.GradScaler('cuda', args...)")
        super().__init__(
            "cuda",
            init_scale=init_scale,
            growth_factor=growth_factor,
            backoff_factor=backoff_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )
