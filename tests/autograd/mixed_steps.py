"""The kinds of steps of a random program: how each is drawn, and what it does in one library."""

from __future__ import annotations

import contextlib
import copy
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.autograd import mixed_functions
from tests.autograd.mixed_ops import (
    BINARY,
    FUNCTIONS_INSIDE,
    INSIDE_VIEWS,
    INSIDE_WRITES,
    INSIDE_WRITES_ALONE,
    LARGEST,
    SMOOTH,
    UNARY,
    VIEWS,
    WRITES,
    WRITES_ALONE,
    Line,
    evaluate,
    is_dense,
    is_expanded,
    overlaps,
)
from tests.autograd.mixed_sides import TOLERANCE, Side

DTYPES = ("float64", "float64", "float64", "float32", "float32", "complex64", "bfloat16")
SHAPES = ((2, 3), (2, 3), (2, 2), (3,), (2,), (), (1, 3), (2, 1), (0,), (1,), (2, 0))


class Draw:
    """Random choices, given the tensors that are there."""

    def __init__(self, source: random.Random, numbers: list[int], handles: list[int]) -> None:
        self.source = source
        self.numbers = numbers
        self.handles = handles

    def tensor(self) -> int:
        """The number of a tensor, more often a recent one."""
        if self.source.random() < 0.5:
            return self.source.choice(self.numbers[-4:])
        return self.source.choice(self.numbers)

    def tensors(self, most: int = 3) -> tuple[int, ...]:
        return tuple(self.tensor() for _ in range(self.source.randint(1, most)))

    def chance(self, one_in: int) -> bool:
        return self.source.randrange(one_in) == 0

    def of(self, names: Any) -> Any:
        return self.source.choice(tuple(names))

    def lines(self, most: int = 5) -> tuple[Line, ...]:
        """A small function."""
        return tuple(self.line() for _ in range(self.source.randint(1, most)))

    def line(self) -> Line:
        i, j = self.source.randrange(-3, 3), self.source.randrange(-3, 3)
        kind = self.source.choices(
            ("unary", "binary", "view", "write", "write alone", "write view", "no_grad",
             "function"),
            (6, 6, 3, 1, 1, 1, 1, 2),
        )[0]  # fmt: skip
        if kind == "unary":
            return kind, self.of(SMOOTH), i
        if kind == "binary":
            return kind, self.of(BINARY), i, j
        if kind == "view":
            return kind, self.of(INSIDE_VIEWS), i
        if kind == "write":
            return kind, self.of(INSIDE_WRITES), i, j
        if kind == "write alone":
            return kind, self.of(INSIDE_WRITES_ALONE), i
        if kind == "function":
            return kind, self.of(FUNCTIONS_INSIDE), i, j
        return kind, "", i, j


KINDS: dict[str, tuple[int, Callable[[Draw], tuple[Any, ...]]]] = {}
ACTIONS: dict[str, Callable[..., Any]] = {}
BLOCKS: dict[str, Callable[..., Any]] = {}


def kind(weight: int, draw: Callable[[Draw], tuple[Any, ...]]) -> Any:
    """A kind of step: how often, how its arguments are drawn, and (decorated) what it does."""

    def decorate(action: Callable[..., Any]) -> Callable[..., Any]:
        KINDS[action.__name__] = weight, draw
        ACTIONS[action.__name__] = action
        return action

    return decorate


def block(weight: int, draw: Callable[[Draw], tuple[Any, ...]]) -> Any:
    """A kind of block: decorated is a context manager around its steps."""

    def decorate(action: Callable[..., Any]) -> Callable[..., Any]:
        KINDS[action.__name__] = weight, draw
        BLOCKS[action.__name__] = contextlib.contextmanager(action)
        return action

    return decorate


def small(*tensors: Any) -> bool:
    """Whether an operation on these gives few elements."""
    size = 1
    for tensor in tensors:
        size *= max(tensor.numel(), 1)
    return size <= LARGEST * LARGEST and all(t.numel() <= LARGEST for t in tensors)


# ------------------------------------------------------------------------------------- tensors


