"""Operators that are registered by name: refused, operations are Python functions."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.library",
        "operations are Python functions here; call the function itself, with "
        "torch.autograd.Function for its gradient",
        functions="""
        custom_op define fallthrough_kernel get_ctx get_kernel impl impl_abstract
        infer_schema opcheck register_autocast register_autograd register_fake
        register_kernel register_torch_dispatch register_vmap triton_op wrap_triton
        """,
        classes="Library CustomOpDef",
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
