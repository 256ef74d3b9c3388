"""Models for phones: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.utils.mobile_optimizer",
        "there is no TorchScript; keep the model in Python",
        functions="generate_mobile_module_lints optimize_for_mobile",
        classes="LintCode MobileOptimizerType",
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