@kind(3, lambda d: (d.of(DTYPES), d.of(SHAPES), not d.chance(3), d.source.randrange(1000)))
def leaf(side: Side, number: int, dtype: str, shape: Any, requires_grad: bool, seed: int) -> Any:
    t = side.library
    values = np.random.default_rng(seed).integers(-12, 13, shape) / 8.0
    if dtype not in TOLERANCE:
        values = np.abs(values * 8).astype(int)
    if dtype.startswith("complex"):
        values = values + 1j * np.random.default_rng(seed + 1).integers(-8, 9, shape) / 8.0
    made = t.tensor(values.tolist(), dtype=getattr(t, dtype)).reshape(shape)
    return made.requires_grad_(requires_grad and dtype in TOLERANCE)


@kind(10, lambda d: (d.tensor(), d.of(UNARY)))
def unary(side: Side, number: int, i: int, name: str) -> Any:
    x = side[i]
    if not small(x) or (name == "from" and x.is_inference()):
        return None  # a number minus a tensor is another node there in PyTorch
    return UNARY[name](side.library, x)


@kind(12, lambda d: (d.tensor(), d.tensor(), d.of(BINARY)))
def binary(side: Side, number: int, i: int, j: int, name: str) -> Any:
    x, y = side[i], side[j]
    if crashes(side, name):
        return None
    return BINARY[name](side.library, x, y) if small(x, y) and x.numel() * y.numel() <= 64 else None


@kind(9, lambda d: (d.tensor(), d.of(VIEWS)))
def view(side: Side, number: int, i: int, name: str) -> Any:
    return VIEWS[name](side[i]) if small(side[i]) else None


@kind(6, lambda d: (d.tensor(), d.tensor(), d.of(WRITES)))
def write(side: Side, number: int, i: int, j: int, name: str) -> None:
    x, y = side[i], side[j]
    shared = x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    if shared and (i != j or side.duals or is_expanded(x)):
        return  # PyTorch refuses some of these; the rest depends on the order of its loops
    if x.dtype not in _differentiable(side.library) and y.requires_grad:
        return  # PyTorch gives integers a history where one number fills them
    if crashes(side, name) or overlaps(x):
        return
    if not _late(side, x):
        WRITES[name](x, y)


@kind(5, lambda d: (d.tensor(), d.of(WRITES_ALONE)))
def write_alone(side: Side, number: int, i: int, name: str) -> None:
    if not _late(side, side[i]) and not overlaps(side[i]):
        WRITES_ALONE[name](side[i])


def crashes(side: Side, name: str) -> bool:
    """Whether PyTorch's process ends: formulas of tangents with a factor, in a dispatch mode."""
    return side.mutating and side.duals > 0 and name.rstrip("_") in ("sub", "addcmul")


def _differentiable(library: Any) -> tuple[Any, ...]:
    return tuple(getattr(library, name) for name in TOLERANCE)


def _late(side: Side, target: Any) -> bool:
    """Whether PyTorch refuses a write only after it has written."""
    return bool(target.is_inference()) and not side.library.is_inference_mode_enabled()


@kind(2, lambda d: (d.tensor(), not d.chance(2)))
def require(side: Side, number: int, i: int, on: bool) -> None:
    side[i].requires_grad_(on)


@kind(1, lambda d: (d.tensor(), d.tensor()))
def replace_data(side: Side, number: int, i: int, j: int) -> None:
    if side[i].is_inference() or side.library.is_inference_mode_enabled():
        return  # PyTorch makes it an inference tensor, or a normal one
    if side[i].shape != side[j].shape or side[i].dtype != side[j].dtype:
        return  # an accumulator that lives on expects the old shape in PyTorch
    side[i].data = side[j].detach().clone()


@kind(1, lambda d: (d.tensor(), d.of(("none", "mul_", "zero_", "set", "detach_"))))
def gradient_of(side: Side, number: int, i: int, what: str) -> Any:
    """Something done to a tensor's `.grad`."""
    x = side[i]
    if what == "none":
        x.grad = None
    elif what == "set":
        x.grad = side.library.ones_like(x.detach())
    elif x.grad is not None:
        getattr(x.grad, what)(*([2] if what == "mul_" else []))
    return None


@kind(2, lambda d: (d.tensor(), d.of(("deepcopy", "pickle", "copy"))))
def duplicate(side: Side, number: int, i: int, how: str) -> Any:
    x = side[i]
    if how != "copy" and (x._is_view() or x.is_inference() or not is_dense(x)):
        return None  # PyTorch takes the gaps along, and the rest of the storage
    if how == "deepcopy":
        return copy.deepcopy(x)
    if how == "copy":
        return copy.copy(x)
    return pickle.loads(pickle.dumps(x))


