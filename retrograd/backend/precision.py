"""How float32 products may be computed on a device: what PyTorch's switches say."""

from __future__ import annotations


class Precision:
    """The switches, as all devices read them.

    >>> Precision().tf32
    False
    """

    __slots__ = ("products",)

    def __init__(self) -> None:
        self.products = "highest"  # or "high" or "medium", as `set_float32_matmul_precision` says

    @property
    def tf32(self) -> bool:
        """Whether products of float32 may round their factors to 11 bits (TensorFloat-32)."""
        return self.products != "highest"

    @tf32.setter
    def tf32(self, allowed: object) -> None:
        self.products = "high" if allowed else "highest"


PRECISION = Precision()
