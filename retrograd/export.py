"""Models taken out of Python: refused, they run as they are written."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.export",
        "there is no exporter; keep the weights with torch.save(model.state_dict(), file)",
        functions="""
        default_decompositions dims draft_export export load register_dataclass save
        unflatten
        """,
        classes="""
        AdditionalInputs Constraint CustomDecompTable Dim ExportBackwardSignature
        ExportGraphSignature ExportedProgram FlatArgsAdapter ModuleCallEntry
        ModuleCallSignature ShapesCollection UnflattenedModule
        """,
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
