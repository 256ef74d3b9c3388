"""Tools for testing ops and models: comparisons, random tensors, samples of every op.

>>> import retrograd as torch
>>> torch.testing.assert_close(torch.tensor([0.1]) * 3, torch.tensor([0.3]))
"""

from importlib import import_module
from typing import Any

from retrograd.namespaces import missing

# imported when asked for: the ops, which these are made of, import `testing.samples` themselves
_PLACES = {
    "assert_close": "comparison",
    "assert_allclose": "comparison",
    "make_tensor": "tensors",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"retrograd.testing.{_PLACES[name]}"), name)
    raise missing(__name__, name, [*globals(), *_PLACES])