@kind(5, lambda d: (d.of(mixed_functions.NAMES), d.tensor(), d.tensor(), d.chance(2)))
def function(side: Side, number: int, name: str, i: int, j: int, second: bool) -> Any:
    x, y = side[i], side[j]
    if (
        not small(x, y)
        or x.numel() * y.numel() > 64
        or (name == "Written" and (_late(side, x) or overlaps(x)))
    ):
        return None
    if side.library.is_inference_mode_enabled() and side.library.is_grad_enabled():
        return None  # PyTorch records Functions then, but no operations
    out = mixed_functions.functions(side.library)[name].apply(x, y)
    return out[second] if isinstance(out, tuple) else out


# --------------------------------------------------------------------------------------- hooks


def _hook(side: Side, number: int, how: str) -> Callable[..., Any]:
    def seen(*gradients: Any) -> Any:
        side.note("hook", number, side.library.is_grad_enabled(), *gradients)
        if how == "raises":
            raise ValueError(f"hook {number}")
        if how == "once":
            side.handles[number].remove()
        first = gradients[0]
        if how == "scales" and isinstance(first, side.library.Tensor):
            return first * 2
        return None

    return seen


HOOKS = ("sees", "sees", "sees", "scales", "scales", "once", "raises")


@kind(4, lambda d: (d.tensor(), d.of(HOOKS)))
def hook(side: Side, number: int, i: int, how: str) -> None:
    side.handles[number] = side[i].register_hook(_hook(side, number, how))


@kind(2, lambda d: (d.tensor(), d.of(("sees", "sees", "once"))))
def post_accumulate(side: Side, number: int, i: int, how: str) -> None:
    def seen(tensor: Any) -> None:
        side.note("post accumulate", number, tensor is side.tensors.get(i), tensor.grad)
        if how == "once":
            side.handles[number].remove()

    side.handles[number] = side[i].register_post_accumulate_grad_hook(seen)


@kind(3, lambda d: (d.tensor(), d.of(("pre", "post", "pre scales", "post scales")), d.chance(3)))
def node_hook(side: Side, number: int, i: int, how: str, following: bool) -> None:
    node = side[i].grad_fn
    if node is not None and following and node.next_functions:
        node = node.next_functions[0][0]
    if node is None:
        return

    def seen(*gradients: Any) -> Any:
        side.note("node", number, *gradients)
        if "scales" in how:
            return tuple(None if g is None else g * 2 for g in gradients[0])
        return None

    register = node.register_prehook if how.startswith("pre") else node.register_hook
    side.handles[number] = register(seen)


@kind(2, lambda d: (d.tensors(), d.of(("all", "any"))))
def multi_grad_hook(side: Side, number: int, which: tuple[int, ...], mode: str) -> None:
    def seen(gradients: Any) -> None:
        side.note("multi", number, gradients)

    tensors = [side[i] for i in which]
    if side.library.is_inference_mode_enabled() or any(x.is_inference() for x in tensors):
        return  # PyTorch fails to find the edges of leaves there
    register = side.library.autograd.graph.register_multi_grad_hook
    side.handles[number] = register(tensors, seen, mode=mode)
    side.watched = True


@kind(1, lambda d: (d.of(d.handles or [0]),))
def remove_hook(side: Side, number: int, which: int) -> None:
    if which in side.handles:
        side.handles[which].remove()


@kind(2, lambda d: (d.tensor(),))
def retain(side: Side, number: int, i: int) -> None:
    side[i].retain_grad()


# ------------------------------------------------------------------------------------ gradients


def _root(side: Side, number: int, how: str) -> Any:
    x = side[number]
    if how == "sum" or (how == "plain" and side.watched):
        return x.sum()  # PyTorch does not count a root among what multi-grad hooks wait for
    return (x * x).sum() if how == "squares" else x


ROOTS = ("sum", "squares", "squares", "plain")


@kind(7, lambda d: (
    d.tensors(2), d.of(ROOTS), d.of((None, False, True)), d.chance(6),
    d.tensors(2) if d.chance(4) else None, d.chance(4),
))  # fmt: skip
def backward(
    side: Side,
    number: int,
    roots: tuple[int, ...],
    how: str,
    keep: bool | None,
    create: bool,
    inputs: tuple[int, ...] | None,
    weighted: bool,
) -> None:
    t = side.library
    outputs = [_root(side, i, how) for i in roots]
    weights = [t.ones_like(o.detach()) * 0.5 for o in outputs] if weighted else None
    chosen = None if inputs is None else [side[i] for i in inputs]
    t.autograd.backward(outputs, weights, keep, create, inputs=chosen)


