"""A table of objects that checkpoints hold, made with either library, and how to compare them."""

from __future__ import annotations

import enum
import io
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

DTYPES = (
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("int8", "int16", "int32", "int64", "uint8", "bool"),
)
NEWER_DTYPES = ("uint16", "uint32", "uint64")


class Colour(enum.Enum):
    """An enumeration, which a file may hold if it is allowed."""

    RED = 1


def saved(library: Any, value: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    library.save(value, file, **options)
    return file.getvalue()


def loaded(library: Any, content: bytes, **options: Any) -> Any:
    return library.load(io.BytesIO(content), **options)


def _shared(torch: Any) -> Any:
    base = torch.arange(6.0)
    return [base, base[2:], base.view(2, 3).t(), base[::2]]


def _with_attributes(torch: Any) -> Any:
    tensor = torch.ones(2)
    tensor.note = "kept"
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.group = [1, 2]
    return [tensor, parameter]


def _model(torch: Any) -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 2)
    )


def _trained(torch: Any, name: str, **options: Any) -> Any:
    model = _model(torch)
    optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.1, **options)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 3])
    model(torch.arange(6.0).view(2, 3)).sum().backward()
    optimizer.step()
    scheduler.step()
    state = scheduler.state_dict()
    state.pop("_get_lr_called_within_step", None)
    return {"optimizer": optimizer.state_dict(), "scheduler": state}


TABLE: dict[str, Callable[[Any], Any]] = {
    "dtypes of tensors": lambda torch: {
        name: torch.tensor([0, 1, 1]).to(getattr(torch, name)) for name in DTYPES
    },
    "newer dtypes of tensors": lambda torch: {
        name: torch.tensor([0, 1, 1]).to(getattr(torch, name)) for name in NEWER_DTYPES
    },
    "dtypes": lambda torch: [getattr(torch, name) for name in (*DTYPES, *NEWER_DTYPES)],
    "dtypes without tensors": lambda torch: [torch.float8_e4m3fn, torch.complex32],
    "shared storages": _shared,
    "the same tensor twice": lambda torch: [torch.ones(2)] * 2,
    "transposed": lambda torch: torch.arange(24).view(2, 3, 4).permute(2, 0, 1),
    "with gaps": lambda torch: torch.arange(20.0).view(4, 5)[::2, 1::2],
    "expanded": lambda torch: torch.arange(3.0).expand(4, 3),
    "a number": lambda torch: torch.tensor(5.5),
    "empty": lambda torch: [torch.zeros(0), torch.zeros(0, 3), torch.zeros(2, 0, 3)],
    "channels last": lambda torch: (
        torch.arange(24.0).view(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
    ),
    "special numbers": lambda torch: torch.tensor([float("inf"), float("-inf"), -0.0]),
    "complex": lambda torch: torch.tensor([1 + 2j, -3j]),
    "conjugated": lambda torch: torch.tensor([1 + 2j, -3j]).conj(),
    "negated": lambda torch: torch.tensor([1 + 2j, -3j]).conj().imag,
    "requires grad": lambda torch: torch.ones(2, requires_grad=True),
    "computed": lambda torch: torch.ones(2, requires_grad=True) * 2,
    "parameters": lambda torch: [
        torch.nn.Parameter(torch.ones(2)),
        torch.nn.Parameter(torch.ones(2), requires_grad=False),
    ],
    "a parameter of a newer dtype": lambda torch: torch.nn.Parameter(
        torch.ones(2, dtype=torch.uint16), requires_grad=False
    ),
    "attributes": _with_attributes,
    "buffers": lambda torch: torch.nn.Buffer(torch.ones(2), persistent=False),
    "state dict": lambda torch: _model(torch).state_dict(),
    "sgd": lambda torch: _trained(torch, "SGD", momentum=0.9),
    "adam": lambda torch: _trained(torch, "Adam"),
    "adamw": lambda torch: _trained(torch, "AdamW", amsgrad=True),
    "sparse coo": lambda torch: torch.sparse_coo_tensor(
        [[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)
    ),
    "sparse coalesced": lambda torch: torch.sparse_coo_tensor(
        [[0, 1, 1], [2, 0, 0]], [3.0, 4.0, 5.0], (2, 3)
    ).coalesce(),
    "sizes": lambda torch: [torch.Size([2, 3]), torch.Size([]), torch.ones(2, 3).shape],
    "devices": lambda torch: [torch.device("cpu"), torch.device("cuda:1"), torch.device("cuda")],
    "layouts": lambda torch: [torch.strided, torch.sparse_coo],
    "random state": lambda torch: torch.Generator().manual_seed(3).get_state(),
    "plain": lambda torch: [
        *(None, True, False, 0, -1, 255, 256, 65536, 2**31, -(2**31), 2**63, -(2**70), 1.5, 2j),
        *("text", "täxt \N{SNOWMAN}", "", b"bytes\xff", bytearray(b"ab"), float("inf")),
    ],
    "containers": lambda torch: [
        *([], {}, (), set(), {1, 2}, (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [[[]]]),
        {"a": {"b": [torch.ones(1), {"c": (torch.zeros(1),)}]}, 3: 4, (1, 2): 5, None: 6},
        OrderedDict(b=1, a=2),
        Counter("abca"),
    ],
    "a long list": lambda torch: list(range(3000)),
    "a large dict": lambda torch: {f"key{i}": torch.tensor(i) for i in range(300)},
}


def described(value: Any) -> Any:
    """A value in terms that do not depend on the library; equal values are described equally."""
    kind = type(value)
    if hasattr(value, "is_floating_point") and not hasattr(value, "layout"):
        return ["dtype", repr(value)]
    library = sys.modules[kind.__module__.partition(".")[0]] if hasattr(kind, "layout") else None
    if library is not None:
        facts: list[Any] = [kind.__name__, str(value.dtype), tuple(value.shape)]
        facts.append([bool(value.requires_grad), dict(value.__dict__)])
        if str(value.layout) != "torch.strided":
            parts = value.coalesce()
            return [*facts, value.is_coalesced(), parts.indices().tolist(), parts.values().tolist()]
        if value.numel():
            facts.append(value.stride())
        plain = value.detach()
        numbers = plain.double() if str(value.dtype) == "torch.bfloat16" else plain
        return [*facts, repr(numbers.tolist())]
    if isinstance(value, dict):
        items = [(described(key), described(item)) for key, item in value.items()]
        attributes = dict(getattr(value, "__dict__", {}))
        return [kind.__name__, items, described(attributes) if attributes else None]
    if isinstance(value, (list, tuple)):
        return [kind.__name__, [described(item) for item in value]]
    return [kind.__name__, repr(value)]


def memory_of(values: list[Any]) -> list[int]:
    """Which of the tensors lie in the same storage: the number of the first that does."""
    places = [value.untyped_storage().data_ptr() for value in values]
    return [places.index(place) for place in places]
