"""Spectral normalization with a hook: the older form of `parametrizations.spectral_norm`."""

from __future__ import annotations

from typing import Any, TypeVar

from retrograd import linalg
from retrograd.engine.grad_mode import no_grad
from retrograd.nn import functional
from retrograd.nn.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter, UninitializedParameter
from retrograd.tensor import Tensor

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]

M = TypeVar("M", bound=Module)


class SpectralNorm:
    """The hook that divides a weight by its largest singular value before each call."""

    # Of what it adds to state dicts: 0 had no buffer `weight_v`, and kept the divided weight.
    _version: int = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        self.name = name
        self.dim = dim
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight with `dim` in front and all others as one."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Any:
        """The divided weight, after further steps of power iteration if asked."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                # Written into the buffers: a replica of the module shares them.
                for _ in range(self.n_power_iterations):
                    functional.normalize(matrix.t().mv(u), dim=0, eps=self.eps, out=v)
                    functional.normalize(matrix.mv(v), dim=0, eps=self.eps, out=u)
                # Copies, since a second call writes there before the first one's backward.
                u, v = u.clone(), v.clone()
        return weight / u.dot(matrix.mv(v))

    def remove(self, module: Module) -> None:
        """Make the divided weight the module's parameter."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for ending in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + ending)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, matrix: Tensor, u: Tensor, target: Tensor) -> Tensor:
        """The `v` with ``u = normalize(matrix @ v)`` and ``u @ matrix @ v == target``."""
        inverse = linalg.pinv(matrix.t().mm(matrix), rcond=1e-15)
        v = linalg.multi_dot([inverse, matrix.t(), u.unsqueeze(1)]).squeeze(1)
        return v.mul_(target / u.dot(matrix.mv(v)))

    @staticmethod
    def apply(
        module: Module, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Give the module the hooks and buffers."""
        for known in module._forward_pre_hooks.values():
            if isinstance(known, SpectralNorm) and known.name == name:
                raise RuntimeError(
                    f"Cannot register two spectral_norm hooks on the same parameter {name}"
                )
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make "
                "sure to run the dummy forward before applying spectral normalization"
            )
        with no_grad():
            vectors = [
                functional.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps)
                for size in hook.reshape_weight_to_matrix(weight).size()
            ]
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # A tensor under the old name: other code may want to see it before the first call. A plain
        # attribute, which no `state_dict` and no optimizer sees.
        setattr(module, name, weight.data)
        for ending, vector in zip(("_u", "_v"), vectors, strict=True):
            module.register_buffer(name + ending, vector)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormLoadStateDictPreHook:
    """Finds the `v` that state dicts of version 0 do not hold."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        hook = self.fn
        version = local_metadata.get("spectral_norm", {}).get(hook.name + ".version")
        if version is not None and version >= 1:
            return
        key = prefix + hook.name
        complete = all(key + ending in state_dict for ending in ("_orig", "_u", "_v"))
        if version is None and complete and key not in state_dict:
            return  # of version 1, but the metadata got lost
        missing = [key + ending for ending in ("_orig", "", "_u") if key + ending not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with no_grad():
            original = state_dict[key + "_orig"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = hook.reshape_weight_to_matrix(original)
            u = state_dict[key + "_u"]
            state_dict[key + "_v"] = hook._solve_v_and_rescale(matrix, u, sigma)


class SpectralNormStateDictHook:
    """Writes the version into the metadata of a state dict."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        module: Module,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
    ) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Divide a weight by its largest singular value before each call.

    `torch.nn.utils.parametrizations.spectral_norm` is the newer form.

    n_power_iterations  steps per call in training; in evaluation the estimate stays
    dim  what the rows of the matrix are: 0, or 1 for transposed convolutions

    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(20, 40))
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if dim is None:
        transposed = isinstance(module, ConvTranspose1d | ConvTranspose2d | ConvTranspose3d)
        dim = 1 if transposed else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Keep the weight as it is divided now, and stop dividing it.

    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(20, 40))
    >>> list(torch.nn.utils.remove_spectral_norm(layer).state_dict())
    ['bias', 'weight']
    """
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    companions: tuple[tuple[Any, type[Any]], ...] = (
        (module._state_dict_hooks, SpectralNormStateDictHook),
        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook),
    )
    for table, kind in companions:
        for number, known in list(table.items()):
            # the table of loading may keep a hook within a wrapper
            own = getattr(known, "hook", known)
            if isinstance(own, kind) and own.fn.name == name:
                del table[number]
                break
    return module
