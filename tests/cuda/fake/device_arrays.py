"""The strict arrays with what CuPy's have beyond them."""

from __future__ import annotations

import weakref

import numpy as np

from tests.cuda.fake import machine
from tests.strict.arrays import StrictArray, bare, dressed


class Pointer:
    """Memory of a device from some byte on."""

    def __init__(self, held):
        self._held = held
        self.ptr = held.ctypes.data

    @property
    def device_id(self):
        return machine.device_of(self._held)

    device = property(lambda self: Device(self.device_id))


# The arrays around memory that NumPy's own: views hold them as their base, as CuPy's do.
_owners: weakref.WeakValueDictionary[int, StrictArray] = weakref.WeakValueDictionary()


def made(held):
    """An array of the current device around new memory, or of its own device around old."""
    array = StrictArray.__new__(StrictArray)
    put(array, held)
    return array


def put(array, held):
    """Give an array its memory, and the array whose memory it shows."""
    machine.note(held)
    array._held = held
    owner = held.base
    if owner is None:
        _owners[id(held)] = array
    elif (base := _owners.get(id(owner))) is not None and base._held is owner:
        array._base = base


class Device:
    """`cupy.cuda.Device`."""

    def __init__(self, device=None):
        self.id = machine.current() if device is None else int(device)
        self._before: list[int] = []

    def __enter__(self):
        self._before.append(machine.current())
        machine.use(self.id)
        return self

    def __exit__(self, *exception):
        machine.use(self._before.pop())

    def use(self):
        machine.use(self.id)

    def synchronize(self):
        machine.waits.append(f"device {self.id}")

    @property
    def mem_info(self):
        return machine.MEMORY - machine.held[self.id], machine.MEMORY

    compute_capability = "90"

    def __eq__(self, other):
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self):
        return hash(self.id)


def _restrided(self, shape, strides, update_c, update_f):
    self._held = np.lib.stride_tricks.as_strided(self._held, shape, strides)


def _get(self, stream=None, order="C", out=None, blocking=True):
    if out is not None:
        out[...] = self._held
        return out
    if blocking:
        machine.waits.append("get")
    return np.array(self._held, order=order)


def _set(self, arr, stream=None):
    self._held[...] = arr


def _interface(self):
    held = self._held
    found = dict(held.__array_interface__)
    return {
        "shape": held.shape,
        "typestr": held.dtype.str,
        "descr": held.dtype.descr,
        "stream": 1,
        "version": 3,
        "strides": None if held.flags.c_contiguous else held.strides,
        "data": (found["data"][0], False),
    }


def _dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    if dl_device is not None and dl_device[0] == 1:
        return self._held.__dlpack__()
    return Capsule(self)


class Capsule:
    """What stands for a capsule with memory of a device."""

    def __init__(self, array):
        self.array = array


for _name, _value in {
    "data": property(lambda self: Pointer(self._held)),
    "_c_contiguous": property(lambda self: self._held.flags.c_contiguous),
    "device": property(lambda self: Device(machine.device_of(self._held))),
    "_set_shape_and_strides": _restrided,
    "get": _get,
    "set": _set,
    "__cuda_array_interface__": property(_interface),
    "__dlpack__": _dlpack,
    "__dlpack_device__": lambda self: (2, machine.device_of(self._held)),
}.items():
    if not hasattr(StrictArray, _name):
        setattr(StrictArray, _name, _value)

__all__ = ["Capsule", "Device", "Pointer", "bare", "dressed", "made"]
