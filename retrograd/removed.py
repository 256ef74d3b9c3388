"""Functions that PyTorch removed: they raise its errors, which name what to use instead."""

from __future__ import annotations

from typing import Any, NoReturn

from retrograd.ops.registry import attach
from retrograd.tensor import tensor_method

_REMOVED = "This function was deprecated since version 1.9 and is now removed."


def _removed(name: str, text: str, *, method: bool = True) -> None:
    def refuse(*args: Any, **options: object) -> NoReturn:
        raise RuntimeError(text)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Removed in PyTorch: {text.splitlines()[-1]}"
    attach(refuse, methods=(name,) if method else (), public=(name,))


_removed(
    "symeig",
    f"{_REMOVED} The default behavior has changed from using the upper triangular portion of the "
    "matrix by default to using the lower triangular portion.\n\n"
    "Use torch.linalg.eigvalsh(A, UPLO='U') for the eigenvalues, torch.linalg.eigh(A, UPLO='U') "
    "for the eigenvectors too",
)
_removed(
    "eig",
    f"{_REMOVED} `torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather "
    "than real tensors mimicking complex tensors.\n\n"
    "Use torch.linalg.eigvals(A) for the eigenvalues, torch.linalg.eig(A) for the eigenvectors too",
)
_removed(
    "lstsq",
    f"{_REMOVED} `torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.\n"
    "Use torch.linalg.lstsq(A, B).solution: its arguments are the other way round",
)
_removed(
    "solve",
    f"{_REMOVED} `torch.solve` is deprecated in favor of `torch.linalg.solve`. "
    "`torch.linalg.solve` has its arguments reversed and does not return the LU factorization.\n\n"
    "Use torch.linalg.solve(A, B), and torch.linalg.lu_factor(A) for the factorization",
)
_removed(
    "matrix_rank",
    f"{_REMOVED}\nUse torch.linalg.matrix_rank: its 'hermitian' was called 'symmetric' here",
    method=False,
)


@tensor_method
def reinforce(self: object, *args: Any, **options: object) -> NoReturn:
    """Removed in PyTorch: multiply the log probability of the action by the reward instead."""
    raise RuntimeError(
        "reinforce() was removed.\nUse torch.distributions instead: the loss is "
        "-Categorical(probs).log_prob(action) * reward"
    )
