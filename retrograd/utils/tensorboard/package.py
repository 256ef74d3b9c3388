"""Parts of the `tensorboard` package, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_COMMANDS = {
    "tensorboard": "pip install tensorboard",
    "google": "pip install tensorboard",  # its protocol buffers
    "PIL": "pip install pillow",
    "matplotlib": "pip install matplotlib",
}


def part(name: str) -> Any:
    """A module of an optional package; without the package, an error that says how to get it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise ModuleNotFoundError(
            f"No module named '{package}'\n"
            f"retrograd.utils.tensorboard needs it: {_COMMANDS[package]}",
            name=error.name,
            path=error.path,
        ) from None


def proto(name: str) -> Any:
    """A file of TensorBoard's protocol buffers, such as "summary"."""
    return part(f"tensorboard.compat.proto.{name}_pb2")
