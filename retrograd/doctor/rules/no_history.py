"""Causes of errors about a loss without history, or about inputs it was not computed from."""

from __future__ import annotations

import ast
import gc

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor import second_pass
from retrograd.doctor.evidence import raised, statements
from retrograd.doctor.evidence.last_layer import frozen_model
from retrograd.doctor.evidence.raised import Raised
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.second_pass import Cut
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.graph import leaves_above

NO_HISTORY = "does not require grad and does not have a grad_fn"
UNUSED = "appears to not have been used in the graph"
NOT_REQUIRED = "One of the differentiated Tensors does not require grad"
CHECKPOINT_WARNING = "None of the inputs have requires_grad=True"


def no_history(watched: Watched) -> Diagnosis | None:
    """ "element 0 of tensors does not require grad and does not have a grad_fn"."""
    at = raised.find(watched, NO_HISTORY)
    if at is None:
        return None
    found = _in_checkpoint(watched) or _gradient_itself(watched)
    if found is None:
        before = len(watched.unseen)
        cuts = second_pass.find_cuts(watched)
        if cuts:
            found = from_cut(cuts[0], watched)
        elif len(watched.unseen) == before and not _any_leaf(watched):
            found = _nothing_requires_grad(at)
    if found is None:
        found = _by_text(at)
    return None if found is None else _completed(found, at)


def _completed(found: Diagnosis, at: Raised) -> Diagnosis:
    found.error_line, found.error = at.place, at.message
    found.spans.append(Span("sent back", at.place, at.stack))
    return found


# ------------------------------------------------------------------------- from evidence


def from_cut(cut: Cut, watched: Watched) -> Diagnosis | None:
    """The diagnosis of a loss that lost its history at a cut."""
    place = cut.place
    if place is None:
        return None
    spans = [Span("cut", place, cut.stack)]
    created = list(dict.fromkeys(reversed(cut.stack)))
    if cut.op in ("grad", ".grad"):
        line = place if cut.op == "grad" else _backward_before(watched) or place
        return Diagnosis(
            cause="missing-create-graph",
            title="a gradient is sent back, but it was taken without create_graph=True",
            why="Without create_graph=True a gradient is a plain number: how it was computed is "
            "not recorded, so nothing can be differentiated through it.",
            error_line=None,
            created_at=list(dict.fromkeys([line, *created])),
            fixes=[Fix("create-graph", line, "record the computation of the gradient")],
            spans=spans,
        )
    if cut.op == "requires_grad=False":
        return Diagnosis(
            cause="broken-graph",
            title="every parameter in the history of the loss is frozen",
            why=f"Line {place.line} switched requires_grad off; nothing that the loss was computed "
            "from is to be trained.",
            error_line=None,
            created_at=created,
            fixes=[
                Fix("enable-grad", place, "leave the parameters to be trained unfrozen"),
                *_before_optimizer(watched),
            ],
            spans=spans,
            facts=frozen_model(watched),
        )
    if not cut.grad_mode:
        scope = cut.scope or place
        created = list(dict.fromkeys([scope, *created]))
        spans.insert(0, Span("gradients off", scope))
        return Diagnosis(
            cause="no-grad-scope",
            title="the forward pass ran with gradients switched off",
            why=f"{cut.scope_name or 'A grad mode'} was active when the value was computed, so "
            "no history was recorded.",
            error_line=None,
            created_at=created,
            fixes=[Fix("enable-grad", scope, "compute what is trained outside of it")],
            spans=spans,
        )
    return Diagnosis(
        cause="broken-graph",
        title=f"the loss lost its history at {_called(cut)}",
        why=f"{_called(cut)} gives {_what(cut)}. What follows is computed from that, and the "
        "parameters behind it cannot be reached.",
        error_line=None,
        created_at=created,
        fixes=[Fix("keep-graph", place, "stay in differentiable tensors up to the loss")],
        spans=spans,
    )


def _before_optimizer(watched: Watched) -> list[Fix]:
    """The line that builds the one optimizer: what it is to train may be unfrozen before it."""
    recorder = watched.recorder
    places = [watched.tracer.log.places_of(stack) for stack in recorder.built_at.values()]
    if len(places) != 1 or not places[0]:
        return []
    return [Fix("enable-grad", places[0][-1], "or unfreeze the last layer before it is given away")]


