"""Differentiation: `backward`, `grad`, grad modes."""

from retrograd.autograd.api import backward as backward
from retrograd.autograd.api import grad as grad
from retrograd.autograd.grad_mode import enable_grad as enable_grad
from retrograd.autograd.grad_mode import inference_mode as inference_mode
from retrograd.autograd.grad_mode import no_grad as no_grad
from retrograd.autograd.grad_mode import set_grad_enabled as set_grad_enabled
