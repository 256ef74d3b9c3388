"""What of PyTorch's public interface is here: supported, different, or not there.

The names are PyTorch's own (`torch_names.txt` for autograd, `api_names.txt` for everything else,
checked against the real thing by the tests). What is said of each comes from the code: `differs`,
`refuses` and `unsupported` mark a definition where it stands, everything else that can be imported
is supported. What is absent on purpose is in `absent.txt`, by group, with the reason.

>>> from retrograd.compat import status_of
>>> status_of("torch.autograd.grad").status
'works'
>>> status_of("torch.quantize_per_tensor").status
'absent'
"""

from retrograd.namespaces import on_first_use

__all__, __getattr__, __dir__ = on_first_use(
    __name__,
    {
        "retrograd.marks": "differs refuses unsupported unsupported_class",
        "names": "Support public_names support",
        "status": "Status status_of",
    },
)
