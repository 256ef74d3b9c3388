"""The reference: pages with the signature and the docstring of every public name.

Many of retrograd's functions are made while it is imported, so nothing that reads source files can
find them. These pages are made from the objects themselves, when the documentation is built:

>>> pages = reference_pages(["nn.functional"])
>>> pages["reference/nn.functional.md"].splitlines()[0]
'# torch.nn.functional'
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from retrograd.compat.names import public_names
from retrograd.compat.reference_families import FAMILIES, family_of
from retrograd.compat.reference_text import as_markdown
from retrograd.compat.status import api_names, resolve, status_of
from retrograd.core import python_function
from retrograd.ops.registry import OPS, Op

PAGES: dict[str, tuple[str, ...]] = {
    "torch": ("torch",),
    "Tensor": ("torch.Tensor",),
    "autograd": (
        "torch.autograd",
        "torch.autograd.Function",
        "torch.autograd.function",
        "torch.autograd.graph",
        "torch.autograd.graph.Node",
        "torch.autograd.functional",
        "torch.autograd.forward_ad",
        "torch.autograd.grad_mode",
        "torch.autograd.anomaly_mode",
        "torch.autograd.gradcheck",
        "torch.autograd.profiler",
    ),
    "func": ("torch.func",),
    "nn": (
        "torch.nn",
        "torch.nn.Module",
        "torch.nn.init",
        "torch.nn.utils",
        "torch.nn.utils.rnn",
        "torch.nn.utils.parametrize",
        "torch.nn.utils.parametrizations",
        "torch.nn.utils.prune",
        "torch.nn.parameter",
        "torch.nn.attention",
    ),
    "nn.functional": ("torch.nn.functional",),
    "optim": (
        "torch.optim",
        "torch.optim.Optimizer",
        "torch.optim.lr_scheduler",
        "torch.optim.swa_utils",
    ),
    "linalg": ("torch.linalg",),
    "fft": ("torch.fft", "torch.signal.windows"),
    "special": ("torch.special",),
    "utils": ("torch.utils.checkpoint", "torch.utils.data", "torch.utils", "torch.utils.hooks"),
    "distributions": ("torch.distributions",),
    "amp": ("torch.amp",),
    "sparse": ("torch.sparse",),
    "serialization": ("torch.serialization",),
    "testing": ("torch.testing", "torch.random"),
}
"""The pages, and the modules on each."""

DIVIDED = ("torch", "Tensor")
"""Those that have a page for each family of functions."""

OWN = (
    "summary",
    "progress",
    "compat.status_of",
    "compat.status.Status",
    "diagnostics.errors.RetrogradError",
    "diagnostics.errors.LifecycleError",
    "diagnostics.errors.GraphFreedError",
    "diagnostics.errors.SavedModifiedError",
    "diagnostics.errors.RetrogradWarning",
    "diagnostics.report.Report",
    "diagnostics.report.Span",
    "diagnostics.report.Place",
    "diagnostics.pages.read_page",
)
"""What PyTorch does not have."""

_OWN_PAGE = """\
# retrograd's own

