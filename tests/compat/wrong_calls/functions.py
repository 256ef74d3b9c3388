"""What is called wrongly: the public functions by family, and calls of them that are right.

A call is a text, such as ``torch.add(f(3, 4), 2)``; `evaluate` runs it on either library. Right
calls come from the samples that declarations have; for functions without any, the first of some
usual calls that PyTorch takes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import retrograd
from retrograd import nn, optim
from retrograd.ops.registry import COMPOSITES, OPS, PUBLIC
from retrograd.samples import Sample, T


class Call(NamedTuple):
    """One call: the text before the parenthesis, and the texts of its arguments."""

    function: str
    args: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        given = [*self.args, *(f"{name}={value}" for name, value in self.options)]
        return f"{self.function}({', '.join(given)})"


class Function(NamedTuple):
    """A public function: its family, how it is written, the names under which samples are found."""

    family: str
    name: str

    @property
    def is_method(self) -> bool:
        return self.family == "Tensor"

    def __str__(self) -> str:
        return f"{self.family}.{self.name}"


# Functions that change the state of the process, read files, start threads, or are no functions
# of arguments; and those that take all the memory there is when a size is wrong.
LEFT_OUT = frozenset(
    """
    autocast_decrement_nesting autocast_increment_nesting backward compile from_file fork load
    manual_seed save seed share_memory_ wait init_num_threads set_ resize_ resize_as_ resize
    import_ir_module vmap typename cond while_loop hook register_hook requires_grad_
    clear_autocast_cache get_default_device is_storage sym_fresh_size from_dlpack to_dlpack
    register_post_accumulate_grad_hook set_default_device numpy_ compiled_with_cxx11_abi
    unique_consecutive thread_safe_generator cuda xpu ipu hpu mtia storage data_ptr
    """.split()
)


def functions() -> list[Function]:
    """All functions that are called, in a fixed order."""
    found = []
    for space in ("torch", "nn.functional", "linalg", "fft", "special"):
        found += [Function(space, name) for name in sorted(PUBLIC[space])]
    members = vars(retrograd.Tensor)
    found += [Function("Tensor", n) for n in sorted(members) if callable(members[n])]
    found += [Function("nn", name) for name in MODULES]
    found += [Function("optim", name) for name in OPTIMIZERS]
    return [f for f in found if not _is_left_out(f.name)]


def _is_left_out(name: str) -> bool:
    return name.startswith(("_", "set_", "use_", "get_", "is_autocast")) or name in LEFT_OUT


def right_calls(function: Function, torch: Any, at_most: int = 4) -> list[Call]:
    """Calls that PyTorch takes, of different forms."""
    found: dict[object, Call] = {}
    for call in _candidates(function):
        form = (len(call.args), tuple(name for name, _ in call.options))
        if form in found or _takes(torch, call) is False:
            continue
        found[form] = call
        if len(found) == at_most:
            break
    return list(found.values())


def _takes(torch: Any, call: Call) -> bool:
    try:
        evaluate(str(call), torch)
    except Exception:
        return False
    return True


def _candidates(function: Function) -> Iterator[Call]:
    if function.family == "nn":
        for constructor, given in MODULES[function.name]:
            yield Call(f"torch.nn.{function.name}", _texts(constructor))
            yield Call(f"torch.nn.{function.name}({constructor})", _texts(given))
        return
    if function.family == "optim":
        yield Call(f"torch.optim.{function.name}", ("[leaf(2)]",), (("lr", "0.1"),))
        return
    for sample in _samples(function):
        args = [_text(value) for value in sample.args]
        options = tuple((name, _text(value)) for name, value in sample.kwargs.items())
        yield _call(function, args, options)
    for usual in USUAL:
        yield _call(function, list(_texts(usual)), ())


def _call(function: Function, args: list[str], options: tuple[tuple[str, str], ...]) -> Call:
    if not function.is_method:
        place = "torch" if function.family == "torch" else f"torch.{function.family}"
        return Call(f"{place}.{function.name}", tuple(args), options)
    receiver = args[0] if args and args[0].startswith(("f(", "i(", "b(", "c(")) else "f(2, 3)"
    return Call(f"{receiver}.{function.name}", tuple(args[1:]), options)


def _samples(function: Function) -> list[Sample]:
    """The samples of the op or composite of that name whose call is right."""
    space = "torch" if function.is_method else function.family
    stem = function.name.removesuffix("_") if function.name[-1:] == "_" else function.name
    for name in (function.name, stem):
        for place in (space, "None", "nn.functional", "linalg", "special"):
            declared: Any = COMPOSITES.get(f"{place}.{name}")
            if declared is not None and declared.samples is not None:
                return [sample for sample in declared.samples() if sample.error is None]
        op = OPS.get(name)
        if op is not None and op.samples is not None:
            return [sample for sample in op.samples() if sample.error is None]
    return []


def _text(value: object) -> str:
    """An argument of a sample as text."""
    if isinstance(value, T):
        if value.values is not None:
            kind = f", dtype=torch.{value.dtype}" if value.dtype else ""
            return f"torch.tensor({np.asarray(value.values).tolist()}{kind})"
        maker = {None: "f", "bool": "b"}.get(value.dtype, "i")
        if value.dtype is not None and value.dtype.startswith("complex"):
            maker = "c"
        if value.dtype in ("float16", "bfloat16", "float64", "float32"):
            maker = "f"
        return f"{maker}({', '.join(map(str, value.shape))})"
    if isinstance(value, (list, tuple)):
        inside = ", ".join(map(_text, value))
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside}{',' if len(value) == 1 else ''})"
    if isinstance(value, str) and value.startswith("dtype:"):
        return f"torch.{value[6:]}"
    return repr(value)


def _texts(arguments: str) -> tuple[str, ...]:
    """The arguments of a call that is written down, one by one."""
    import ast

    tree = ast.parse(f"call({arguments})", mode="eval").body
    assert isinstance(tree, ast.Call)
    return tuple(ast.unparse(part) for part in tree.args)


# ------------------------------------------------------------------------------- evaluating a call


def evaluate(text: str, library: Any) -> Any:
    """The result of a call on a library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(text, names_of(library))


