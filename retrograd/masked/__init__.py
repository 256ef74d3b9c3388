"""Functions over the elements that a mask lets through, and tensors that carry their mask.

>>> import retrograd as torch
>>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> torch.masked.mean(x, 1, mask=x > 1)
tensor([2.0000, 3.5000])

Names are imported when they are asked for.
"""

from retrograd.namespaces import on_first_use

__all__, __getattr__, __dir__ = on_first_use(
    __name__,
    {
        "tensor": "MaskedTensor as_masked_tensor is_masked_tensor masked_tensor",
        "normalizations": "cumprod cumsum log_softmax normalize softmax softmin",
        "reductions": """
            amax amin argmax argmin logaddexp logsumexp mean median norm prod std sum var
        """,
    },
)