What PyTorch does not have. Everything else in this reference carries PyTorch's names.
"""
# annotations of declarations, as a reader knows them
_WORDS = {
    "Operand": "Tensor | Number",
    "Operand | None": "Tensor | Number | None",
    "Array": "Tensor",
    "Array | None": "Tensor | None",
    "Arrays": "Sequence[Tensor]",
}
_WIDTH = 88


def reference_pages(chosen: Iterable[str] = (*PAGES, "retrograd")) -> dict[str, str]:
    """The pages by their path below `docs/`."""
    found: dict[str, str] = {}
    for page in chosen:
        if page in DIVIDED:
            found |= _divided(page)
        else:
            found[f"reference/{page}.md"] = _page(page)
    return found


def _divided(page: str) -> dict[str, str]:
    """A page that leads to those of its families, and these."""
    (module,) = PAGES[page]
    families: dict[str, list[str]] = {family: [] for family in FAMILIES}
    names: dict[str, list[str]] = {family: [] for family in FAMILIES}
    listed = _listed(module)
    for name, value, note in listed.entries:
        family = family_of(name, value)
        families[family].append(_entry(f"{module}.{name}", value) + note)
        names[family].append(name)
    begin = "The examples begin with `import retrograd as torch`.\n"
    lead = [f"# {module}\n", begin]
    found = {}
    for family, entries in families.items():
        if not entries:
            continue
        path = f"{page}.{family}.md"
        found[f"reference/{path}"] = "\n".join(
            [f"# {module}: {FAMILIES[family]}\n", begin, *entries]
        )
        links = [f"[{name}]({path}#{module}.{name})".replace("_", "\\_") for name in names[family]]
        lead += [f"## [{FAMILIES[family].capitalize()}]({path})\n", ", ".join(links) + "\n"]
    found[f"reference/{page}.md"] = "\n".join([*lead, *listed.rest()])
    return found


def _page(page: str) -> str:
    if page == "retrograd":
        entries = [_entry(f"retrograd.{name}", _own(name)) for name in OWN]
        return "\n".join([_OWN_PAGE, *entries])
    modules = PAGES[page]
    parts = [f"# {modules[0]}\n", "The examples begin with `import retrograd as torch`.\n"]
    for module in modules:
        if module != modules[0]:
            parts.append(f"## {module}\n")
        parts += _module(module)
    return "\n".join(parts)


def _own(name: str) -> object:
    module, _, last = name.rpartition(".")
    found = importlib.import_module(f"retrograd.{module}" if module else "retrograd")
    return getattr(found, last)


@dataclass
class _Listed:
    """The public names of a module: those with an entry each, and those that are only named."""

    entries: list[tuple[str, object, str]] = field(default_factory=list)  # name, value, note
    values: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def rest(self) -> list[str]:
        """The end of a page."""
        parts = []
        if self.values:
            parts.append("**Values**: " + ", ".join(self.values) + "\n")
        if self.refused:
            parts += ["**There, and raising an error when used:**\n", *self.refused, ""]
        return parts


def _listed(module: str) -> _Listed:
    names = api_names().get(module) or public_names().get(module, [])
    if module == "torch.Tensor":
        names = [*names, *public_names().get(module, [])]
    found = _Listed()
    for name in sorted(set(names), key=lambda text: (text.lower().strip("_"), text)):
        path = f"{module}.{name}"
        status = status_of(path)
        if status.status == "absent":
            continue
        if status.status == "refuses":
            found.refused.append(f"- `{name}`: {as_markdown(status.note).strip()}")
            continue
        value = resolve(path)
        if isinstance(value, types.ModuleType):
            continue
        if not callable(value) and not isinstance(value, property) and not _described(value):
            found.values.append(f"`{name}`")
            continue
        note = f"*Differs from PyTorch:* {as_markdown(status.note)}\n" if status.note else ""
        found.entries.append((name, value, note))
    return found


def _module(module: str) -> list[str]:
    listed = _listed(module)
    entries = [_entry(f"{module}.{name}", value) + note for name, value, note in listed.entries]
    return [*entries, *listed.rest()]


def _described(value: object) -> bool:
    """Whether an object that cannot be called has a docstring of its own (descriptors have)."""
    return inspect.isdatadescriptor(value) and bool(inspect.getdoc(value))


def _entry(path: str, value: object) -> str:
    """One name: a heading that can be linked to, how it is called, what it does."""
    name = path.removeprefix("torch.") if path.startswith("torch.") else path.rpartition(".")[2]
    parts = ["### " + name.replace("_", "\\_") + f" {{ #{path} }}\n"]
    if callable(value) and not (inspect.isclass(value) and issubclass(value, Exception)):
        parts.append(f"```python\n{signature_of(path, value)}\n```\n")
    parts.append(as_markdown(_docstring(value)))
    page = next((page for page, modules in PAGES.items() if path in modules), None)
    if page is not None:
        parts.append(f"Its members are listed below `{path}` on [this page]({page}.md).\n")
    elif inspect.isclass(value):
        parts += _members(value)
    return "\n".join(parts) + "\n"


def _docstring(value: object) -> str:
    target = value.fget if isinstance(value, property) else value
    return inspect.getdoc(target) or ""


def _members(cls: type) -> list[str]:
    """The public methods that a class defines itself, with their first paragraphs."""
    lines = []
    for name, member in vars(cls).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if name.startswith("_") or not (
            inspect.isfunction(function) or isinstance(function, property)
        ):
            continue
        text = inspect.getdoc(function.fget if isinstance(function, property) else function)
        if not text or name == "forward":
            continue
        first = " ".join(text.split("\n\n")[0].split())
        call = "" if isinstance(function, property) else _short_signature(function)
        lines.append(f"- `{name}{call}`: {as_markdown(first).strip()}")
    return [*lines, ""] if lines else []


def _short_signature(function: Callable[..., object]) -> str:
    names = list(inspect.signature(function).parameters.values())
    shown = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in names
        if parameter.name not in ("self", "cls")
    ]
    return _defaults(str(inspect.Signature(shown)))


@cache
def _ops_by_function() -> dict[object, Op]:
    return {python_function(op.function): op for op in OPS.values()}


@cache
def _ops_by_twin() -> dict[object, Op]:
    return {python_function(op.inplace_function): op for op in OPS.values() if op.inplace_name}


def signature_of(path: str, value: Any) -> str:
    """How a function or class is called, wrapped where it is long.

    >>> signature_of("torch.mul", OPS["mul"].function)
    'torch.mul(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None)'
    """
    twin = _ops_by_twin().get(python_function(value)) if inspect.isfunction(value) else None
    # an in-place function is compiled at its first call, and shows its parameters only then
    found = inspect.signature(value) if twin is None else twin.signature
    parameters = [_readable(parameter) for parameter in found.parameters.values()]
    op = _ops_by_function().get(python_function(value)) if inspect.isfunction(value) else None
    if op is not None and op.out and not path.startswith("torch.Tensor."):
        if "out" not in found.parameters:
            parameters += _out_parameter(parameters)
    if path.startswith("torch.Tensor.") and not inspect.isclass(value):
        parameters = parameters[1:]  # the tensor itself
    elif parameters and parameters[0].name == "self":
        parameters[0] = parameters[0].replace(name="input")
    returned = found.return_annotation
    shown = "" if returned is inspect.Signature.empty or inspect.isclass(value) else _word(returned)
    texts = _texts(parameters)
    arrow = f" -> {shown}" if shown and shown != "Any" else ""
    line = f"{path}({', '.join(texts)}){arrow}"
    if len(line) <= _WIDTH:
        return line
    return f"{path}(\n" + textwrap.indent(",\n".join(texts), "    ") + f",\n){arrow}"


def _readable(parameter: inspect.Parameter) -> inspect.Parameter:
    if parameter.annotation is inspect.Parameter.empty:
        return parameter
    return parameter.replace(annotation=_word(parameter.annotation))


def _word(annotation: object) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _WORDS.get(text, text)


def _out_parameter(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD:
        return []
    kind = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter("out", kind, default=None, annotation="Tensor | None")]


def _texts(parameters: list[inspect.Parameter]) -> list[str]:
    """The parameters as written in a definition, with the marks between their kinds."""
    texts: list[str] = []
    starred = False
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            starred = True
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            texts.append("*")
            starred = True
        text = parameter.name
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            text = f"*{text}"
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            text = f"**{text}"
        known = parameter.annotation not in (inspect.Parameter.empty, "Any")
        if known:
            text += f": {parameter.annotation}"
        if parameter.default is not inspect.Parameter.empty:
            text += (" = " if known else "=") + _defaults(repr(parameter.default))
        texts.append(text)
    return texts


def _defaults(text: str) -> str:
    """Values that print with an address or a long name, shortened."""
    text = re.sub(r"<(?:function|class|built-in function) '?([\w.]+)[^>]*>", r"\1", text)
    text = re.sub(r"<([\w.]+) object at 0x[0-9a-f]+>", r"<\1>", text)
    return text.replace("Ellipsis", "...")
