"""Causes of errors about leaves and results: `.grad` of a result, an optimizer over one, copies."""

from __future__ import annotations

import ast
from typing import Any

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import raised, statements
from retrograd.doctor.evidence.converted import arrays_of, collecting
from retrograd.doctor.evidence.grad_reads import NON_LEAF_GRAD, grad_attributes, result_read
from retrograd.doctor.evidence.raised import Raised
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules.held_paths import base_name, last_attribute
from retrograd.doctor.rules.storing_lines import line_storing
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.graph import leaves_above
from retrograd.watching.holders import holder_of
from retrograd.watching.lines import LineLog

NON_SCALAR = "grad can be implicitly created only for scalar outputs"
SHAPE_MISMATCH = "Mismatch in shape: grad_output["
NON_LEAF_OPTIMIZER = "can't optimize a non-leaf Tensor"
NOT_A_LEAF_FLAG = "you can only change requires_grad flags of leaf variables"
DEEPCOPY = "Only Tensors created explicitly by the user"
NUMPY = "Can't call numpy() on Tensor that requires grad"
INFERENCE = (
    "Inference tensors cannot be saved for backward",
    "on inference tensor outside InferenceMode",
    "to inference tensor outside InferenceMode",
)


def non_scalar(watched: Watched) -> Diagnosis | None:
    """ "grad can be implicitly created only for scalar outputs"."""
    at = raised.find(watched, NON_SCALAR, SHAPE_MISMATCH)
    if at is None:
        return None
    made = _made_by_variable(at, watched)
    return Diagnosis(
        cause="non-scalar",
        title="backward is called on a tensor of several elements",
        why="Only a single number has one gradient. For several elements PyTorch needs to know how "
        "much each of them counts: reduce them to one number, or pass `gradient`.",
        error_line=at.place,
        created_at=list(dict.fromkeys([*reversed(made), at.place])),
        fixes=[Fix("reduce-loss", at.place, "take the mean or the sum before backward()")],
        error=at.message,
        spans=[
            *([Span("created", made[-1], made)] if made else []),
            Span("sent back", at.place, at.stack),
        ],
    )


def _made_by_variable(at: Raised, watched: Watched) -> list[Place]:
    """The stack that made the tensor whose method the failing line calls."""
    statement = source.statement_at(at.place.file, at.place.line)
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.Call):
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            for candidate in [owner, *node.args]:
                value = None if candidate is None else statements.value_of(candidate, at.frame)
                stack = _made(value, watched.tracer.log)
                if stack:
                    return stack
    return []


def _made(tensor: object, log: LineLog) -> list[Place]:
    """The stack that made a tensor with history."""
    node = getattr(tensor, "grad_fn", None)
    return [] if node is None else [p for _, p in log.stack_of(node._sequence_nr())]


# ------------------------------------------------------------------------------- non-leaves


def optimizer_over_result(watched: Watched) -> Diagnosis | None:
    """ "can't optimize a non-leaf Tensor"."""
    at = raised.find(watched, NON_LEAF_OPTIMIZER)
    if at is None:
        return None
    tensor = at.local("param", watched.recorder.torch.Tensor)
    made = _made(tensor, watched.tracer.log)
    kept = source.where_kept(made) or at.place
    held = None
    if tensor is not None:
        held = holder_of(tensor, at.frames[::-1], watched.recorder.torch.Tensor)
    return Diagnosis(
        cause="nonleaf-grad",
        title="an optimizer is given a tensor that is the result of an operation",
        why="It was computed from a leaf (moving to a device, changing the type and arithmetic "
        "are operations too), so gradients end in that leaf, and a step would change a copy.",
        error_line=at.place,
        created_at=list(dict.fromkeys([*reversed(made), kept])),
        fixes=[
            Fix("make-leaf", kept, "compute the numbers first, then call requires_grad_() on them")
        ],
        error=at.message,
        tensor="" if held is None else held.path,
        spans=[
            *([Span("created", made[-1], made)] if made else []),
            Span("used", at.place, at.stack),
        ],
    )