def names_of(library: Any) -> dict[str, Any]:
    """The names that calls use: the library, and tensors of a shape with fixed values."""
    found = _names.get(library.__name__)
    if found is None:

        def f(*shape: int) -> Any:
            count = int(np.prod(shape))
            values = (np.arange(1, count + 1, dtype=np.float32) / (count + 1)).reshape(shape)
            return library.from_numpy(values)

        def i(*shape: int) -> Any:
            return library.from_numpy(np.arange(int(np.prod(shape))).reshape(shape) % 3)

        def b(*shape: int) -> Any:
            return i(*shape) > 0

        def c(*shape: int) -> Any:
            return f(*shape) + 1j

        def leaf(*shape: int) -> Any:
            return f(*shape).requires_grad_()

        found = _names[library.__name__] = {
            "torch": library, "np": np, "nan": float("nan"), "inf": float("inf"),
            "f": f, "i": i, "b": b, "c": c, "leaf": leaf, "array": np.array,
        }  # fmt: skip
    return found


_names: dict[str, dict[str, Any]] = {}

# tried for functions that have no samples
USUAL = """
f(2, 3)
f(2, 3), f(2, 3)
f(3)
f(3, 3)
f(3, 3), f(3, 3)
f(3), f(3)
f(2, 3), 1
f(2, 3), 0, 1
f(2, 3), (3, 2)
i(3)
i(3), i(3)
i(3), 1
b(3)
f(2, 3), 0, i(1)
f(2, 3), 0, i(1), f(1, 3)
f(2, 3), b(2, 3), 1.0
f(2, 3), f(2, 3), f(2, 3)
f(2, 3, 4), f(2, 4, 3)
f(2, 3, 4), f(2, 3, 4), f(2, 4, 4)
f(2, 3), i(2)
f(2, 3, 4, 4)
f(2, 3, 4, 4), 2
f(2, 3, 4)
f(2, 3, 4), 2
[f(2, 3), f(2, 3)]
[f(2, 3), f(2, 3)], 0
3
2, 3
(2, 3)
(2, 3), 1.0
0, (2, 3)
0, 1, 5
torch.float32
torch.float32, torch.int64
'sum', f(3)
f(2, 3), torch.float64
""".strip().splitlines()

