"""Looking into a file without loading it, and smaller helpers of PyTorch's module."""

from __future__ import annotations

import contextlib
import pickletools
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from retrograd.lifecycle.site import user_level
from retrograd.ops.making.legacy import TYPED_TENSORS
from retrograd.ops.making.memory import TypedStorage
from retrograd.serialization.loading import unsafe_names
from retrograd.serialization.names import known_names, present_module
from retrograd.serialization.safe_globals import allowed_as, allowed_names
from retrograd.storage import TYPED_STORAGES

if TYPE_CHECKING:
    from types import ModuleType

    pass


def get_unsafe_globals_in_checkpoint(f: object) -> list[str]:
    """The classes and functions that a file names and that ``weights_only=True`` would refuse.

    The file's pickle is only read, never run.

    >>> import fractions, io, retrograd as torch
    >>> file = io.BytesIO()
    >>> torch.save([torch.ones(1), fractions.Fraction(1, 2)], file)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(file.getvalue()))
    ['fractions.Fraction']
    """

    def unsafe(pickled: bytes) -> set[str]:
        known, names = known_names(), allowed_names()
        return {
            f"{module}.{name}"
            for module, name in _globals_in(pickled)
            if f"{module}.{name}" not in known and allowed_as(module, name, names) is None
        }

    return unsafe_names(f, unsafe)


def _globals_in(pickled: bytes) -> Iterator[tuple[str, str]]:
    texts = ["", ""]  # the last two, which STACK_GLOBAL would take
    for operation, argument, _ in pickletools.genops(pickled):
        if operation.name == "GLOBAL":
            module, _, name = str(argument).partition(" ")
            yield present_module(module), name
        elif operation.name == "STACK_GLOBAL":
            yield present_module(texts[0]), texts[1]
        elif "UNICODE" in operation.name:
            texts = [texts[1], str(argument)]


@contextlib.contextmanager
def mkdtemp() -> Iterator[str]:
    """A folder that is gone after the block."""
    path = tempfile.mkdtemp()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def normalize_storage_type(storage_type: type) -> type[TypedStorage]:
    """The class of this library with the name of a class of storages."""
    found: type[TypedStorage] = TYPED_STORAGES[storage_type.__name__]
    return found


def storage_to_tensor_type(storage: TypedStorage) -> type:
    """The class of tensors that goes with a storage.

    >>> torch.serialization.storage_to_tensor_type(torch.FloatStorage(2)) is torch.FloatTensor
    True
    """
    return TYPED_TENSORS[f"{storage.dtype.type_name}Tensor"]


def check_module_version_greater_or_equal(
    module: ModuleType, req_version_tuple: tuple[int, ...], error_if_malformed: bool = True
) -> bool:
    """Whether a module is at least of a version.

    >>> import numpy
    >>> check_module_version_greater_or_equal(numpy, (2, 0))
    True
    """
    try:
        parts = module.__version__.split(".")
        version = tuple(type(field)(parts[index]) for index, field in enumerate(req_version_tuple))
        return version >= req_version_tuple
    except Exception as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and "
            f"cannot be compared with tuple {req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from error
        warnings.warn(
            f"{message}, but continuing assuming that requirement is met", stacklevel=user_level()
        )
        return True
