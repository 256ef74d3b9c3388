"""Optimizer: parameter groups, state, and the step that updates parameters without history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from retrograd.autograd.grad_mode import enable_grad
from retrograd.lifecycle.site import user_site
from retrograd.notices import explained
from retrograd.tensor import Tensor, VersionCell


class Optimizer:
    """The base of all optimizers; a subclass implements `_update`.

    `step` calls ``_update(group, parameters, gradients)`` once per group, with the parameters that
    have a gradient. It works on their arrays, so nothing is recorded. Then one write is counted on
    each: a backward that needs an older value can say that this step changed it.
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {_type_string(params)}"
            )
        self.defaults = defaults
        self.state: dict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise explained(ValueError("optimizer got an empty parameter list"))
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = dict(param_group)
        params = group["params"]
        if isinstance(params, Tensor):
            group["params"] = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        else:
            group["params"] = list(params)
        for parameter in group["params"]:
            if not isinstance(parameter, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    f"{type(parameter).__name__}"
                )
            if not (parameter.is_leaf or parameter.retains_grad):
                raise explained(ValueError("can't optimize a non-leaf Tensor"))
        for name, default in self.defaults.items():
            group.setdefault(name, default)
        held = {id(p) for g in self.param_groups for p in g["params"]}
        if any(id(p) in held for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters."""
        for group in self.param_groups:
            for parameter in group["params"]:
                meta = parameter._meta
                if meta is None or meta.grad is None:
                    continue
                if set_to_none:
                    meta.grad = None
                else:
                    gradient = meta.grad
                    if gradient.grad_fn is not None:
                        gradient.detach_()
                    else:
                        gradient.requires_grad_(False)
                    gradient.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters from their gradients; `closure` recomputes the loss first."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        writer = f"{type(self).__name__}.step"
        code, lasti = user_site(2)
        for group in self.param_groups:
            parameters = []
            gradients = []
            for parameter in group["params"]:
                meta = parameter._meta
                if meta is not None and meta.grad is not None:
                    parameters.append(parameter)
                    gradients.append(meta.grad)
            self._update(group, parameters, gradients)
            for parameter in parameters:
                cell = parameter._cell
                if cell is None:
                    cell = parameter._cell = VersionCell()
                cell.version += 1
                cell.writer, cell.code, cell.lasti = writer, code, lasti
        return loss

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no update rule")

    # ------------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """State and options, with parameters replaced by their numbers."""
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {numbers[id(p)]: dict(values) for p, values in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over state and options saved by `state_dict`."""
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(
            len(theirs["params"]) != len(ours["params"])
            for theirs, ours in zip(saved, self.param_groups, strict=True)
        ):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        by_number: dict[int, Tensor] = {}
        for theirs, ours in zip(saved, self.param_groups, strict=True):
            by_number.update(zip(theirs["params"], ours["params"], strict=True))
            ours.update({key: value for key, value in theirs.items() if key != "params"})
        self.state = defaultdict(dict)
        for number, values in state_dict["state"].items():
            parameter = by_number[number]
            self.state[parameter] = {
                key: _as_parameter(key, value, parameter) for key, value in values.items()
            }

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for index, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {index}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            lines.append("")
        if self.param_groups:
            lines.pop()
        return "\n".join(lines) + "\n)"


def _as_parameter(key: str, value: Any, parameter: Tensor) -> Any:
    if not isinstance(value, Tensor):
        return value
    if key == "step" or not parameter.is_floating_point():
        return value.clone()
    return value.to(parameter.dtype, copy=True)


def _type_string(value: Any) -> str:
    return value.type() if isinstance(value, Tensor) else type(value).__name__
