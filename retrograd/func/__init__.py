"""Function transforms: they take a function and give another.

>>> import retrograd as torch
>>> torch.func.vmap(lambda x: (x * x).sum())(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([ 5., 25.])
>>> torch.func.grad(lambda x: (x * x).sum())(torch.tensor([1.0, 2.0]))
tensor([2., 4.])
"""

from retrograd.func.debugging import debug_unwrap as debug_unwrap
from retrograd.func.debugging import functionalize as functionalize
from retrograd.func.forward import jvp as jvp
from retrograd.func.forward import linearize as linearize
from retrograd.func.jacobians import hessian as hessian
from retrograd.func.jacobians import jacfwd as jacfwd
from retrograd.func.jacobians import jacrev as jacrev
from retrograd.func.modules import functional_call as functional_call
from retrograd.func.modules import (
    replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_,
)
from retrograd.func.modules import stack_module_state as stack_module_state
from retrograd.func.rearranging import rearrange as rearrange
from retrograd.func.reverse import grad as grad
from retrograd.func.reverse import grad_and_value as grad_and_value
from retrograd.func.reverse import vjp as vjp
from retrograd.transforms.vmap import vmap as vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
