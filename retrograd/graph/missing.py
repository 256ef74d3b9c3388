"""`graph.why_no_grad`: the line where the path from a parameter to a loss ends."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.engine.state import Cut
from retrograd.graph.wording import where
from retrograd.lifecycle.site import CallSite
from retrograd.watching.cut_marks import Event
from retrograd.watching.engines import choose_engine
from retrograd.watching.heap import tracked, with_history
from retrograd.watching.reading import FREED_STATE, Node, Reader, behind, leading_to, reader_of
from retrograd.watching.tainted import Followed, place_of

PASS_RUN = "pass run=, a function that computes the loss, to follow the parameter through it"


@dataclass(frozen=True)
class Why:
    """Why a parameter has no gradient. `print` says it in words."""

    reason: str
    """`frozen`, `not a leaf`, `cut`, `left tensors`, `not used`, `dropped`, `none given`, `zero`,
    `no path`, `backward not called`, or `gradient` (it has one)."""
    text: str
    place: Place | None = None
    """The line where the path ends, if it is known."""
    operation: str = ""
    """What ends it: `detach`, `.data`, `argmax`, `item`, `MulBackward0`."""
    certain: bool = True
    """False: a likely place, of which it is not known whether this parameter's path ends there."""
    unseen: list[str] = field(default_factory=list)
    """What could not be told, and what would tell it."""

    def __str__(self) -> str:
        at = "" if self.place is None else f" ({where(self.place)})"
        likely = "" if self.certain else "probably: "
        return "\n".join([f"{likely}{self.text}{at}", *self.unseen])

    def to_json(self) -> dict[str, object]:
        """For programs."""
        return {**vars(self), "place": None if self.place is None else self.place.to_json()}


def why_no_grad(parameter: Any, loss: Any, *, run: Callable[[], object] | None = None) -> Why:
    """Why `parameter.grad` is None or zero after `loss.backward()`: where the path ends.

    parameter  a leaf tensor of retrograd or PyTorch
    loss       a tensor; the one that backward was, or will be, called on
    run        a function that computes the loss anew, and returns it: it is called once, and the
               parameter is followed through every operation; without it only the graph is read,
               which in retrograd is exact for most cuts, and in PyTorch never tells the line

    >>> w = torch.ones(3, requires_grad=True)
    >>> v = torch.ones(3, requires_grad=True)
    >>> h = (w * 2).detach()
    >>> loss = (h * v).sum()
    >>> why = torch.graph.why_no_grad(w, loss)
    >>> why.reason, why.operation, why.certain
    ('cut', 'detach', True)
    """
    reader = reader_of(parameter)
    for name, value in (("parameter", parameter), ("loss", loss)):
        if not isinstance(value, reader.tensor):
            raise TypeError(f"{name} must be a tensor of {reader.library}, got {type(value)}")
    if run is not None:
        return _followed(reader, parameter, run)
    return _by_flags(reader, parameter) or _by_graph(reader, parameter, loss)


# ---------------------------------------------------------------------------- the graph alone


def _by_flags(reader: Reader, parameter: Any) -> Why | None:
    if not parameter.requires_grad:
        return _frozen(reader, parameter)
    if not parameter.is_leaf:
        text = "it is computed from other tensors: backward fills .grad of leaves only"
        return Why("not a leaf", f"{text}; call retain_grad() on it before")
    return None


def _frozen(reader: Reader, parameter: Any) -> Why:
    text = "the parameter is frozen: its requires_grad is False"
    if reader.library != "retrograd":
        note = f"since which line is not recorded; {PASS_RUN}, if it is frozen in there"
        return Why("frozen", text, unseen=[note])
    since = None if parameter._meta is None else parameter._meta.frozen
    if since is not None:
        return Why("frozen", f"{text}, set", _site(since), since.operation)
    return Why("frozen", f"{text}, as it was made")


def _by_graph(reader: Reader, parameter: Any, loss: Any) -> Why:
    root = reader.root(loss) if loss.requires_grad else None
    nodes = behind(reader, [root])
    leaf = reader.root(parameter)
    if leaf in nodes:
        return _with_path(reader, parameter, nodes)
    cuts = _recorded_cuts(reader, loss, nodes)
    known = [cut for cut in cuts if _leads_to(cut, parameter)]
    unknown = [cut for cut in cuts if _leads_to(cut, parameter) is None]
    if not known and not unknown:
        return _without_path(reader, leaf, root)
    cut, *others = known or unknown
    text = f"the path ends at {_called(cut.operation)}: {_MEANS.get(cut.kind, 'a cut')}"
    word, more = ("and", []) if known else ("or", [PASS_RUN])
    further = [f"{word} at {each.operation} ({where(_site(each))})" for each in others]
    return Why("cut", text, _site(cut), cut.operation, bool(known), [*further, *more])


