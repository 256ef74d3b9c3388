"""Transforms from unconstrained numbers to a constrained space.

`biject_to` finds bijective transforms, which change densities; `transform_to` finds ones that
suit optimization, which need not be bijective.

>>> import retrograd as torch
>>> from retrograd.distributions import constraints, transform_to
>>> transform_to(constraints.greater_than(2.0))(torch.tensor(0.0))
tensor(3.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from retrograd.distributions import constraints, transforms
from retrograd.distributions.constraints import Constraint

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """A table from the type of a constraint to a function that makes a transform for it.

    >>> from retrograd.distributions import constraints, transforms
    >>> from retrograd.distributions.constraint_registry import ConstraintRegistry
    >>> registry = ConstraintRegistry()
    >>> @registry.register(constraints.positive)
    ... def softplus(constraint):
    ...     return transforms.SoftplusTransform()
    >>> registry(constraints.positive)
    SoftplusTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}
        super().__init__()

    @overload
    def register(
        self, constraint: Constraint | type, factory: None = None
    ) -> Callable[[Factory], Factory]: ...
    @overload
    def register(self, constraint: Constraint | type, factory: Factory) -> Factory: ...
    def register(self, constraint: Constraint | type, factory: Factory | None = None) -> Any:
        """Use `factory` for constraints of the type of this one; without it, a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, "
                f"but got {constraint}"
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> transforms.Transform:
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints"
            ) from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Constraint | type) -> Callable[[Factory], Factory]:
    """Register a function for constraints of these kinds in both registries."""

    def register(factory: Factory) -> Factory:
        for registry in (biject_to, transform_to):
            for kind in kinds:
                registry.register(kind, factory)
        return factory

    return register


@_both(constraints.real)
def _to_real(constraint: Constraint) -> transforms.Transform:
    return transforms.identity_transform


@_both(constraints.greater_than, constraints.greater_than_eq)
def _to_greater_than(constraint: Any) -> transforms.Transform:
    loc = constraint.lower_bound
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(loc, 1)]
    )


@_both(constraints.less_than)
def _to_less_than(constraint: Any) -> transforms.Transform:
    loc = constraint.upper_bound
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(loc, -1)]
    )


@_both(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint: Any) -> transforms.Transform:
    lower, upper = constraint.lower_bound, constraint.upper_bound
    are_numbers = isinstance(lower, (int, float)) and isinstance(upper, (int, float))
    if are_numbers and lower == 0 and upper == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(lower, upper - lower)]
    )


@biject_to.register(constraints.simplex)
def _biject_to_simplex(constraint: Constraint) -> transforms.Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_to_simplex(constraint: Constraint) -> transforms.Transform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _transform_to_lower_cholesky(constraint: Constraint) -> transforms.Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _transform_to_positive_definite(constraint: Constraint) -> transforms.Transform:
    return transforms.PositiveDefiniteTransform()


@_both(constraints.corr_cholesky)
def _to_corr_cholesky(constraint: Constraint) -> transforms.Transform:
    return transforms.CorrCholeskyTransform()


def _register_composite(registry: ConstraintRegistry) -> None:
    """Constraints made of others: their transforms are made of the others' in that registry."""

    @registry.register(constraints.independent)
    def _to_independent(constraint: Any) -> transforms.Transform:
        return transforms.IndependentTransform(
            registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
        )

    @registry.register(constraints.cat)
    def _to_cat(constraint: Any) -> transforms.Transform:
        parts = [registry(part) for part in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def _to_stack(constraint: Any) -> transforms.Transform:
        return transforms.StackTransform(
            [registry(part) for part in constraint.cseq], constraint.dim
        )


_register_composite(biject_to)
_register_composite(transform_to)
