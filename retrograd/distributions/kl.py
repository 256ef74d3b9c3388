"""Kullback-Leibler divergences: the registry of pairs and the function that looks them up."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

from retrograd.distributions.distribution import Distribution
from retrograd.lifecycle.site import user_level
from retrograd.tensor import Tensor

__all__ = ["kl_divergence", "register_kl"]

_Formula = TypeVar("_Formula", bound=Callable[..., Tensor])

_KL_REGISTRY: dict[tuple[type, type], Callable[..., Tensor]] = {}
# what a lookup found, by the types that were asked for
_KL_MEMOIZE: dict[tuple[type, type], Callable[..., Tensor] | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[_Formula], _Formula]:
    """Decorate a function that gives ``kl_divergence(p, q)`` of two types and of their subclasses.

    The most specific pair counts. Where two pairs are each more specific in one of the types, a
    third registration should decide; until then a `RuntimeWarning` tells.

    >>> class Point(torch.distributions.Distribution):
    ...     arg_constraints = {}
    >>> @torch.distributions.register_kl(Point, Point)
    ... def kl_point_point(p, q):
    ...     return torch.zeros(p.batch_shape)
    >>> torch.distributions.kl_divergence(Point(), Point())
    tensor(0.)
    """
    for name, given in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(given, type) and issubclass(given, Distribution):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {given}")

    def register(formula: _Formula) -> _Formula:
        _KL_REGISTRY[type_p, type_q] = formula
        _KL_MEMOIZE.clear()
        return formula

    return register


def _not_after(left: Sequence[type], right: Sequence[type]) -> bool:
    """Whether one tuple of types is at least as specific as another; the first types count most."""
    for ours, theirs in zip(left, right, strict=True):
        if not issubclass(ours, theirs):
            return False
        if ours is not theirs:
            return True
    return True


def _most_specific(pairs: list[tuple[type, type]]) -> tuple[type, type]:
    best = pairs[0]
    for pair in pairs[1:]:
        if _not_after(pair, best) and pair != best:
            best = pair
    return best


def _dispatch_kl(type_p: type, type_q: type) -> Callable[..., Tensor] | None:
    """The formula of the most specific registered pair, or None."""
    pairs = [
        (above_p, above_q)
        for above_p, above_q in _KL_REGISTRY
        if issubclass(type_p, above_p) and issubclass(type_q, above_q)
    ]
    if not pairs:
        return None
    # specific in p first, and in q first: both must lead to one formula
    left_p, left_q = _most_specific(pairs)
    right_q, right_p = _most_specific([(q, p) for p, q in pairs])
    chosen = _KL_REGISTRY[left_p, left_q]
    if chosen is not _KL_REGISTRY[right_p, right_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left_p.__name__}, {right_q.__name__})",
            RuntimeWarning,
            stacklevel=user_level(),
        )
    return chosen


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The divergence KL(p || q): the mean under `p` of log p - log q, for each of the batch.

    >>> normal = torch.distributions.Normal
    >>> torch.distributions.kl_divergence(normal(1.0, 1.0), normal(0.0, 1.0))
    tensor(0.5000)
    """
    try:
        formula = _KL_MEMOIZE[type(p), type(q)]
    except KeyError:
        formula = _KL_MEMOIZE[type(p), type(q)] = _dispatch_kl(type(p), type(q))
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} "
            f"and q type {q.__class__.__name__}"
        )
    return formula(p, q)