def _leads_to(cut: Cut, parameter: Any) -> bool | None:
    """Whether the parameter is among the leaves behind a cut; None where they were not noted."""
    leaves = getattr(cut, "leaves", None)
    return None if leaves is None else any(leaf() is parameter for leaf in leaves)


def _is_given(gradient: Any) -> bool:
    """Whether a gradient is not all zeros; of one without elements nobody knows."""
    return gradient is not None and (gradient.is_meta or bool(gradient.any()))


def _with_path(reader: Reader, parameter: Any, nodes: list[Node]) -> Why:
    ran = any(reader.state(node) == FREED_STATE or reader.walked(node) for node in nodes)
    gradient = parameter.grad
    if _is_given(gradient):
        return Why("gradient", "the parameter has a gradient")
    if gradient is not None:
        text = "a path leads to it, but the gradient is zero: a mask, a dead relu, a factor of 0"
        return Why("zero", text, unseen=[f"which operation is not recorded; {PASS_RUN}"])
    if not ran:
        text = "a path leads from the loss to the parameter; backward() was not called on it"
        visible = reader.library == "retrograd"
        note = "not visible in PyTorch: a backward that retained the graph, or freed nothing"
        return Why("backward not called", text, None, "", visible, [] if visible else [note])
    text = "a path leads to it, and backward went there, but .grad is None: it was cleared since, "
    text += "or a custom Function returned None for it"
    return Why("none given", text, certain=False, unseen=[PASS_RUN])


_MEANS = {
    "detach": "what it returns has no history",
    "data": "what it gives has no history",
    "no_grad": "nothing is recorded there",
    "hook": "hooks run without recording",
    "inference": "nothing is recorded there",
    "nondifferentiable": "it has no derivative",
    "grad": "without create_graph=True its result has no history",
    "copy": "it copies the values without their history",
}


def _recorded_cuts(reader: Reader, loss: Any, nodes: list[Node]) -> list[Cut]:
    """Where the paths to what the loss is made of were cut: retrograd's nodes know."""
    if reader.library != "retrograd":
        return []
    cuts: list[Cut | None] = [loss._cut]
    for node in nodes:
        cuts += getattr(node, "cuts", ())
        cuts += [
            tensor._cut for tensor in (*reader.kept(node), reader.leaf(node)) if tensor is not None
        ]
    return list(dict.fromkeys(cut for cut in cuts if cut is not None))


def _site(cut: Cut) -> Place | None:
    place = CallSite(cut.code, cut.lasti).place
    return None if place is None else Place(place.file, place.line)


def _called(operation: str) -> str:
    return operation if operation.startswith(".") or operation.endswith(")") else f"{operation}()"


def _without_path(reader: Reader, leaf: Node, root: Node | None) -> Why:
    """Does anything that lives use it?"""
    gc.collect()
    tensors = tracked(lambda kind: issubclass(kind, reader.tensor))
    computed = with_history(tensors)
    nodes = behind(reader, [reader.root(tensor) for tensor in computed])
    using = leading_to(reader, nodes, [leaf])
    users = [tensor for tensor in computed if reader.root(tensor) in using]
    head = "the loss has no graph" if root is None else "no path leads from the loss to it"
    if not users:
        text = f"{head}, and no tensor that lives was computed from the parameter"
        return Why("no path", text, unseen=[f"whether it was used is not recorded; {PASS_RUN}"])
    newest = max(users, key=lambda tensor: reader.number(reader.root(tensor)))
    node = reader.root(newest)
    text = f"{head}; it was used (the newest tensor with it is of {reader.name(node)}), and "
    text += "dropped or cut off since"
    return Why("no path", text, reader.place(node), reader.name(node), False, [PASS_RUN])


# ---------------------------------------------------------------------- a run that is followed


def _followed(reader: Reader, parameter: Any, run: Callable[[], object]) -> Why:
    before = parameter.requires_grad
    followed = Followed(choose_engine(reader.library), parameter)
    try:
        loss = followed.run(run)
        return _verdict(reader, parameter, loss, followed, before)
    finally:
        followed.forget()


