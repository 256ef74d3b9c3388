"""Logs for TensorBoard: `SummaryWriter`, which writes through the `tensorboard` package.

The package is imported when a writer is asked for, so this one can be imported without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retrograd.utils.tensorboard.package import part

if TYPE_CHECKING:
    from retrograd.utils.tensorboard.writer import FileWriter as FileWriter
    from retrograd.utils.tensorboard.writer import SummaryWriter as SummaryWriter

    RecordWriter: Any

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        part("tensorboard")
        if name == "RecordWriter":
            return part("tensorboard.summary.writer.record_writer").RecordWriter
        from retrograd.utils.tensorboard import writer

        return getattr(writer, name)
