"""Files for other runtimes: nothing is exported here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.namespaces.errors import onnx_errors
from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class ExportableModule:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save, and export where PyTorch is installed.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class InputObserver:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save, and export where PyTorch is installed.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ONNXProgram:
    @deprecated('Not supported: there is no exporter; keep the weights with torch.save, and export where PyTorch is installed.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.namespaces.errors import OnnxExporterError as OnnxExporterError
errors = onnx_errors
@deprecated('Not supported: there is no exporter; keep the weights with torch.save, and export where PyTorch is installed.')
def export(*args: object, **options: object) -> NoReturn: ...
def is_in_onnx_export(*args: object, **options: object) -> bool: 'Whether a model is being exported: no.'
from retrograd.onnx import operators as operators
def register_custom_op_symbolic(*args: object, **options: object) -> None: 'Say how an operator is exported: nothing is, so nobody asks.'
from retrograd.onnx import symbolic_helper as symbolic_helper
from retrograd.onnx import symbolic_opset11 as symbolic_opset11
def unregister_custom_op_symbolic(*args: object, **options: object) -> None: 'Take back how an operator is exported: nothing is.'