@kind(7, lambda d: (
    d.tensors(2), d.of(ROOTS), d.tensors(3), d.of((None, False, True)), d.chance(3), d.chance(2),
    d.chance(4), d.chance(4), d.chance(5),
))  # fmt: skip
def gradient(
    side: Side,
    number: int,
    roots: tuple[int, ...],
    how: str,
    inputs: tuple[int, ...],
    keep: bool | None,
    create: bool,
    unused: bool,
    zeros: bool,
    weighted: bool,
    edges: bool,
) -> Any:
    t = side.library
    outputs = [_root(side, i, how) for i in roots]
    weights = [t.ones_like(o.detach()) * 0.5 for o in outputs] if weighted else None
    chosen = [side[i] for i in inputs]
    inference = any(x.is_inference() for x in chosen)  # PyTorch finds no edges of these
    if edges and not inference and not t.is_inference_mode_enabled():
        chosen = [t.autograd.graph.get_gradient_edge(x) for x in chosen]
    found = t.autograd.grad(
        outputs, chosen, weights, retain_graph=keep, create_graph=create,
        allow_unused=unused, materialize_grads=zeros,
    )  # fmt: skip
    side.note("grad", found)
    return side.inner(next((g for g in found if g is not None), None))


@kind(3, lambda d: (d.tensor(), d.tensor(), d.tensor()))
def second_order(side: Side, number: int, i: int, j: int, k: int) -> None:
    t = side.library
    (first,) = t.autograd.grad(
        (side[i] * side[i]).sum(), [side[j]], create_graph=True, allow_unused=True
    )
    side.note("first", first)
    if first is not None and first.requires_grad:
        (second,) = t.autograd.grad((first * first).sum(), [side[k]], allow_unused=True)
        side.note("second", second)


@kind(1, lambda d: (d.tensor(),))
def saved_values(side: Side, number: int, i: int) -> None:
    """What a node shows of what it saved."""
    node = side[i].grad_fn
    if node is None or side.library.is_inference_mode_enabled():
        return  # PyTorch finds nothing where a checkpoint runs again in inference mode
    for name in ("_saved_self", "_saved_other", "_saved_result"):
        if hasattr(node, name):
            side.note(name, getattr(node, name))


# ---------------------------------------------------------------------------------- checkpoint


@kind(4, lambda d: (d.lines(4), d.tensors(2), d.chance(3), not d.chance(4), d.chance(2)))
def checkpoint(
    side: Side, number: int, lines: Any, inputs: tuple[int, ...], reentrant: bool,
    deterministic: bool, early: bool,
) -> Any:  # fmt: skip
    t = side.library
    values = [side[i] for i in inputs]
    if not small(*values) or (t.is_inference_mode_enabled() and t.is_grad_enabled()):
        return None  # PyTorch records checkpoints then, but no operations

    def run(*given: Any) -> Any:
        side.note("runs", number, t.is_grad_enabled())
        return evaluate(t, lines, list(given))

    options: dict[str, Any] = {"use_reentrant": reentrant}
    if not reentrant:
        options["determinism_check"] = "default" if deterministic else "none"
        with t.utils.checkpoint.set_checkpoint_early_stop(early):
            return t.utils.checkpoint.checkpoint(run, *values, **options)
    return t.utils.checkpoint.checkpoint(run, *values, **options)


# ---------------------------------------------------------------------------------- transforms


TRANSFORMS = (
    "grad", "grad_and_value", "vjp", "jvp", "vmap", "vmap grad", "grad grad", "jvp grad",
    "jacrev", "jacfwd", "hessian", "vmap vmap", "grad vmap", "vmap jvp", "jvp vmap",
    "jvp jvp",
)  # fmt: skip


SECOND = ("hessian", "grad grad", "jvp grad", "jvp jvp")
REVERSE = ("grad", "grad_and_value", "vjp", "vmap", "vmap grad", "grad grad", "jacrev", "vmap vmap",
           "grad vmap")  # fmt: skip


