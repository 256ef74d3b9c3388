"""`torch.cuda.FloatTensor` and its relatives, and seeds."""

from __future__ import annotations

from typing import Any

from retrograd import dtypes
from retrograd.accelerators.devices import backend
from retrograd.lifecycle.site import user_level
from retrograd.notices import warn_once
from retrograd.ops.making.legacy import TYPED_TENSORS
from retrograd.random.state import generators_of
from retrograd.tensor import Tensor


class _CudaType(type):
    """The type of `torch.cuda.FloatTensor` and its relatives."""

    dtype: dtypes.dtype

    def __call__(cls, *args: Any, **options: Any) -> Tensor:
        backend()
        warn_once(
            "The torch.cuda.*DtypeTensor constructors are no longer recommended. It's best to use "
            "methods such as torch.tensor(data, dtype=*, device='cuda') to create tensors.",
            user_level(),
        )
        name = f"{cls.dtype.type_name}Tensor"
        if len(args) == 1 and isinstance(args[0], Tensor):
            if not isinstance(args[0], cls):
                raise TypeError(f"expected a torch.cuda.{name} (got {args[0].type()})")
            return args[0]
        made: Tensor = TYPED_TENSORS[name](*args, **options)
        return made.cuda()

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.is_cuda and instance.dtype is cls.dtype


def _typed(kind: dtypes.dtype) -> _CudaType:
    name = f"{kind.type_name}Tensor"
    facts = {"dtype": kind, "__module__": "torch.cuda", "name": f"torch.cuda.{name}"}
    return _CudaType(name, (), facts)


BFloat16Tensor = _typed(dtypes.bfloat16)
BoolTensor = _typed(dtypes.bool_)
ByteTensor = _typed(dtypes.uint8)
CharTensor = _typed(dtypes.int8)
DoubleTensor = _typed(dtypes.float64)
FloatTensor = _typed(dtypes.float32)
HalfTensor = _typed(dtypes.float16)
IntTensor = _typed(dtypes.int32)
LongTensor = _typed(dtypes.int64)
ShortTensor = _typed(dtypes.int16)


# ---------------------------------------------------------------------------------------- seeds


def _own() -> Any:
    return generators_of("cuda")


def _generators(devices: Any = None) -> Any:
    backend()
    return _own().defaults(devices)


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device."""
    _own().default().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices."""
    for generator in _generators():
        generator.manual_seed(int(seed))


def seed() -> None:
    """Seed the generator of the current device by chance."""
    _own().default().seed()


def seed_all() -> None:
    """Seed the generators of all devices by the same chance."""
    first, *others = _generators()
    number = first.seed()
    for generator in others:
        generator.manual_seed(number)


def initial_seed() -> int:
    """What the generator of the current device was seeded with."""
    found: int = _own().default().initial_seed()
    return found


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of a device's generator."""
    found: Tensor = _generators([device])[0].get_state()
    return found


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Give a device's generator a state."""
    _generators([device])[0].set_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """The states of the generators of all devices."""
    return [generator.get_state() for generator in _generators()]


def set_rng_state_all(new_states: Any) -> None:
    """Give the generators of all devices their states."""
    for generator, state in zip(_generators(), new_states, strict=False):
        generator.set_state(state)
