"""Files of models that are split over processes: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.distributed.checkpoint",
        "there is one process; use torch.save and torch.load",
        functions="""
        async_save load load_sharded_optimizer_state_dict load_state_dict save
        save_state_dict
        """,
        classes="""
        DefaultLoadPlanner DefaultSavePlanner FileSystemReader FileSystemWriter
        HuggingFaceStorageReader HuggingFaceStorageWriter LoadPlan LoadPlanner Metadata
        SavePlan SavePlanner StorageReader StorageWriter
        """,
    )
)


class CheckpointException(BaseException):
    """Saving or loading failed in some processes."""


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
