"""Models packed with their code: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.package",
        "code is not packed; keep the model's class in Python, and its weights with torch.save",
        functions="is_from_package",
        classes="""
        Directory GlobGroup Importer OrderedImporter PackageExporter PackageImporter
        """,
    )
)


class PackagingError(Exception):
    """Packing failed."""


class EmptyMatchError(Exception):
    """A pattern of names of modules matched nothing."""


class ObjNotFoundError(Exception):
    """An object is not where its name says."""


class ObjMismatchError(Exception):
    """There is another object where the name says."""


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
