"""What PyTorch's argument parser would have said to a call that has failed.

A function of an op meets a wrong argument wherever it first uses it, and the error there names what
only the inside knows. So when a call fails, its arguments are read once more as PyTorch reads them,
by the function's signature. If the signature does not take them, the error is PyTorch's. If it
does, the mistake is in what the arguments say, and the error that was raised is the right one.

>>> import retrograd as torch
>>> torch.add([1.0], torch.ones(1))
Traceback (most recent call last):
TypeError: add(): argument 'input' (position 1) must be Tensor, not list
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

from retrograd.ops.calling import signature_table as table
from retrograd.ops.calling.signature_table import Entry, Parameter, Signature, Step, entry
from retrograd.ops.registry import PUBLIC
from retrograd.tensor import Tensor

Options = dict[str, Any]


def refused(
    place: str, args: tuple[Any, ...], options: Options, error: Exception
) -> Exception | tuple[object]:
    """The error for a call that failed: PyTorch's where the arguments do not fit, or the same.

    Where PyTorch takes names for them that the function does not know, the result in a tuple.

    place  where it is found: ``torch.add``, or ``Tensor.add``, whose first argument is the tensor
    """
    try:
        known = chosen(place, args, options)
    except (RuntimeError, ValueError) as other:
        return other
    if known is not None and known.overloads and _is_about_places(error):
        meant = _renamed(known, place, args, options)
        if meant is not None:
            try:
                return (_function_at(place)(*meant[0], **meant[1]),)
            except Exception as other:
                return other
    if known is not None and known.python and _is_own(error):
        return error  # it has read the values, by which PyTorch's function chooses what it calls
    if known is not None:
        found = refusal(known, place, args, options)
        if found is None and known.overloads:
            given = args[1:] if place.startswith("Tensor.") else args
            found = _wrong_item(known, given, options)
        if found is not None:
            return found
    if isinstance(error, AttributeError) and str(error.name).startswith("_"):
        return _inner(place, args, options, error)
    return error


def _is_about_places(error: Exception) -> bool:
    """Whether Python has not found the parameters of a function for the arguments of a call."""
    text = str(error)
    return isinstance(error, TypeError) and (
        "unexpected keyword argument" in text
        or "multiple values for argument" in text
        or "positional argument" in text
    )


def _renamed(
    known: Entry, place: str, args: tuple[Any, ...], options: Options
) -> tuple[list[Any], Options] | None:
    """The same arguments under other names; None where no overload takes them, or none changes.

    PyTorch takes NumPy's names for some parameters, such as ``axis``: they become PyTorch's own.
    Where there are none of these, the function here has other names than PyTorch's: then the
    arguments come by place as far as they can. Numbers that stand for a list become one.
    """
    own = list(args[: place.startswith("Tensor.")])
    given = args[len(own) :]
    try:
        found = next((s for s in known.overloads if _problem(s, given, options) is None), None)
    except _NotTensors:
        return None
    if found is None:
        return None
    if found.takes_numbers and given:  # as in ``x.squeeze(0, 1)``
        alone = len(given) > 1 and not options
        return ([*own, tuple(given)], {}) if alone else None
    firsts = {o: p.name for p in found.parameters for o in table.OTHER_NAMES.get(p.name, ())}
    if any(name in firsts for name in options):
        return [*own, *given], {firsts.get(name, name): x for name, x in options.items()}
    by_place, by_name = [*own, *given], {}
    in_order = True
    for p in found.parameters[len(given) :]:
        in_order = in_order and p.name in options and not p.by_name
        if in_order:
            by_place.append(options[p.name])
        elif p.name in options:
            by_name[p.name] = options[p.name]
    return None if by_name == options else (by_place, by_name)


def _function_at(place: str) -> Callable[..., object]:
    """The public function of a place."""
    space, _, name = place.rpartition(".")
    function: Callable[..., object] = (
        getattr(Tensor, name) if space == "Tensor" else PUBLIC[space][name]
    )
    return function


def _is_own(error: Exception) -> bool:
    """Whether a function has refused values, and not the types that it does not know."""
    return isinstance(error, RuntimeError) and not isinstance(error, NotImplementedError)


def _inner(place: str, args: tuple[Any, ...], options: Options, error: AttributeError) -> Exception:
    """The error for a value that was used like a tensor, by an attribute that is not public."""
    kind = table.type_name(error.obj)
    function = place.rpartition(".")[2]
    by_place = [n for n, value in enumerate(args) if value is error.obj]
    by_name = [name for name, value in options.items() if value is error.obj]
    number = by_place[0] + (not place.startswith("Tensor.")) if by_place else 0
    which = f"argument '{by_name[0]}'" if by_name else f"argument {number or 'given'}"
    return TypeError(f"{function}(): {which} must be Tensor, not {kind}")


def takes(place: str, args: tuple[Any, ...], options: Options) -> bool | Exception | None:
    """Whether a function takes arguments of these types, asked before they are used.

    The error where it does not; None where it has no signature to ask; False where it takes them
    because of their values, so that the next of the same types must be looked at again.
    """
    try:
        known = chosen(place, args, options)
    except (RuntimeError, ValueError) as error:  # what chooses is neither true nor false
        return error
    if known is None or not (known.overloads or any(s.place and s.certain for s in known.steps)):
        return None
    if known.python:
        return _takes_python(known, args, options)
    found = refusal(known, place, args, options)
    if found is not None:
        return found
    return not _by_value(known, args[1:] if place.startswith("Tensor.") else args, options)


def _by_value(known: Entry, given: Sequence[Any], options: Options) -> bool:
    """Whether a tensor was taken for a number, which depends on what is in it."""
    tensors = ("Tensor", "TensorList", "PyObject*")
    _, pairs = _fitting(known, given, options)
    return any(isinstance(value, Tensor) and p.kind not in tensors for p, value in pairs)


def _fitting(
    known: Entry, given: Sequence[Any], options: Options
) -> tuple[Signature, list[tuple[Parameter, Any]]]:
    """The overload that takes the arguments, and which parameter has which."""
    found = next(s for s in known.overloads if _problem(s, given, options) is None)
    if found.takes_numbers and given and not isinstance(given[0], (list, tuple)):
        given = [tuple(given)]
    by_name = {p.name: p for p in found.parameters}
    pairs = [*zip(found.parameters, given, strict=False)]
    return found, pairs + [(by_name[n], value) for n, value in options.items() if n in by_name]


def _wrong_item(known: Entry, given: Sequence[Any], options: Options) -> Exception | None:
    """The error for a list of sizes whose first element alone is a number: it fits by that."""
    signature, pairs = _fitting(known, given, options)
    for p, values in pairs:
        if not p.kind.endswith("IntArrayRef") or not isinstance(values, (list, tuple)):
            continue
        for number, value in enumerate(values[1:], 2):
            if isinstance(value, bool) or table.is_index(value):
                continue
            return TypeError(
                f"{signature.name}(): argument '{p.name}' failed to unpack the object at pos "
                f'{number} with error "type must be {p.type_name},but got {table.type_name(value)}"'
            )
    return None


def refusal(known: Entry, place: str, args: Sequence[Any], options: Options) -> Exception | None:
    """The error for arguments that do not fit; None if they do."""
    if known.python:
        return _python_refusal(known, args, options)
    given = args[1:] if place.startswith("Tensor.") else args
    if known.takes_nothing:
        message = _nothing_refusal(known.takes_nothing, given, options)
    else:
        message = parsed(known.overloads, given, options)
    return None if message is None else TypeError(message)


def parsed(signatures: Sequence[Signature], given: Sequence[Any], options: Options) -> str | None:
    """What the parser of these overloads says to arguments; None where one takes them."""
    try:
        if any(_problem(signature, given, options) is None for signature in signatures):
            return None
    except _NotTensors as error:
        return str(error)
    if len(signatures) == 1:
        return _problem(signatures[0], given, options)
    count = len(given) + len(options)
    fitting = [s for s in signatures if not s.hidden and s.least <= count <= len(s.parameters)]
    if len(fitting) == 1:
        return _problem(fitting[0], given, options)
    return _none_fits(signatures, given, options)


def _nothing_refusal(name: str, given: Sequence[object], options: Options) -> str | None:
    if options:
        return f"TensorBase.{name}() takes no keyword arguments"
    return f"TensorBase.{name}() takes no arguments ({len(given)} given)" if given else None


# --------------------------------------------------------------------------- functions in Python


def _python_refusal(known: Entry, args: Sequence[Any], options: Options) -> Exception | None:
    """What Python says to the call of a function with this signature, or the first step in it."""
    try:
        values = _function(known.python)(*args, **options)
    except TypeError as error:
        return TypeError(str(error))
    given = {*_names(known.python)[: len(args)], *options}
    meant = {n: value if n in given else table.UNKNOWN for n, value in values.items()}
    for step in known.steps:
        try:
            if not _is_taken(step, values):
                continue
        except (RuntimeError, ValueError) as error:  # neither true nor false
            return error
        if step.comparison:
            if (order := _compared(step, values)) is not None:
                return order if isinstance(order, Exception) else None
            continue
        if step.attribute:
            value = values[step.parameter]
            found = _without(value, step.attribute) if step.certain or value is not None else None
        else:
            called, passed, named = _passed_on(step, values if step.certain else meant)
            found = None if called is None else refusal(called, "", passed, named)
        if found is not None:
            return found
    return None


def chosen(place: str, args: Sequence[Any], options: Options) -> Entry | None:
    """What is known of a function; of one that chooses between two by an argument, of that one."""
    known = entry(place)
    while known is not None and known.flag:
        given = args[known.number] if known.number < len(args) else False
        value = options.get(known.flag, given)
        is_on = value is not table.UNKNOWN and bool(value)
        place = f"{place}?{'yes' if is_on else 'no'}"
        known = entry(place)
    return known


def _without(value: object, attribute: str) -> Exception | None:
    """What Python says where a value that is no tensor has no such attribute."""
    if value is table.UNKNOWN or table.is_tensor(value) or hasattr(value, attribute):
        return None
    if isinstance(value, type):
        return AttributeError(f"type object '{value.__name__}' has no attribute '{attribute}'")
    return AttributeError(f"'{table.type_name(value)}' object has no attribute '{attribute}'")


def _takes_python(known: Entry, args: tuple[Any, ...], options: Options) -> bool | Exception:
    """The same as `takes` of a function in Python: of what it certainly passes its arguments to."""
    try:
        values = _function(known.python)(*args, **options)
    except TypeError as error:
        return TypeError(str(error))
    by_value = False
    for step in known.steps:
        if any(_is_vague(values[c.strip("!")]) for c in step.conditions if " " not in c):
            break
        if not _is_taken(step, values):
            continue
        if step.comparison:
            if (order := _compared(step, values)) is not None:
                return order if isinstance(order, Exception) else False
            continue
        if step.attribute:
            if _without(values[step.parameter], step.attribute) is not None:
                break
            continue
        if not step.certain:
            break
        called, given, named = _passed_on(step, values)
        if called is None:
            continue
        if called.python:
            answer = _takes_python(called, tuple(given), named)
            if isinstance(answer, Exception):
                return answer
            by_value = by_value or not answer
            continue
        message = parsed(called.overloads, given, named)
        if message is not None:
            return TypeError(message)
        by_value = by_value or _by_value(called, given, named)
    return not by_value


def _is_taken(step: Step, values: Options) -> bool:
    """Whether the conditions of a step are met."""
    for condition in step.conditions:
        name, _, given = condition.removeprefix("!").partition(" ")
        value = values[name]
        if value is table.UNKNOWN:
            return False
        met = (value is not None if given == "is" else _is_of(value, given)) if given else value
        met = bool(met)
        if met is condition.startswith("!"):
            return False
    return True


def _is_of(value: object, kind: str) -> bool:
    """Whether a value is of the type of this name."""
    kinds: dict[str, type] = {"int": int, "str": str, "Tensor": Tensor}
    return isinstance(value, kinds[kind])


_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def _compared(step: Step, values: Options) -> Exception | bool | None:
    """What becomes of a comparison after which a function raises: its own error, or none.

    True where the function will raise by itself.
    """
    left, order, right = step.comparison
    pair = [values[word] if word in values else float(word) for word in (left, right)]
    if any(
        value is table.UNKNOWN or (isinstance(value, Tensor) and value._array.size == 1)
        for value in pair
    ):
        return None  # of one element: nothing is computed here, where a mode could see it
    try:
        return bool(_ORDERS[order](*pair)) or None
    except (TypeError, ValueError, RuntimeError) as error:
        return error


def _is_vague(value: object) -> bool:
    """Whether it takes a look at its elements to say if a value is true."""
    return isinstance(value, Tensor) or not isinstance(value, (bool, int, float, str, NoneType))


def _passed_on(step: Step, values: Options) -> tuple[Entry | None, list[Any], Options]:
    """The function that a step calls, and the arguments as far as they are known."""
    if not step.certain:  # what is None may never come there
        values = {n: table.UNKNOWN if v is None else v for n, v in values.items()}
    given = [_worth(word, values) for word in step.args]
    named = {name: _worth(word, values) for name, word in step.options}
    return chosen(step.place, given, named) if step.place else None, given, named


def _worth(word: str, values: Options) -> Any:
    if word.endswith("|?"):
        value = values[word.removesuffix("|?")]
        return table.UNKNOWN if value is None else value
    if word == "?":
        return table.UNKNOWN
    return values[word] if word in values else ast.literal_eval(word)


def _names(signature: str) -> list[str]:
    """The names of the parameters, those that may be given by place first."""
    return list(inspect.signature(_function(signature)).parameters)


@functools.cache
def _function(signature: str) -> Callable[..., Options]:
    """A function with this signature that gives the values of its parameters."""
    name, _, parameters = signature.partition("(")
    scope: dict[str, Any] = {"unknown": table.UNKNOWN, "inf": math.inf}
    exec(f"def function({parameters}: return locals()", scope)
    function: Callable[..., Options] = scope["function"]
    function.__name__ = name.rpartition(".")[2]
    function.__qualname__ = name
    return function


# ----------------------------------------------------------------------------------- one overload


class _NotTensors(Exception):
    """A list with something else than tensors: here PyTorch tries no other overload."""

    def __init__(self, number: int, values: Sequence[object]) -> None:
        wrong = next(n for n, item in enumerate(values) if not table.is_tensor(item))
        found = table.type_name(values[wrong])
        super().__init__(
            f"expected Tensor as element {wrong} in argument {number}, but got {found}"
        )


def _problem(signature: Signature, args: Sequence[Any], options: Options) -> str | None:
    """Why an overload does not take the arguments; None if it does."""
    name, parameters = signature.name, signature.parameters
    if len(args) > signature.positional and not signature.takes_numbers:
        return _too_many(signature, len(args))
    place = named = 0
    for number, p in enumerate(parameters):
        by_name = place >= len(args)
        if not by_name:
            if p.by_name:
                return _too_many(signature, len(args))
            value: Any = args[place]
        else:
            key = next(
                (n for n in (p.name, *table.OTHER_NAMES.get(p.name, ())) if n in options), ""
            )
            if not key:
                if p.default is None:
                    return _missing(signature, number)
                continue
            value = options[key]
            named += 1
        many = not by_name and signature.takes_numbers and len(args) > 1  # numbers for a list
        if not p.takes(value, name) or (many and value is table.UNKNOWN):
            if p.kind == "TensorList" and isinstance(value, (list, tuple)):
                raise _NotTensors(number, value)
            if number == 0 and not by_name and signature.takes_numbers:
                if p.takes(tuple(args), name):
                    place = len(args)
                    continue
                if len(args) > 1:
                    return _too_many(signature, len(args))
            return _wrong_type(signature, p, value, None if by_name else place)
        place += not by_name
    return _unknown(signature, args, options) if named < len(options) else None


def _too_many(signature: Signature, count: int) -> str:
    least, most = signature.least, signature.positional
    if least != most:
        return (
            f"{signature.name}() takes from {least} to {most} positional arguments but {count} "
            "were given"
        )
    return (
        f"{signature.name}() takes {most} positional argument{'' if most == 1 else 's'} but "
        f"{count} {'was' if count == 1 else 'were'} given"
    )


def _missing(signature: Signature, start: int) -> str:
    names = [f'"{p.name}"' for p in signature.parameters[start:] if p.default is None]
    plural = "s" if len(names) == 1 else ""  # the other way round, as PyTorch has it
    return (
        f"{signature.name}() missing {len(names)} required positional argument{plural}: "
        f"{', '.join(names)}"
    )


def _wrong_type(signature: Signature, p: Parameter, value: Any, place: int | None) -> str:
    where = "" if place is None else f" (position {place + 1})"
    start = f"{signature.name}(): argument '{p.name}'{where} must be {p.type_name}, "
    index = p.wrong_item(value) if place is not None else None
    if index is None:
        return f"{start}not {table.type_name(value)}"
    return f"{start}but found element of type {table.type_name(value[index])} at pos {index}"


def _unknown(signature: Signature, args: Sequence[Any], options: Options) -> str:
    names = [p.name for p in signature.parameters]
    for name in options:
        if name not in names:
            return f"{signature.name}() got an unexpected keyword argument '{name}'"
        if names.index(name) < len(args):
            return f"{signature.name}() got multiple values for argument '{name}'"
    return "invalid keyword arguments"


# ---------------------------------------------------------------------------------- all overloads


def _none_fits(signatures: Sequence[Signature], args: Sequence[Any], options: Options) -> str:
    """The message where several overloads could have been meant."""
    options = dict(reversed(options.items()))  # its hash map has the last one first, mostly
    start = f"{signatures[0].name}() received an invalid combination of arguments - "
    shown = [str(s) for s in signatures if not s.hidden]
    if len(shown) == 1:
        unmatched = _unmatched(shown[0], options)
        if unmatched:
            return f"{start}got unrecognized keyword arguments: {', '.join(unmatched)}"
        return f"{start}got {_given(shown[0], args, options)}, but expected {shown[0]}"
    lines = [f"{start}got {table.type_names(args, options)}, but expected one of:"]
    for text in shown:
        lines.append(f" * {text}")
        if len(args) + len(options) != len(_parts(text)):
            continue
        unmatched = _unmatched(text, options)
        if unmatched:
            why = f"some of the keywords were incorrect: {', '.join(unmatched)}"
        else:
            given = _given(text, args, options)
            why = f"some of the arguments have invalid types: {given}"
        lines.append(f"      didn't match because {why}")
    return "\n".join(lines) + "\n"


# PyTorch reads the text of an overload again for this, in a simple way: what stands before the last
# space is the type, so a parameter with a default has a name such as "None", which nothing matches.


def _parts(text: str) -> list[tuple[str, str]]:
    """The types and names in the text of an overload."""
    return [(kind, name) for kind, _, name in (p.rpartition(" ") for p in text[1:-1].split(", "))]


def _unmatched(text: str, options: Options) -> list[str]:
    parts = _parts(text)
    names = {name for _, name in parts[max(0, len(parts) - len(options)) :]}
    return [name for name in options if name not in names]


def _given(text: str, args: Sequence[Any], options: Options) -> str:
    """The arguments' types; where their number fits, those that do not match are marked."""
    parts = _parts(text)
    if len(parts) != len(args) + len(options):
        return table.type_names(args, options)
    found = []
    for number, (kind, name) in enumerate(parts):
        by_name = number >= len(args)
        value = options[name] if by_name else args[number]
        own = table.type_name(value)
        if isinstance(value, (list, tuple)):
            inside = ", ".join(map(table.type_name, value))
            comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
            brackets = "()" if isinstance(value, tuple) else "[]"
            own = f"{own} of {brackets[0]}{inside}{comma}{brackets[1]}"
        own = f"{name}={own}" if by_name else own
        fits = {"float": ("float", "int"), "int": ("int",)}.get(kind, (kind,))
        found.append(own if table.type_name(value) in fits else f"!{own}!")
    return f"({', '.join(found)}{'' if args else ', '})"
