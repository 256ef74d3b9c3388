"""Differentiation: `backward`, `grad`, grad modes."""

from typing import Any

from retrograd.autograd.api import backward as backward
from retrograd.autograd.api import grad as grad
from retrograd.autograd.grad_mode import enable_grad as enable_grad
from retrograd.autograd.grad_mode import inference_mode as inference_mode
from retrograd.autograd.grad_mode import no_grad as no_grad
from retrograd.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from retrograd.autograd.gradcheck import gradcheck as gradcheck
from retrograd.autograd.gradcheck import gradgradcheck as gradgradcheck
from retrograd.namespaces import missing


def __getattr__(name: str) -> Any:
    if name == "Variable":  # made of tensors, which this package must not need at import
        from retrograd.legacy import Variable

        return Variable
    raise missing(__name__, name, globals())
