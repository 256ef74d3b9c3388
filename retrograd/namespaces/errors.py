"""Errors that programs name in `except`: nothing here raises them."""


class OnnxExporterError(RuntimeError):
    """An export failed."""


class onnx_errors:
    """The errors of exports."""

    OnnxExporterError = OnnxExporterError


class PackagingError(Exception):
    """Packing failed."""


class EmptyMatchError(Exception):
    """A pattern of names of modules matched nothing."""


class ObjNotFoundError(Exception):
    """An object is not where its name says."""


class ObjMismatchError(Exception):
    """There is another object where the name says."""


class CheckpointException(BaseException):
    """Saving or loading failed in some processes: `failures` has their errors, by rank."""

    def __init__(self, message: str, failures: dict[int, Exception] | None = None) -> None:
        super().__init__(message)
        self.failures = failures or {}
