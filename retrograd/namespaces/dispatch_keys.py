"""Names of the steps that a call of PyTorch's passes: packages build sets of them when imported.

Calls here pass no such steps, so nothing looks at a set; the guards that switch steps off refuse.

>>> from retrograd.namespaces.dispatch_keys import DispatchKey, DispatchKeySet
>>> DispatchKeySet(DispatchKey.AutocastCPU) | DispatchKeySet(DispatchKey.AutocastCUDA)
DispatchKeySet(AutocastCPU, AutocastCUDA)
"""

from __future__ import annotations

from enum import Enum
from typing import Any

_BACKENDS = "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 Meta"
_NAMES = """
    Undefined CompositeExplicitAutogradNonFunctional CompositeExplicitAutograd
    CompositeImplicitAutogradNestedTensor CompositeImplicitAutograd AutogradNestedTensor
    AutogradOther Autograd Conjugate ZeroTensor Negative BackendSelect ADInplaceOrView
    PythonTLSSnapshot Python FuncTorchDynamicLayerFrontMode FuncTorchDynamicLayerBackMode
    FuncTorchBatchedDecomposition FuncTorchBatched FuncTorchVmapMode FuncTorchGradWrapper
    PythonDispatcher PreDispatch Functionalize AutocastCPU AutocastMPS AutocastXPU AutocastHPU
    AutocastIPU AutocastCUDA AutocastPrivateUse1 Dense
"""
_KINDS = ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor", "Autograd")


_made: Any = Enum
DispatchKey = _made(
    "DispatchKey",
    [*_NAMES.split(), *(f"{kind}{backend}" for kind in _KINDS for backend in _BACKENDS.split())],
    module=__name__,
)


class DispatchKeySet:
    """A set of keys."""

    def __init__(self, *keys: Enum) -> None:
        self._keys = frozenset(keys)

    def has(self, key: Enum) -> bool:
        """Whether a key is in it."""
        return key in self._keys

    def add(self, key: Enum) -> DispatchKeySet:
        """The set with one more key."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key: Enum) -> DispatchKeySet:
        """The set without a key."""
        return DispatchKeySet(*self._keys - {key})

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys & other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys - other._keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        names = (key.name for key in sorted(self._keys, key=lambda key: key.value))
        return f"DispatchKeySet({', '.join(names)})"
