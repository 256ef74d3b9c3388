"""SparseAdam."""

from __future__ import annotations

from typing import Any

from retrograd.optim.optimizer import Optimizer
from retrograd.optim.options import check, check_betas, check_rate
from retrograd.tensor import Tensor


class SparseAdam(Optimizer):
    """Adam for sparse gradients. There are none here, so a step refuses the dense gradient.

    >>> import retrograd as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SparseAdam([w])
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    Traceback (most recent call last):
    RuntimeError: SparseAdam does not support dense gradients, please consider Adam instead
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_rate(lr)
        check(0.0 < lr, "Invalid learning rate: {}", lr)
        check(0.0 < eps, "Invalid epsilon value: {}", eps)
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        complex_params = [
            [index, position]
            for index, group in enumerate(self.param_groups)
            for position, parameter in enumerate(group["params"])
            if parameter.is_complex()
        ]
        check(
            not complex_params,
            "Complex params at indices {}: SparseAdam does not support complex parameters",
            complex_params,
        )

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        if gradients:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )
