"""An edit of a way through NumPy: the same functions of torch, which keep the graph."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, Draft, Function, called, dotted

_SAME = {
    *("abs", "exp", "log", "log1p", "expm1", "sqrt", "sin", "cos", "tanh", "maximum", "minimum"),
    *("sum", "mean", "cumsum", "where", "clip", "matmul", "dot", "outer", "einsum", "stack"),
    *("concatenate", "linalg.norm", "linalg.inv", "linalg.det", "linalg.solve"),
    *("fft.fft", "fft.ifft", "fft.rfft", "fft.irfft", "fft.fft2", "fft.ifft2"),
}
"""Functions that both have under one name and that mean the same with the same arguments."""
_OTHER = ("std", "var", "repeat", "transpose", "resize")
"""Methods of an array that a tensor has under the same name, and that do something else."""
_KEYWORDS = {"axis": "dim", "keepdims": "keepdim"}


def stay_in_torch(task: Task) -> None:
    """`torch.from_numpy(np.exp(h.detach().numpy()))` of a function becomes `torch.exp(h)`."""
    draft = task.draft
    function = draft.scope_of(task.statement)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise CannotWrite("the line is in no function")
    leaving, back, kinds = _crossings(draft, function)
    if not leaving or not back:
        raise CannotWrite("the way does not go to NumPy and back in one function")
    for call in [*leaving, *kinds]:
        inner = _before(call)
        draft.replace(draft.end(inner), draft.end(call), "")
    for call in back:
        value = call.args[0]
        plain = isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        draft.replace(draft.start(call), draft.start(value), "" if plain else "(")
        draft.replace(draft.end(value), draft.end(call), "" if plain else ")")
    gone = {n for call in kinds for argument in call.args for n in ast.walk(argument)}
    _rename(task, function, gone)


def _crossings(
    draft: Draft, function: Function
) -> tuple[list[ast.Call], list[ast.Call], list[ast.Call]]:
    """The calls of a function that go to NumPy, those that come back, and those of `astype`."""
    calls = [node for node in draft.walk(function) if isinstance(node, ast.Call)]
    methods = [call for call in calls if isinstance(call.func, ast.Attribute)]
    leaving = [call for call in methods if called(call) == "numpy" and not call.args]
    kinds = [call for call in methods if called(call) == "astype" and len(call.args) == 1]
    back = [call for call in calls if called(call) in ("from_numpy", "as_tensor", "tensor")]
    if any(called(call) in _OTHER for call in methods):
        raise CannotWrite("a method of an array means something else of a tensor")
    if any(len(call.args) != 1 or call.keywords for call in back):
        raise CannotWrite("the way back has further arguments")
    return leaving, back, kinds


def _before(call: ast.Call) -> ast.expr:
    """`h` of `h.detach().cpu().numpy()`, and what `astype` is called on."""
    node: ast.expr = call
    names = ("astype",) if called(call) == "astype" else ("numpy", "detach", "cpu")
    while True:
        if isinstance(node, ast.Call) and called(node) in names:
            assert isinstance(node.func, ast.Attribute)
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr == "data" and "numpy" in names:
            node = node.value
        else:
            return node


def _rename(task: Task, function: Function, gone: set[ast.AST]) -> None:
    """NumPy's functions as torch's; refuses where one has no namesake."""
    draft, own = task.draft, _numpy(task.draft)
    for node in draft.walk(function):
        if not isinstance(node, ast.Name) or node.id != own or node in gone:
            continue
        whole: ast.AST = node
        while isinstance(draft.parents[whole], ast.Attribute):
            whole = draft.parents[whole]
        call = draft.parents[whole]
        if dotted(whole).partition(".")[2] not in _SAME or not isinstance(call, ast.Call):
            raise CannotWrite("torch has no function of this name that does the same")
        draft.rewrite(node, task.torch())
        for keyword in call.keywords:
            if keyword.arg in _KEYWORDS:
                start = draft.start(keyword)
                draft.replace(start, start + len(keyword.arg), _KEYWORDS[keyword.arg])


def _numpy(draft: Draft) -> str:
    """The name under which the file knows NumPy."""
    for node in ast.walk(draft.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "numpy":
                    return alias.asname or "numpy"
    raise CannotWrite("the file does not import NumPy")
