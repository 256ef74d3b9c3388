"""Pruning: parameters of which chosen elements, or whole rows, are held at zero.

A pruned ``weight`` becomes the parameter ``weight_orig`` and the buffer ``weight_mask``; a hook of
the module multiplies them before each call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retrograd.nn.module import Module
from retrograd.nn.utils.convert_parameters import parameters_to_vector
from retrograd.nn.utils.pruning_methods import BasePruningMethod as BasePruningMethod
from retrograd.nn.utils.pruning_methods import CustomFromMask as CustomFromMask
from retrograd.nn.utils.pruning_methods import Identity as Identity
from retrograd.nn.utils.pruning_methods import L1Unstructured as L1Unstructured
from retrograd.nn.utils.pruning_methods import LnStructured as LnStructured
from retrograd.nn.utils.pruning_methods import PruningContainer as PruningContainer
from retrograd.nn.utils.pruning_methods import RandomStructured as RandomStructured
from retrograd.nn.utils.pruning_methods import RandomUnstructured as RandomUnstructured
from retrograd.ops.making.creation import ones_like
from retrograd.tensor import Tensor


def identity(module: Module, name: str) -> Module:
    """Give a parameter a mask of ones.

    >>> from retrograd.nn.utils import prune
    >>> list(prune.identity(torch.nn.Linear(2, 2), "weight").state_dict())
    ['bias', 'weight_orig', 'weight_mask']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: int | float) -> Module:
    """Prune elements at random: `amount` of them, or that share if it is a float.

    >>> from retrograd.nn.utils import prune
    >>> layer = prune.random_unstructured(torch.nn.Linear(2, 5), "weight", amount=0.3)
    >>> layer.weight_mask.sum()
    tensor(7.)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: int | float, importance_scores: Tensor | None = None
) -> Module:
    """Prune the elements nearest to zero, or with the least scores.

    >>> from retrograd.nn.utils import prune
    >>> layer = torch.nn.Linear(3, 1)
    >>> layer.weight.data = torch.tensor([[1.0, -3.0, 2.0]])
    >>> prune.l1_unstructured(layer, "weight", amount=1).weight_mask
    tensor([[0., 1., 1.]])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: int | float, dim: int) -> Module:
    """Prune rows along `dim` at random.

    >>> from retrograd.nn.utils import prune
    >>> layer = prune.random_structured(torch.nn.Linear(3, 4), "weight", amount=2, dim=0)
    >>> layer.weight_mask.sum(0)
    tensor([2., 2., 2.])
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: int | float,
    n: object,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the rows along `dim` with the smallest `n`-norms.

    >>> from retrograd.nn.utils import prune
    >>> layer = torch.nn.Linear(2, 2)
    >>> layer.weight.data = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> prune.ln_structured(layer, "weight", amount=1, n=2, dim=0).weight_mask
    tensor([[0., 0.],
            [1., 1.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune where `mask` is zero.

    >>> from retrograd.nn.utils import prune
    >>> layer = prune.custom_from_mask(torch.nn.Linear(1, 2), "bias", torch.tensor([0, 1]))
    >>> layer.bias_mask
    tensor([0., 1.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: object, pruning_method: Any, importance_scores: object = None, **kwargs: object
) -> None:
    """Prune several parameters, pairs (module, name), as if they were one.

    >>> from retrograd.nn.utils import prune
    >>> layer = torch.nn.Linear(2, 2)
    >>> both = [(layer, "weight"), (layer, "bias")]
    >>> prune.global_unstructured(both, pruning_method=prune.L1Unstructured, amount=4)
    >>> layer.weight_mask.sum() + layer.bias_mask.sum()
    tensor(2.)
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs: list[tuple[Module, str]] = list(parameters)
    all_scores = parameters_to_vector(
        [scores.get((module, name), getattr(module, name)) for module, name in pairs]
    )
    so_far = parameters_to_vector(
        [
            getattr(module, name + "_mask", ones_like(getattr(module, name)))
            for module, name in pairs
        ]
    )
    container = PruningContainer()
    method = pruning_method(**kwargs)
    container._tensor_name = method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    mask = container.compute_mask(all_scores, so_far)
    start = 0
    for module, name in pairs:
        parameter = getattr(module, name)
        end = start + parameter.numel()
        custom_from_mask(module, name, mask=mask[start:end].view_as(parameter))
        start = end


def remove(module: Module, name: str) -> Module:
    """Keep a pruned parameter's values, without mask and hook.

    >>> from retrograd.nn.utils import prune
    >>> layer = prune.identity(torch.nn.Linear(2, 2), "weight")
    >>> list(prune.remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module: Module) -> bool:
    """Whether anything in a module is pruned.

    >>> from retrograd.nn.utils import prune
    >>> prune.is_pruned(torch.nn.Linear(2, 2))
    False
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in part._forward_pre_hooks.values()
    )