# modules: the arguments of the constructor and of a call
MODULES: dict[str, list[tuple[str, str]]] = {
    "Linear": [("3, 4", "f(2, 3)")],
    "Bilinear": [("3, 3, 4", "f(2, 3), f(2, 3)")],
    "Conv1d": [("2, 3, 2", "f(1, 2, 5)")],
    "Conv2d": [("2, 3, 2", "f(1, 2, 5, 5)")],
    "Conv3d": [("2, 3, 2", "f(1, 2, 4, 4, 4)")],
    "ConvTranspose1d": [("2, 3, 2", "f(1, 2, 5)")],
    "ConvTranspose2d": [("2, 3, 2", "f(1, 2, 5, 5)")],
    "BatchNorm1d": [("3", "f(2, 3)")],
    "BatchNorm2d": [("3", "f(2, 3, 4, 4)")],
    "InstanceNorm1d": [("3", "f(2, 3, 4)")],
    "InstanceNorm2d": [("3", "f(2, 3, 4, 4)")],
    "LayerNorm": [("3", "f(2, 3)"), ("(2, 3)", "f(2, 3)")],
    "GroupNorm": [("1, 3", "f(2, 3, 4)")],
    "RMSNorm": [("3", "f(2, 3)")],
    "LocalResponseNorm": [("2", "f(2, 3, 4)")],
    "Embedding": [("5, 3", "i(2)")],
    "EmbeddingBag": [("5, 3", "i(2, 2)")],
    "Dropout": [("0.5", "f(2, 3)")],
    "Dropout2d": [("0.5", "f(2, 3, 4, 4)")],
    "AlphaDropout": [("0.5", "f(2, 3)")],
    "MaxPool1d": [("2", "f(1, 2, 4)")],
    "MaxPool2d": [("2", "f(1, 2, 4, 4)")],
    "AvgPool1d": [("2", "f(1, 2, 4)")],
    "AvgPool2d": [("2", "f(1, 2, 4, 4)")],
    "AdaptiveAvgPool2d": [("2", "f(1, 2, 4, 4)")],
    "AdaptiveMaxPool2d": [("2", "f(1, 2, 4, 4)")],
    "Flatten": [("", "f(2, 3)"), ("0, 1", "f(2, 3)")],
    "Unflatten": [("1, (1, 3)", "f(2, 3)")],
    "PixelShuffle": [("2", "f(1, 4, 2, 2)")],
    "Upsample": [("None, 2", "f(1, 2, 3, 3)")],
    "ZeroPad2d": [("1", "f(1, 2, 3, 3)")],
    "ReflectionPad1d": [("1", "f(1, 2, 3)")],
    "Unfold": [("2", "f(1, 2, 4, 4)")],
    "RNN": [("3, 4", "f(5, 2, 3)")],
    "LSTM": [("3, 4", "f(5, 2, 3)")],
    "GRU": [("3, 4", "f(5, 2, 3)")],
    "LSTMCell": [("3, 4", "f(2, 3)")],
    "GRUCell": [("3, 4", "f(2, 3)")],
    "MultiheadAttention": [("4, 2", "f(3, 2, 4), f(3, 2, 4), f(3, 2, 4)")],
    "TransformerEncoderLayer": [("4, 2", "f(3, 2, 4)")],
    "CosineSimilarity": [("1", "f(2, 3), f(2, 3)")],
    "PairwiseDistance": [("2.0", "f(2, 3), f(2, 3)")],
    **{
        name: [("", "f(2, 3)")]
        for name in """
        ReLU ReLU6 ELU SELU CELU GELU SiLU Mish Sigmoid Tanh Softplus Softsign Hardtanh Hardswish
        Hardsigmoid LeakyReLU PReLU LogSigmoid Tanhshrink Softshrink Hardshrink Identity
        """.split()
    },
    **{name: [("1", "f(2, 3)")] for name in ("Softmax", "LogSoftmax", "Softmin")},
    **{
        name: [("", "f(2, 3), f(2, 3)")]
        for name in """
        MSELoss L1Loss SmoothL1Loss HuberLoss BCELoss BCEWithLogitsLoss KLDivLoss SoftMarginLoss
        HingeEmbeddingLoss PoissonNLLLoss MultiLabelSoftMarginLoss
        """.split()
    },
    **{
        name: [("", "f(2, 3), i(2)")] for name in ("CrossEntropyLoss", "NLLLoss", "MultiMarginLoss")
    },
    "CosineEmbeddingLoss": [("", "f(2, 3), f(2, 3), f(2)")],
    "TripletMarginLoss": [("", "f(2, 3), f(2, 3), f(2, 3)")],
    "Sequential": [("torch.nn.Linear(3, 4), torch.nn.ReLU()", "f(2, 3)")],
    "ModuleList": [("[torch.nn.Linear(3, 4)]", "")],
}
MODULES = {name: rows for name, rows in MODULES.items() if hasattr(nn, name)}

OPTIMIZERS = [name for name in sorted(optim.__all__) if name not in ("Optimizer", "lr_scheduler")]
