"""Gamma and Dirichlet samples with gradients: `_standard_gamma`, `_sample_dirichlet`."""

from __future__ import annotations

from retrograd.backend import backend_of
from retrograd.engine.state import TRANSFORMS
from retrograd.ops.elementwise.special import no_derivative
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.registry import RECORDED, attach, function_only, op
from retrograd.random import continuous
from retrograd.random.mapping import batches, is_mapped
from retrograd.random.reparameterization import dirichlet_gradient, gamma_gradient
from retrograd.random.state import Generator, generator_or_default
from retrograd.tensor import Tensor


@op(
    input=no_derivative("_standard_gamma_grad"),
    output=no_derivative("_standard_gamma_grad"),
)
def _standard_gamma_grad(xp: Namespace, input: Array, output: Array) -> Array:
    """How fast gamma samples grow with their shape parameter."""
    return gamma_gradient(input, output)


@op(
    input=lambda m, g, input, out: m.mul(g, m._standard_gamma_grad(input, out)),
    half="move",
    node_name="StandardGammaBackward0",
)
def _draw_gamma(xp: Namespace, input: Array, generator: Generator) -> Array:
    return continuous.standard_gamma(generator, input)


@op(
    x=no_derivative("_dirichlet_grad"),
    alpha=no_derivative("_dirichlet_grad"),
    total=no_derivative("_dirichlet_grad"),
)
def _dirichlet_grad(xp: Namespace, x: Array, alpha: Array, total: Array) -> Array:
    """The slope of Dirichlet samples, before a row's constraint to add up to 1 is applied."""
    return dirichlet_gradient(x, alpha, total)


@op(input=lambda m, g: m.zeros_like(g), half="move", node_name="SampleDirichletBackward0")
def _draw_dirichlet(xp: Namespace, input: Array, generator: Generator) -> Array:
    return continuous.dirichlet(generator, input)


@function_only(name="_standard_gamma")
def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """A gamma number of scale 1 for every shape parameter; differentiable by that parameter.

    >>> torch._standard_gamma(torch.tensor([2.0]), torch.Generator().manual_seed(0))
    tensor([4.5526])
    """
    if TRANSFORMS.active and is_mapped():
        return batches().of_tensors(lambda wide: _standard_gamma(wide, generator), input)
    source = generator_or_default(generator, "_standard_gamma", backend_of(input._array))
    return RECORDED._draw_gamma(input, source)


@function_only(name="_sample_dirichlet")
def _sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """A row of numbers that add up to 1 for every row of concentrations.

    >>> torch._sample_dirichlet(torch.ones(3), torch.Generator().manual_seed(0)).sum()
    tensor(1.)
    """
    if TRANSFORMS.active and is_mapped():
        return batches().of_tensors(lambda wide: _sample_dirichlet(wide, generator), input)
    source = generator_or_default(generator, "_sample_dirichlet", backend_of(input._array))
    return RECORDED._draw_dirichlet(input, source)


attach(_standard_gamma_grad, public=("_standard_gamma_grad",))
attach(_dirichlet_grad, public=("_dirichlet_grad",))
