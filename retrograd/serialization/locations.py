"""Where storages were when they were saved, and where they go: `map_location`."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

from retrograd.backend.cuda import cuda_backend
from retrograd.marks import unsupported
from retrograd.ops.making.memory import TypedStorage, UntypedStorage
from retrograd.tensor.size import device

Restore = Callable[[UntypedStorage, str], UntypedStorage]
STORAGE: TypeAlias = TypedStorage | UntypedStorage
MAP_LOCATION: TypeAlias = Callable[[STORAGE, str], STORAGE] | device | str | dict[str, str] | None
"""What `map_location` may be; programs write it into the signatures of their own `load`."""

_Tagger = Callable[[Any], str | None]
_Deserializer = Callable[[Any, str], Any]

_REGISTERED: list[tuple[int, _Tagger, _Deserializer]] = []
_ADVICE = (
    "If you are running on a CPU-only machine, please use torch.load with "
    "map_location=torch.device('cpu') to map your storages to the CPU."
)


def register_package(
    priority: int, tagger: Callable[[Any], str | None], deserializer: Callable[[Any, str], Any]
) -> None:
    """Let `save` and `load` know another place for storages; a lower number is asked first.

    tagger        gets a storage and says its place, or None
    deserializer  gets a storage and a place, and returns the storage there, or None
    """
    _REGISTERED.append((priority, tagger, deserializer))
    _REGISTERED.sort(key=lambda entry: entry[0])


def location_tag(storage: Any) -> str:
    """The name of the place where a storage is.

    >>> torch.serialization.location_tag(torch.ones(2).untyped_storage())
    'cpu'
    """
    for _, tagger, _ in _REGISTERED:
        found = tagger(storage)
        if found:
            return found
    raise RuntimeError(f"don't know how to determine data location of {_typename(storage)}")


def default_restore_location(storage: UntypedStorage, location: str) -> Any:
    """A storage brought to the place of a name."""
    for _, _, deserializer in _REGISTERED:
        found = deserializer(storage, location)
        if found is not None:
            return found
    raise RuntimeError(
        f"don't know how to restore data location of {_typename(storage)} (tagged with {location})"
    )


def restorer(map_location: Any) -> Restore:
    """What brings each storage of a file to its place, from the argument of `load`."""
    if map_location is None:
        choose: Callable[[Any, str], Any] = default_restore_location
    elif isinstance(map_location, dict):

        def choose(storage: UntypedStorage, location: str) -> Any:
            return default_restore_location(storage, map_location.get(location, location))

    elif isinstance(map_location, (str, bytes, device)):
        name = map_location.decode() if isinstance(map_location, bytes) else str(map_location)

        def choose(storage: UntypedStorage, location: str) -> Any:
            return default_restore_location(storage, name)

    else:

        def choose(storage: UntypedStorage, location: str) -> Any:
            found = map_location(storage, location)
            return default_restore_location(storage, location) if found is None else found

    def restore(storage: UntypedStorage, location: str) -> UntypedStorage:
        found = choose(storage, location)
        if isinstance(found, TypedStorage):
            found = found.untyped()
        if not isinstance(found, UntypedStorage):
            raise TypeError(
                f"map_location must give a storage or None for each storage, not {_typename(found)}"
            )
        return found

    return restore


def _typename(value: UntypedStorage | float) -> str:
    if isinstance(value, (TypedStorage, UntypedStorage)):
        return f"torch.storage.{type(value).__name__}"
    return type(value).__name__


def _cpu_tag(storage: TypedStorage | float) -> str | None:
    return _tag("cpu", storage)


def _cuda_tag(storage: TypedStorage | float) -> str | None:
    return _tag("cuda", storage)


def _tag(place: str, storage: TypedStorage | UntypedStorage | float) -> str | None:
    if not isinstance(storage, (TypedStorage, UntypedStorage)) or storage.device.type != place:
        return None
    return str(storage.device)


def _to_cuda(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    if not location.startswith("cuda"):
        return None
    return storage.cuda(validate_cuda_device(location))


def validate_cuda_device(location: str) -> device:
    """The CUDA device of a name in a file; raises if there is none."""
    backend = cuda_backend()
    if backend is None:
        validate("cuda")
    wanted = device(location)
    index = backend.current if wanted.index is None else wanted.index
    if index >= backend.count:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but "
            f"torch.cuda.device_count() is {backend.count}. Please use torch.load with "
            "map_location to map your storages to an existing device."
        )
    return device("cuda", index)


def _no_tag(storage: float) -> str | None:
    return None


def _stay(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    return storage if location == "cpu" else None


def _refuse(place: str, storage: UntypedStorage, location: str) -> Any:
    if location == place or re.match(f"{place}(:|[0-9]+)", location):
        validate(place)
    return None


def _meta_tag(storage: TypedStorage | float) -> str | None:
    return _tag("meta", storage)


def _to_meta(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    return storage.to(device="meta") if location == "meta" else None


def validate(place: str) -> NoReturn:
    """Raise: there is no device of this type."""
    name = place.upper()
    if place == "hpu":
        raise RuntimeError(f"The {name} device module is not registered. {_ADVICE}")
    raise RuntimeError(
        f"Attempting to deserialize object on a {name} device but torch.{place}.is_available() is "
        f"False. {_ADVICE}"
    )


register_package(10, _cpu_tag, _stay)
register_package(20, _cuda_tag, _to_cuda)
register_package(21, _no_tag, functools.partial(_refuse, "mps"))
register_package(22, _meta_tag, _to_meta)
for _priority, _place in enumerate(("hpu", "xpu", "mtia"), 24):
    register_package(_priority, _no_tag, functools.partial(_refuse, _place))

_NO_DEVICES = "tensors live on the CPU; pass map_location to load"
validate_hpu_device = unsupported("torch.serialization.validate_hpu_device", _NO_DEVICES)
