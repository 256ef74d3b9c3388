"""A device whose arrays NumPy cannot read: proof that kernels are written for any array library.

The elements lie in an array of NumPy, but nothing outside this file can get at them: no buffer, no
`__array__` (one that raises, so that NumPy does not try the sequence protocol), no ufunc or
function protocol. The namespace has the functions that array libraries for GPUs have, takes these
arrays and Python numbers, and refuses arrays of NumPy, as those libraries do. What comes out is
always such an array, never a number. Names and keywords that CuPy lacks are missing here too.
"""

from __future__ import annotations

import types

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from retrograd.backend import Backend

# CuPy has no such functions, or not these keywords of them
MISSING = {"vecdot", "matvec", "vecmat", "nditer", "ndindex", "fromiter", "frombuffer", "errstate"}
REFUSED = {"initial", "where", "subok", "sparse"}


class StrictArray:
    """An array on the stand-in device."""

    __slots__ = ("__weakref__", "_base", "_held")  # a base only where a device keeps it
    __array_ufunc__ = None  # operators of NumPy's arrays leave the other operand's to us
    __array_priority__ = 2000

    def __init__(self, *_args, **_options):
        raise TypeError("arrays of this device are made by its functions")

    def __array__(self, *_args, **_options):
        raise TypeError("NumPy cannot read the arrays of this device")

    # ------------------------------------------------------------------ facts

    shape = property(lambda self: self._held.shape)
    dtype = property(lambda self: self._held.dtype)
    strides = property(lambda self: self._held.strides)
    ndim = property(lambda self: self._held.ndim)
    size = property(lambda self: self._held.size)
    itemsize = property(lambda self: self._held.itemsize)
    nbytes = property(lambda self: self._held.nbytes)
    flags = property(lambda self: Flags(self._held.flags))
    T = property(lambda self: dressed(self._held.T))
    real = property(lambda self: dressed(self._held.real))
    imag = property(lambda self: dressed(self._held.imag))

    @real.setter
    def real(self, value):
        self._held.real = bare(value)

    @imag.setter
    def imag(self, value):
        self._held.imag = bare(value)

    @property
    def base(self):
        kept = getattr(self, "_base", None)
        if kept is not None:
            return kept
        owner = self._held.base
        if owner is not None and not isinstance(owner, np.ndarray):
            owner = getattr(owner, "base", None)  # `as_strided` puts an object in between
        return dressed(owner) if isinstance(owner, np.ndarray) else None

    # ------------------------------------------------------------------ elements

    def __getitem__(self, index):
        return told("__getitem__", (self,), {}, dressed(self._held[bare(index)]))

    def __setitem__(self, index, value):
        self._held[bare(index)] = bare(value)
        told("__setitem__", (self,), {}, None)

    def __len__(self):
        return len(self._held)

    def __iter__(self):
        return (dressed(item) for item in self._held)

    def __bool__(self):
        return bool(self._held)

    def __float__(self):
        return float(self._held)

    def __int__(self):
        return int(self._held)

    def __complex__(self):
        return complex(self._held)

    def __index__(self):
        return self._held.__index__()

    def item(self, *place):
        return self._held.item(*place)

    def tolist(self):
        return self._held.tolist()

    def __repr__(self):
        return f"strict({self._held!r})"

    __hash__ = None


class Flags:
    """The flags that arrays on devices have."""

    def __init__(self, flags):
        self.c_contiguous = flags.c_contiguous
        self.f_contiguous = flags.f_contiguous
        self.forc = flags.forc
        self.fnc = flags.fnc
        self.owndata = flags.owndata


def _method(name):
    def method(self, *args, **options):
        _check(options)
        found = getattr(self._held, name)(*bare(args), **bare(options))
        if name == "diagonal":
            found.flags.writeable = True  # a view that only NumPy's users may not write
        return told(name, (self, *args), options, dressed(found))

    method.__name__ = name
    return method