@kind(
    6,
    lambda d: (
        d.of(TRANSFORMS) if not d.chance(60) else "linearize",
        d.lines(4),
        d.tensor(),
        d.tensor(),
        d.chance(2),
    ),
)
def transform(side: Side, number: int, name: str, lines: Any, i: int, j: int, capture: bool) -> Any:
    t = side.library
    x, y = side[i], side[j]
    if not small(x, y) or x.numel() * y.numel() > 64:
        return None

    def plain(*given: Any) -> Any:
        return evaluate(t, lines, [*given, y] if capture else list(given))

    def scalar(*given: Any) -> Any:
        return real(plain(*given).sum())

    if x.is_inference() or y.is_inference():
        return None  # PyTorch saves them inside of transforms, and nowhere else
    forward = name not in REVERSE
    if forward and (is_expanded(x) or is_expanded(y) or t.is_inference_mode_enabled()):
        return None  # PyTorch: see `make_dual`; ours does not save the tangents made here
    if forward and side.hooked:
        return None  # formulas of tangents save other things
    if name in ("jacfwd", "hessian") and any(line[0].startswith("write") for line in lines):
        return None  # only tangents are batched there: PyTorch can write them, ours refuses
    if name in SECOND and t.bfloat16 in (x.dtype, y.dtype):
        return None  # too coarse to compare
    if name == "linearize" and any(line[1] in ("sub", "addcmul") for line in lines):
        return None  # PyTorch's process ends: see `crashes`
    if name == "linearize" and not {line[0] for line in lines} <= {"unary", "binary", "view"}:
        # PyTorch traces forward mode: it needs a jvp, ignores no_grad, and takes constants for
        return None  # leaves that require grad. Ours turns the graph of backward round.
    if ("vmap" in name or name in ("jacfwd", "hessian")) and not x.numel() * y.numel():
        return None  # PyTorch cannot reshape(-1) an empty batch
    if name == "jvp jvp" and any(line[0] == "function" for line in lines):
        return None  # PyTorch gives zeros for the inner derivative of a Function's jvp
    operands = (x,) if capture else (x, y)
    side.quiet = True
    try:
        found = _transformed(t.func, name, plain, scalar, operands)
    finally:
        side.quiet = False
    if name in REVERSE:
        side.note(name, found)
        flat = found[0] if isinstance(found, tuple) else found
        return side.inner(flat[0] if isinstance(flat, tuple) else flat)
    pushed = found[-1] if isinstance(found, tuple) else found
    while isinstance(pushed, tuple):
        pushed = pushed[-1]
    side.note(name, side.tangent(pushed))
    if name != "linearize" and not side.handles:  # PyTorch's linearize gives constants
        side.note("gradient", _pulled(t, pushed, x))
    return pushed.detach().contiguous() * 1


def real(value: Any) -> Any:
    """What `grad` can differentiate, even where the input is not part of it."""
    return value.real if value.is_complex() else value


def _pulled(t: Any, tangent: Any, x: Any) -> Any:
    """The gradient of a tangent: zeros where it is constant, and where it only looks variable."""
    if not x.requires_grad or not tangent.requires_grad or tangent.is_complex():
        return t.zeros_like(x.detach())
    return t.autograd.grad(tangent.sum(), x, retain_graph=True, materialize_grads=True)[0].detach()


def _transformed(func: Any, name: str, plain: Any, scalar: Any, operands: Any) -> Any:
    tangents = tuple(operand.detach() * 0.5 + 1 for operand in operands)

    def pushed(f: Any) -> Any:
        return lambda *given: func.jvp(f, given, tuple(g.detach() * 0.5 + 1 for g in given))

    if name == "vjp":
        out, pull = func.vjp(plain, *operands)
        return out, pull(out.detach() * 2 + 1)
    if name == "linearize":
        out, push = func.linearize(plain, *operands)
        return out, push(*tangents)
    made = {
        "grad": lambda: func.grad(scalar),
        "grad_and_value": lambda: func.grad_and_value(scalar),
        "jvp": lambda: pushed(plain),
        "vmap": lambda: func.vmap(plain),
        "vmap grad": lambda: func.vmap(func.grad(scalar)),
        "grad grad": lambda: func.grad(lambda *g: real(func.grad(scalar)(*g).sum())),
        "jvp grad": lambda: pushed(func.grad(scalar)),
        "jacrev": lambda: func.jacrev(plain),
        "jacfwd": lambda: func.jacfwd(plain),
        "hessian": lambda: func.hessian(scalar),
        "vmap vmap": lambda: func.vmap(func.vmap(plain)),
        "grad vmap": lambda: func.grad(lambda *g: func.vmap(scalar)(*g).sum()),
        "vmap jvp": lambda: func.vmap(pushed(plain)),
        "jvp vmap": lambda: pushed(func.vmap(plain)),
        "jvp jvp": lambda: pushed(lambda *g: pushed(plain)(*g)[1]),
    }[name]()
    return made(*operands)


