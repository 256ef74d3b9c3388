"""Tools for testing ops and models: comparisons, random tensors, samples of every op.

>>> import retrograd as torch
>>> torch.testing.assert_close(torch.tensor([0.1]) * 3, torch.tensor([0.3]))
"""

from retrograd.namespaces import on_first_use

# The ops, which these are made of, import `samples` themselves.
__all__, __getattr__, __dir__ = on_first_use(
    __name__, {"comparison": "assert_allclose assert_close", "tensors": "make_tensor"}
)
