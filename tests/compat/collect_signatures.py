"""Writes PyTorch's signatures: ``python -m tests.compat.collect_signatures > .../signatures.txt``.

Functions of PyTorch that are written in C++ read their arguments with a parser, which is given a
text for each overload; its messages are made from them. The texts come from the generator that
made PyTorch's bindings, which is installed with it; those that are written by hand in its sources
are found in its compiled module. Functions in Python have the signature that `inspect` shows.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torchgen
from torchgen.gen import parse_native_yaml
from torchgen.packaged.autograd import gen_python_functions as generator

import retrograd
from retrograd.ops.registry import PUBLIC
from tests.compat.python_steps import BY_HAND, steps_of

PACKAGED = Path(torchgen.__path__[0]) / "packaged"
NATIVE = PACKAGED / "ATen" / "native"
GROUPS = {
    "torch": generator.is_py_torch_function,
    "nn": generator.is_py_nn_function,
    "fft": generator.is_py_fft_function,
    "linalg": generator.is_py_linalg_function,
    "special": generator.is_py_special_function,
}
Texts = dict[str, list[str]]


class _Unknown:
    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = _Unknown()


def generated() -> dict[str, Texts]:
    """The parsers' texts by place and name; the empty text is a method that takes nothing."""
    functions = parse_native_yaml(str(NATIVE / "native_functions.yaml"), str(NATIVE / "tags.yaml"))
    bound = [f for f in functions.native_functions if generator.should_generate_py_binding(f)]
    deprecated = str(PACKAGED / "autograd" / "deprecated.yaml")
    found: dict[str, Texts] = {}
    pairs = generator.load_signatures(bound, deprecated, method=False)
    for place, belongs in GROUPS.items():
        found[place] = _texts(pairs, belongs)
    pairs = generator.load_signatures(bound, deprecated, method=True)
    found["Tensor"] = _texts(pairs, generator.is_py_variable_method)
    return found


def _texts(pairs: Any, belongs: Any) -> Texts:
    found = {}
    for name, overloads in generator.group_filter_overloads(pairs, belongs).items():
        if generator.is_noarg(overloads):
            found[str(name)] = [f"{name}()|nothing"]
        else:
            groups = generator.group_overloads(overloads)
            found[str(name)] = [group.signature.signature_str() for group in groups]
    return found


def compiled() -> Texts:
    """All texts in the compiled module, by name."""
    library = Path(torch.__path__[0]) / "lib" / "libtorch_python.so"
    found: Texts = {}
    pattern = rb"\x00([a-z_0-9A-Z]+\((?:[A-Z*a-z][^\x00]*)?\)(?:\|deprecated|\|hidden)?)(?=\x00)"
    for text in re.findall(pattern, library.read_bytes()):
        found.setdefault(text.decode().partition("(")[0], []).append(text.decode())
    return found


def lines() -> Iterator[str]:
    """The lines of the file."""
    parsers = generated()
    found = list(_public(parsers))
    yield from found
    there = {line.partition(" ")[0] for line in found}
    called = {place for line in found for place in re.findall(r"[;}~ ]((?:C|torch)\.\w+)\(", line)}
    public = {place for place in called if f"torch.{place.partition('.')[2]}" in there}
    for place in sorted(called - there - public):  # what only functions that are public call
        for text in parsers["torch"].get(place.partition(".")[2], ()):
            yield f"{place} {text}"


def _public(parsers: dict[str, Texts]) -> Iterator[str]:
    """The lines of public functions, and of those behind functions in Python."""
    all_texts = compiled()
    known = {f"{place}.{name}" for place, texts in parsers.items() for name in texts}
    known |= {f"C.{name}" for name in parsers["torch"]}
    spaces = ("torch", "nn.functional", "linalg")
    known |= {f"{place}.{name}" for place in spaces for name in PUBLIC[place]}
    hidden = {n: t for n, t in parsers["torch"].items() if _is_python(getattr(torch, n, None))}
    for place, functions in (("nn", parsers["nn"]), ("C", hidden)):  # what Python functions call
        for name, texts in sorted(functions.items()):
            for text in texts:
                yield f"{place}.{name} {text}"
    for place in ("torch", "Tensor", "nn.functional", "linalg", "fft", "special"):
        where: Any = torch
        for part in place.split(".") if place != "torch" else ():
            where = getattr(where, part)
        names = vars(retrograd.Tensor) if place == "Tensor" else PUBLIC[place]
        for name in sorted(names):
            function = getattr(where, name, None)
            if isinstance(function, types.FunctionType):
                yield from _python(f"{place}.{name}", function, known)
            elif callable(function) and not isinstance(function, type):
                for text in _parsed(place, function, parsers, all_texts):
                    yield f"{place}.{name} {text}"


def _parsed(place: str, function: Any, parsers: dict[str, Texts], all_texts: Texts) -> list[str]:
    name = function.__name__
    if place == "Tensor":
        found = parsers["Tensor"].get(name)
        if found is None and not name.startswith("__"):
            given = [t for t in all_texts.get(name, []) if not _is_generated(t, parsers)]
            found = [t for t in given if "Tensor input" not in t]
        if found:
            return found
        return [f"{name}()|nothing"] if _takes_nothing(function) else []
    for group in (place.rpartition(".")[2], "torch", "nn"):
        if name in parsers.get(group, {}):
            return parsers[group][name]
    return [t for t in all_texts.get(name, []) if not _is_generated(t, parsers)]


def _takes_nothing(function: Any) -> bool:
    """Whether a method in C has no parser because there is nothing to parse."""
    try:
        function(torch.ones(1), 1, 2, 3)
    except TypeError as error:
        return "takes no arguments" in str(error)
    except Exception:
        return False
    return False


def _is_generated(text: str, parsers: dict[str, Texts]) -> bool:
    name = text.partition("(")[0]
    return any(text in texts.get(name, []) for texts in parsers.values())


def _is_python(function: object) -> bool:
    return isinstance(function, types.FunctionType)


def _python(place: str, function: Any, known: set[str]) -> Iterator[str]:
    """A Python function's signature, and what it does in every call.

    Defaults that are no constants are ``unknown``. One that only chooses between two others by an
    argument has a line that says so, and theirs.
    """
    inside = inspect.getclosurevars(function).nonlocals
    if "if_false" in inside:
        yield f"{place} by {inside['arg_name']} {inside['arg_index']}"
        yield from _python(f"{place}?no", inside["if_false"], known)
        yield from _python(f"{place}?yes", inside["if_true"], known)
        return
    parameters = []
    for p in inspect.signature(function, follow_wrapped=False).parameters.values():
        constant = p.default is None or isinstance(p.default, bool | int | float | str)
        default = p.default if constant or p.default is inspect.Parameter.empty else UNKNOWN
        parameters.append(p.replace(annotation=inspect.Parameter.empty, default=default))
    steps = [
        s
        for s in BY_HAND.get(place) or steps_of(function)
        if "(" not in s or s.rpartition("}")[2].strip("~").partition("(")[0] in known
    ]
    definition = f"def {function.__qualname__}{inspect.Signature(parameters)}"
    yield f"{place} {'; '.join([definition, *steps])}"


def main() -> None:
    """Print the file."""
    print(
        "# How PyTorch 2.13's public functions read their arguments: each with its overloads in the"
    )
    print("# words of its parser, or, after `def`, the parameters of a function in Python.")
    print("# Printed by tests/compat/collect_signatures.py, which says where they come from.")
    print("\n".join(lines()))


if __name__ == "__main__":
    sys.exit(main())
