"""Models saved with inputs: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.utils.bundled_inputs",
        "there is no TorchScript; keep the model in Python",
        functions="""
        augment_many_model_functions_with_bundled_inputs augment_model_with_bundled_inputs
        bundle_inputs bundle_large_tensor bundle_randn
        """,
        classes="InflatableArg",
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