def grad_of_result(watched: Watched) -> Diagnosis | None:
    """`.grad` of a tensor that is not a leaf: a warning, then None where a gradient was meant."""
    at = raised.find(watched, "NoneType")
    tensor = None if at is None else _tensor_read(at, watched)
    if at is not None and tensor is not None:
        reading = at.stack  # seen directly: the program may have switched warnings off
        made, part = _made(tensor, watched.tracer.log), False
    else:
        warned = [w for w in watched.warned if NON_LEAF_GRAD in w.message and w.stack]
        reads = [w for w in warned if _reads_grad(w.stack[-1])]
        direct = [w.stack for w in reads]
        if not direct or (watched.error is not None and (at is None or not _follows(at, direct))):
            return None
        reading, made = direct[-1], reads[-1].made
        part = bool(made) and not reads[-1].whole
    place = reading[-1]
    made = made or _assigned(place, _names_read(place))
    kept = source.where_kept(made) or place
    if part:  # no name of the line that made it stands for it: ask before the backward
        kept = _last_backward(watched) or kept
    retain = Fix("retain-grad", kept, "call retain_grad() on it before the backward")
    leaf = Fix("make-leaf", kept, "or make it the leaf: compute first, then requires_grad_()")
    meant_as_leaf = "requires_grad" in source.text_at(kept.file, kept.line)
    if tensor is not None and at is not None and not meant_as_leaf:
        meant_as_leaf = _only_nameless_leaves(tensor, at, watched)
    updated = statements.updated_by_gradient(source.statement_at(kept.file, kept.line))
    in_place = Fix("no-grad", kept, "write the step into the tensor, without recording it")
    offered = [leaf, retain] if meant_as_leaf else [retain, leaf]
    if updated and retain in offered:  # a step of gradient descent is no value to look into
        offered = [in_place, leaf]
    return Diagnosis(
        cause="nonleaf-grad",
        title="`.grad` is read from a tensor that is the result of an operation",
        why="backward() fills the `.grad` of leaves only. Of results it is None, unless "
        "retain_grad() was called on them.",
        error_line=at.place if at is not None else place,
        created_at=list(dict.fromkeys([kept, *reversed(made), place])),
        fixes=offered,
        error="" if at is None else at.message,
        tensor=next(iter(_names_read(place)), ""),
        spans=[*([Span("created", made[-1], made)] if made else []), Span("read", place, reading)],
    )


def _last_backward(watched: Watched) -> Place | None:
    calls = [call for call in watched.recorder.calls if call.kind == "backward"]
    return calls[-1].log.place_of(calls[-1].stack) if calls else None


def _follows(at: Raised, reading: list[list[Place]]) -> bool:
    """Whether the error can come from the None that a warning speaks of: the same function."""
    place = reading[-1][-1]
    return any((p.file, p.function) == (place.file, place.function) for p in at.stack)


def _reads_grad(place: Place) -> bool:
    """Whether the text of the line reads `.grad` (and not `torch.autograd.grad`)."""
    return bool(_names_read(place))


def _names_read(place: Place) -> list[str]:
    names = [ast.unparse(node.value) for node in grad_attributes(place)]
    return [name for name in names if name not in ("torch.autograd", "autograd", "torch.func")]


def _tensor_read(at: Raised, watched: Watched) -> Any | None:
    """The tensor whose `.grad` the failing line reads."""
    return result_read(at.place, at.frame, watched.recorder.torch.Tensor)


def _assigned(place: Place, names: list[str]) -> list[Place]:
    for name in names:
        lines = [n for n in statements.lines_assigning(place, name) if n < place.line]
        if lines:
            return [Place(place.file, lines[-1], place.function)]
    return []


def _only_nameless_leaves(tensor: Any, at: Raised, watched: Watched) -> bool:
    """Whether nothing in the program holds the leaves behind a tensor: it was meant as the leaf."""
    kind = watched.recorder.torch.Tensor
    frames = at.frames[::-1]
    leaves = list(leaves_above([tensor.grad_fn]).values())[:8]
    return bool(leaves) and all(holder_of(leaf, frames, kind) is None for leaf in leaves)


def flag_of_result(watched: Watched) -> Diagnosis | None:
    """ "you can only change requires_grad flags of leaf variables"."""
    at = raised.find(watched, NOT_A_LEAF_FLAG)
    if at is None:
        return None
    return Diagnosis(
        cause="nonleaf-grad",
        title="requires_grad is switched on a tensor that is the result of an operation",
        why="A result requires grad because its inputs do. Only leaves have a switch of their own.",
        error_line=at.place,
        created_at=[at.place],
        fixes=[Fix("detach", at.place, "use x.detach(): the same numbers without history")],
        error=at.message,
        spans=[Span("switched", at.place, at.stack)],
    )


# ----------------------------------------------------------------- copies, NumPy, inference