def _verdict(reader: Reader, parameter: Any, loss: Any, followed: Followed, trained: bool) -> Why:
    flags = _by_flags(reader, parameter)
    if flags is not None and flags.reason == "frozen" and followed.frozen and trained:
        place = place_of(followed.events[followed.frozen[-1]].stack)
        return Why("frozen", flags.text, place, "requires_grad=False")
    if flags is not None:
        return flags
    root = reader.root(loss) if loss.requires_grad else None
    if reader.root(parameter) in behind(reader, [root]):
        return _probed(reader, parameter, loss)
    cuts = followed.cuts_of(loss)
    if cuts:
        return _cut(cuts[0], certain=True)
    left = followed.left(loss)
    if left:
        return _left(left[0])
    if followed.used is not None:
        text = "it is used, but the loss does not depend on what came of it; used last at"
        return Why("dropped", text, followed.used)
    return Why("not used", "no operation of the run has used the parameter")


def _cut(event: Event, *, certain: bool) -> Why:
    op = _named(event.op)
    means = "what it gives has no history"
    if not event.grad_mode:
        means = "gradients are off there"
        if event.scope is not None:
            name, file, line = event.scope
            means = f"{name} is on there, since {where(Place(str(file), int(str(line))))}"
    elif event.integral:
        means = "its result is no floating point number"
    elif op == "copy.deepcopy":
        means = "the copy is a leaf of its own"
    elif op == "nn.Parameter":
        means = "it makes a new leaf of a computed tensor"
    text = f"the path ends at {_called(op)}: {means}"
    return Why("cut", text, place_of(event.stack), op, certain)


def _named(op: str) -> str:
    """The name of an operation as it is called: `matmul` for `__matmul__`.

    >>> _named("__gt__"), _named("_matmul_operator"), _named("copy_")
    ('gt', 'matmul', 'copy_')
    """
    if op.startswith("__") and op.endswith("__"):
        return op.strip("_")
    return op.removeprefix("_").removesuffix("_operator") if op.endswith("_operator") else op


def _left(event: Event) -> Why:
    op = _named(event.op)
    text = f"its values leave tensors at {_called(op)}: numbers and arrays carry no history"
    note = "whether the loss was computed from these numbers cannot be followed"
    return Why("left tensors", text, place_of(event.stack), op, False, [note])


def _probed(reader: Reader, parameter: Any, loss: Any) -> Why:
    """A path is there: send something back along it, and look where it ends."""
    given: dict[Node, tuple[bool, bool]] = {}
    path = _path_nodes(reader, parameter, loss)
    handles = [_watch(node, given) for node in path]
    try:
        engine = choose_engine(reader.library)
        ones = engine.torch.ones_like(loss)
        (gradient,) = engine.torch.autograd.grad(
            *([loss], [parameter], [ones]), retain_graph=True, allow_unused=True
        )
    finally:
        for handle in handles:
            handle.remove()
    if _is_given(gradient):
        return Why("gradient", "a path leads to it, and it gets a gradient from this loss")
    for node in path:  # from the loss on
        came, went = given.get(node, (False, False))
        if came and not went:
            name, reason = reader.name(node), "zero" if gradient is not None else "none given"
            what = "zeros" if gradient is not None else "None"
            text = f"a path leads to it, but {name} gives {what} to what lies behind it"
            return Why(reason, text, reader.place(node), name)
    reason = "none given" if gradient is None else "zero"
    return Why(reason, "a path leads to it, but no gradient other than zero arrives", certain=False)


def _path_nodes(reader: Reader, parameter: Any, loss: Any) -> list[Node]:
    """The nodes between, those near the loss first."""
    leaf = reader.root(parameter)
    nodes = behind(reader, [reader.root(loss)])
    reaching = leading_to(reader, nodes, [leaf])
    return [node for node in nodes if node in reaching and node is not leaf]


def _watch(node: Any, given: dict[Node, tuple[bool, bool]]) -> Any:
    shown = node.shown() if hasattr(node, "shown") else node

    def hook(inputs: Any, outputs: Any) -> None:
        given[node] = _any(outputs), _any(inputs)

    return shown.register_hook(hook)


def _any(gradients: Any) -> bool:
    return any(_is_given(gradient) for gradient in gradients)