def _called(cut: Cut) -> str:
    if cut.op.startswith(".") or cut.op.startswith("nn."):
        return f"`{cut.op}`"
    return f"`{cut.op.strip('_')}`"


def _what(cut: Cut) -> str:
    if cut.escaped:
        return "Python or NumPy values, which carry no history"
    if cut.op == "nn.Parameter":
        return "a new leaf, without the history of the tensor it was made from"
    return "a tensor without history"


def _backward_before(watched: Watched) -> Place | None:
    """The last backward before the failing call: it filled the `.grad` that was read."""
    failure = watched.recorder.failure
    if failure is None:
        return None
    for call in reversed(watched.recorder.calls[: failure.call.index]):
        if call.kind == "backward" and not call.create and call.log is failure.call.log:
            return call.log.place_of(call.stack)
    return None


def _gradient_itself(watched: Watched) -> Diagnosis | None:
    """The tensor sent back is the result of a `grad` call: no second run is needed to see it."""
    failure = watched.recorder.failure
    for tensor in [] if failure is None else failure.tensors:
        known = watched.recorder.grad_results.get(id(tensor))
        if known is not None and known[0] is tensor:
            stack = known[1].log.places_of(known[1].stack)
            if stack:
                return from_cut(Cut("grad", stack, grad_mode=True), watched)
    return None


def _in_checkpoint(watched: Watched) -> Diagnosis | None:
    """A reentrant checkpoint whose inputs do not require grad gives a result without history."""
    for warned in reversed(watched.warned):
        if CHECKPOINT_WARNING in warned.message and warned.stack:
            place = warned.stack[-1]
            return Diagnosis(
                cause="broken-graph",
                title="a checkpoint gave a result without history",
                why="A reentrant checkpoint looks only at its arguments: if none requires grad, "
                "the parameters used inside get no gradients.",
                error_line=None,
                created_at=list(dict.fromkeys(reversed(warned.stack))),
                fixes=[Fix("fix-checkpoint-call", place, "pass use_reentrant=False")],
                spans=[Span("cut", place, warned.stack)],
            )
    return None


def _any_leaf(watched: Watched) -> bool:
    """Whether anything in the program requires grad; then a cut may have been overlooked."""
    kind = watched.recorder.torch.Tensor
    return any(
        issubclass(type(each), kind) and each.is_leaf and each.requires_grad
        for each in gc.get_objects()
    )


def _nothing_requires_grad(at: Raised) -> Diagnosis:
    """A second run found no cut, and nothing in the program requires grad."""
    made = _constructed(at.place)
    line = made or at.place
    return Diagnosis(
        cause="broken-graph",
        title="nothing that this tensor was computed from requires grad",
        why="Operations are recorded only from tensors with requires_grad=True on; there is none "
        "behind this one.",
        error_line=at.place,
        created_at=[line],
        fixes=[Fix("make-leaf", line, "create what is to be trained with requires_grad=True")],
        spans=[Span("created", line)],
    )


_CONSTRUCTORS = frozenset(
    "tensor as_tensor from_numpy zeros ones full empty rand randn randint linspace arange eye "
    "zeros_like ones_like rand_like randn_like Tensor FloatTensor".split()
)


def _constructed(place: Place) -> Place | None:
    """The first line that makes a tensor among those which the failing line is computed from."""
    statement = source.statement_at(place.file, place.line)
    if statement is None:
        return None
    names = [n.id for n in ast.walk(statement) if isinstance(n, ast.Name)]
    seen: set[str] = set()
    found: list[int] = []
    while names:
        name = names.pop()
        if name in seen:
            continue
        seen.add(name)
        for line in statements.lines_assigning(place, name):
            assignment = source.statement_at(place.file, line)
            if assignment is None:
                continue
            for node in ast.walk(assignment):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    names.append(node.id)
                if isinstance(node, ast.Call):
                    called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                    if called in _CONSTRUCTORS:
                        found.append(line)
    return Place(place.file, min(found)) if found else None


