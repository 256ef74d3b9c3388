"""SparseAdam."""

from __future__ import annotations

from retrograd.optim import sparse_steps
from retrograd.optim.arithmetic import zeros_like
from retrograd.optim.optimizer import Group, Optimizer, ParamsT
from retrograd.optim.options import check, check_betas, check_rate
from retrograd.tensor import Tensor


class SparseAdam(Optimizer):
    """Adam for sparse gradients: moments and parameters change only where a gradient has entries.

    >>> table = torch.ones(3, 1, requires_grad=True)
    >>> optimizer = torch.optim.SparseAdam([table], lr=0.1)
    >>> rows = torch.nn.functional.embedding(torch.tensor([2, 0]), table, sparse=True)
    >>> rows.sum().backward()
    >>> optimizer.step()
    >>> table.flatten().tolist() == [table[0].item(), 1.0, table[2].item()]
    True
    >>> table[0]
    tensor([0.9000], grad_fn=<SelectBackward0>)
    """

    def __init__(
        self,
        params: ParamsT,
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

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        if gradients:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )

    def _update_sparse(self, group: Group, parameter: Tensor, gradient: Tensor) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = 0
            state["exp_avg"] = zeros_like(parameter)
            state["exp_avg_sq"] = zeros_like(parameter)
        state["step"] += 1
        sparse_steps.adam(group, state, state["step"], parameter, gradient)