def copied_with_history(watched: Watched) -> Diagnosis | None:
    """`copy.deepcopy` of something that holds a result with history."""
    at = raised.find(watched, DEEPCOPY)
    if at is None:
        return None
    kind = watched.recorder.torch.Tensor
    tensor = at.local("self", kind)
    made = _made(tensor, watched.tracer.log)
    held = None if tensor is None else holder_of(tensor, at.frames[::-1], kind)
    name = held.path if held is not None else ""
    own = "" if held is None else last_attribute(name) or base_name(name)
    stored = line_storing([(0, place) for place in made], own) if own else None
    kept = stored or source.where_kept(made) or at.place
    fixes = [
        Fix("detach", kept, "keep its numbers without the history"),
        Fix("reset-state", at.place, "or clear it before the copy"),
    ]
    if own and _is_trained_by(own, kept, at):
        fixes.reverse()
    return Diagnosis(
        cause="stale-state-carried",
        title=f"{f'`{name}`' if name else 'a value'} is copied while it still has its history",
        why="Only leaves can be deep-copied. What is copied here keeps the result of an earlier "
        "computation together with its graph.",
        error_line=at.place,
        created_at=list(dict.fromkeys([*reversed(made), kept])),
        fixes=fixes,
        facts={"copied": True},
        error=at.message,
        tensor=name,
        spans=[
            *([Span("created", made[-1], made)] if made else []),
            Span("copied", at.place, at.stack),
        ],
    )


LOOKS = frozenset("item detach numpy tolist print float int cpu copy deepcopy".split())


def _is_trained_by(name: str, kept: Place, at: Raised) -> bool:
    """Whether another function than the one that keeps a value computes with it: `net.penalty`.

    Without its history it would be lost for the loss.
    """
    function = source.function_around(kept.file, kept.line)
    own = set() if function is None else set(ast.walk(function))
    for file in dict.fromkeys([kept.file, at.place.file]):
        for statement in ast.walk(source.tree_of(file)):
            if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return)):
                continue
            inside = list(ast.walk(statement))
            words = {getattr(n, "attr", getattr(n, "id", "")) for n in inside}
            if statement not in own and not words & LOOKS:
                for node in inside:
                    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                        if node.attr == name:
                            return True
    return False


def numpy_of_result(watched: Watched) -> Diagnosis | None:
    """ "Can't call numpy() on Tensor that requires grad"."""
    at = raised.find(watched, NUMPY)
    if at is None:
        return None
    torch = watched.recorder.torch
    arrays = arrays_of(at, torch)
    kept = collecting(at, arrays, torch)
    return Diagnosis(
        cause="broken-graph",
        title="a tensor that requires grad is turned into a NumPy array",
        why="An array carries no history: gradients cannot flow through what is computed from it. "
        "PyTorch asks to say so with detach().",
        error_line=at.place,
        created_at=[at.place, *([] if kept is None else [kept[0]])],
        fixes=[
            *([] if kept is None else [Fix(kept[1], kept[0], "keep it without its history")]),
            Fix("detach", at.place, "detach it, if the array is only looked at"),
            Fix("keep-graph", at.place, "stay with tensors, if the result goes into the loss"),
        ],
        error=at.message,
        spans=[Span("converted", at.place, at.stack)],
        facts={"arrays": arrays},
    )


def inference_tensor(watched: Watched) -> Diagnosis | None:
    """Tensors made under `inference_mode` that meet autograd later."""
    at = raised.find(watched, *INFERENCE)
    if at is None:
        return None
    scope = watched.recorder.last_scope.get("inference_mode")
    if scope is None:
        return None
    place = Place(scope.file, scope.line)
    others = [each for each in _switching_lines(watched) if each.line != place.line][:2]
    return Diagnosis(
        cause="no-grad-scope",
        title="a tensor made under inference_mode is used where gradients are recorded",
        why="Tensors of inference_mode can never take part in autograd, not even after it has "
        "ended. no_grad does not have this restriction.",
        error_line=at.place,
        created_at=[place, at.place],
        fixes=[
            *(Fix("no-grad", each, "use torch.no_grad() there") for each in [place, *others]),
            Fix("clone", at.place, "or use a clone of the tensor"),
        ],
        error=at.message,
        spans=[Span("gradients off", place), Span("used", at.place, at.stack)],
    )


def _switching_lines(watched: Watched) -> list[Place]:
    """The lines of the program that switch inference mode on."""
    found = [
        Place(file, node.lineno)
        for file in watched.tracer.chains.files()
        for node in ast.walk(source.tree_of(file))
        if isinstance(node, (ast.Name, ast.Attribute))
        and ast.unparse(node).rpartition(".")[2] == "inference_mode"
    ]
    return list(dict.fromkeys(found))