_METHODS = """
    all any argmax argmin argpartition argsort astype clip conj conjugate copy cumprod cumsum
    diagonal dot fill flatten max mean min nonzero partition prod put ravel repeat reshape round
    sort squeeze std sum swapaxes take trace transpose var view
""".split()
for _name in _METHODS:
    setattr(StrictArray, _name, _method(_name))


def _operator(name):
    def operator(self, *others):
        if any(isinstance(other, (np.ndarray, np.generic)) for other in others):
            raise TypeError("an operation with an array of NumPy")
        if any(not isinstance(other, (StrictArray, int, float, complex)) for other in others):
            return NotImplemented
        found = getattr(self._held, name)(*bare(others))
        in_place = name.startswith("__i") and name not in _NOT_IN_PLACE
        return told(name, (self, *others), {}, self if in_place else dressed(found))

    operator.__name__ = name
    return operator


_NOT_IN_PLACE = {"__invert__"}
_OPERATORS = {name for name in vars(NDArrayOperatorsMixin) if name.startswith("__")}
for _name in sorted(_OPERATORS - {"__slots__", "__doc__", "__module__", "__dict__", "__weakref__",
                                  "__array_ufunc__", "__hash__"}):  # fmt: skip
    if callable(getattr(np.ndarray, _name, None)):
        setattr(StrictArray, _name, _operator(_name))


heard = None  # who listens is called with a function's name, arguments, options and result


def told(name, given, options, result):
    """The result, after who listens has heard of it."""
    if heard is not None:
        heard(name, given, options, result)
    return result


def made(held):
    """An array of the device around one of NumPy."""
    array = StrictArray.__new__(StrictArray)
    array._held = held
    return array


def dressed(value):
    """What NumPy gave, as the device gives it."""
    if isinstance(value, (np.ndarray, np.generic)):
        return made(np.asarray(value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(dressed, value)) if type(value) in (tuple, list) else tuple(
            map(dressed, value)
        )  # fmt: skip
    return value


def bare(value):
    """What NumPy takes, of what the device is given: no array of NumPy's."""
    if type(value) is StrictArray:
        return value._held
    if isinstance(value, np.ndarray) or (isinstance(value, np.generic) and value.ndim == 0):
        raise TypeError(f"the device was given {type(value).__name__} of NumPy")
    if type(value) in (tuple, list):
        return type(value)(map(bare, value))
    if isinstance(value, dict):
        return {name: bare(item) for name, item in value.items()}
    return value


def _check(options):
    refused = REFUSED & set(options)
    if refused:
        raise TypeError(f"unexpected keyword arguments {sorted(refused)}")


class Library(types.ModuleType):
    """The namespace of the device, or one of its parts such as `linalg`."""

    def __init__(self, name, target):
        super().__init__(name)
        self.__dict__["_target"] = target

    def __getattr__(self, name):
        if name in MISSING:
            raise AttributeError(f"the device has no {name}")
        found = getattr(self._target, name)
        if isinstance(found, types.ModuleType):
            return Library(f"{self.__name__}.{name}", found)
        if isinstance(found, type) or not callable(found):
            return found
        return _function(name, found)


def _function(name, found):
    def function(*args, **options):
        _check(options)
        return told(name, args, options, dressed(found(*bare(args), **bare(options))))

    function.__name__ = name
    if isinstance(found, np.ufunc) and name in ("add", "multiply"):

        def at(target, *rest):
            found.at(bare(target), *bare(rest))
            told("at", (target, *rest), {}, None)

        function.at = at
    return function


class StrictBackend(Backend):
    """The stand-in's arrays; its name is PyTorch's for a device of a third party."""

    def from_numpy(self, array, *, non_blocking=False):
        return made(array.copy(order="K"))

    def to_numpy(self, array, *, non_blocking=False):
        return array._held.copy(order="K")

    def address(self, array):
        return array._held.ctypes.data


STRICT = StrictBackend("privateuseone", StrictArray, Library("strict", np))
