"""Settings of the compiler. They can be set and read, and change nothing here."""

from typing import Any

from retrograd._dynamo.remembered import patcher
from retrograd.namespaces import missing

dynamic_shapes = True
dynamic_sources = ""
force_disable_caches = False
job_id = None
unbacked_sources = ""

patch = patcher(globals())


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
