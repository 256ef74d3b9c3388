"""Files for other runtimes: nothing is exported here."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.onnx",
        "there is no exporter; keep the weights with torch.save, and export where PyTorch is"
        " installed",
        functions="""
        export register_custom_op_symbolic unregister_custom_op_symbolic
        """,
        classes="ExportableModule InputObserver ONNXProgram",
    )
)


class OnnxExporterError(RuntimeError):
    """An export failed."""


class errors:
    """The errors of exports."""

    OnnxExporterError = OnnxExporterError


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: no."""
    return False


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