# --------------------------------------------------------------------- from the text alone

_CUTTING_CALLS = frozenset("detach item numpy tolist tensor as_tensor from_numpy argmax".split())


def _by_text(at: Raised) -> Diagnosis | None:
    """Without a second run: the one line behind the loss whose text cuts its history, if any."""
    place = at.place
    statement = source.statement_at(place.file, place.line)
    names = [n.id for n in ast.walk(statement) if isinstance(n, ast.Name)] if statement else []
    seen: set[str] = set()
    lines: dict[int, str] = {}
    while names:
        name = names.pop()
        if name in seen:
            continue
        seen.add(name)
        for line in statements.lines_assigning(place, name):
            assignment = source.statement_at(place.file, line)
            if line > place.line or assignment is None:
                continue
            for node in ast.walk(assignment):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    names.append(node.id)
                cutting = _cutting(node)
                if cutting:
                    lines[line] = cutting
    if len(lines) != 1:
        return None
    line, op = lines.popitem()
    where = Place(place.file, line, place.function)
    cut = Cut(op, [where], grad_mode=True, escaped=op in ("item", "numpy", "tolist"))
    return Diagnosis(
        cause="broken-graph",
        title=f"the loss lost its history at {_called(cut)}",
        why=f"By the text, {_called(cut)} is the only operation before the loss that ends history. "
        "The program was not run again to see it happen.",
        error_line=place,
        created_at=[where],
        fixes=[Fix("keep-graph", where, "stay in differentiable tensors up to the loss")],
        spans=[Span("cut", where)],
    )


def _cutting(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        name = str(getattr(node.func, "attr", getattr(node.func, "id", "")))
        return name if name in _CUTTING_CALLS else ""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return ".data"
    return ""


# -------------------------------------------------------------------------- unused inputs


def unused_input(watched: Watched) -> Diagnosis | None:
    """ "The differentiated Tensor at index 0 appears to not have been used in the graph"."""
    at, failure = raised.find(watched, UNUSED, NOT_REQUIRED), watched.recorder.failure
    if at is None or failure is None:
        return None
    log = failure.call.log
    for tensor in failure.inputs:
        node = getattr(tensor, "grad_fn", None)
        if node is None or node in failure.nodes:
            continue
        stack = [place for _, place in log.stack_of(node._sequence_nr())]
        if not stack:
            continue
        # a slice or copy of the input, made beside the forward pass that used the input itself
        kept = source.where_kept(stack) or stack[-1]
        found = Diagnosis(
            cause="broken-graph",
            title="the gradient is asked for a tensor that the output was not computed from",
            why=f"The tensor was made in line {stack[-1].line}, but the forward pass used another "
            "one, of which this is a copy or a part.",
            error_line=at.place,
            created_at=list(dict.fromkeys(reversed(stack))),
            fixes=[Fix("keep-graph", kept, "make it before the forward pass, and use it there")],
            spans=[Span("created", stack[-1], stack)],
        )
        return _completed(found, at)
    cuts = second_pass.find_cuts(watched)
    cut = from_cut(cuts[0], watched) if cuts else None
    if cut is None:
        return None
    copied = _copied_model(at, watched)
    if copied:
        text = f"or differentiate with respect to the parameters of `{copied}`, which were used"
        cut.fixes.append(Fix("keep-graph", at.place, text))
        cut.facts["copied"] = copied
    return _completed(cut, at)


def _copied_model(at: Raised, watched: Watched) -> str:
    """The variable of the module that the output was computed with instead of the one asked for."""
    failure = watched.recorder.failure
    kind = watched.recorder.torch.nn.Module
    if failure is None:
        return ""
    used = leaves_above(failure.nodes)
    wanted = [tuple(each.shape) for each in failure.inputs]
    found = []
    for name, value in at.frame.f_locals.items():
        if isinstance(value, kind):
            held = list(value.parameters())
            same = [tuple(each.shape) for each in held] == wanted
            if same and all(id(each) in used for each in held):
                found.append(name)
    return found[0] if len(found) == 1 else ""