# -------------------------------------------------------------------------------- forward mode


@kind(2, lambda d: (d.tensor(), d.tensor(), d.chance(2)))
def make_dual(side: Side, number: int, i: int, j: int, own: bool) -> Any:
    if side.library.is_inference_mode_enabled() or side[i].is_inference():
        return None  # PyTorch checks nothing there, and drops the tangent of an inference tensor
    tangent = side[i].detach() * 0.5 + 1 if own else side[j] * 1
    if tangent.dtype != side[i].dtype or is_expanded(side[i]):
        # PyTorch lets dtypes differ, and each formula makes something else of it; it copies
        # tangents into memory that is laid out like an expanded primal.
        return None
    return side.library.autograd.forward_ad.make_dual(side[i], tangent)


@kind(2, lambda d: (d.tensor(), d.chance(2)))
def unpack_dual(side: Side, number: int, i: int, tangent: bool) -> Any:
    if side.library.is_inference_mode_enabled():
        return None  # PyTorch fails an assertion of its own
    found = side.library.autograd.forward_ad.unpack_dual(side[i])
    side.note("dual", found.primal, side.tangent(found.tangent))
    if not tangent:
        return found.primal
    if found.tangent is None:
        return None
    if not side.handles:
        side.note("gradient", _pulled(side.library, found.tangent, side[i]))
    return found.tangent.detach() * 1


# -------------------------------------------------------------------------------------- blocks


@block(3, lambda d: ())
def dual_level(side: Side, number: int) -> Iterator[None]:
    with side.library.autograd.forward_ad.dual_level():
        side.duals += 1
        try:
            yield
        finally:
            side.duals -= 1


@block(3, lambda d: (d.of(("no_grad", "enable_grad", "inference_mode", "off", "on")),))
def grad_mode(side: Side, number: int, name: str) -> Iterator[None]:
    t = side.library
    if name in ("off", "on"):
        mode = t.set_grad_enabled(name == "on")
    else:
        mode = getattr(t, name)()
    with mode:
        yield


@block(3, lambda d: (d.of(("same", "copies", "scales", "logs", "detaches", "cpu", "refused")),))
def saved_hooks(side: Side, number: int, name: str) -> Iterator[None]:
    t = side.library

    def pack(x: Any) -> Any:
        if name == "copies":
            return x.detach().clone()
        if name == "scales" and x.dtype in _differentiable(t):  # a mask or an index stays one
            return x * 2
        if name == "detaches":
            return x.detach()
        if name == "logs" and not side.quiet and not side.duals:
            side.note("pack", number, x, t.is_grad_enabled())
        return x

    def unpack(x: Any) -> Any:
        if name == "logs" and not side.quiet and not side.duals:
            side.note("unpack", number, x, t.is_grad_enabled())
        return x

    graph = t.autograd.graph
    if name == "cpu":
        context = graph.save_on_cpu()
    elif name == "refused":
        context = graph.disable_saved_tensors_hooks("no hooks here")
    else:
        context = graph.saved_tensors_hooks(pack, unpack)
    with context:
        side.hooked += 1
        try:
            yield
        finally:
            side.hooked -= 1


@block(1, lambda d: (not d.chance(3),))
def anomaly(side: Side, number: int, nan: bool) -> Iterator[None]:
    with side.library.autograd.set_detect_anomaly(True, check_nan=nan):
        yield


@block(1, lambda d: ())
def mutation(side: Side, number: int) -> Iterator[None]:
    with side.library.autograd.graph.allow_mutation_on_saved_tensors():
        side.mutating = True
        try:
            yield
        finally:
            side.mutating = False


@block(1, lambda d: ())
def single_thread(side: Side, number: int) -> Iterator[None]:
    with side.library.autograd.set_multithreading_enabled(False):
        yield
