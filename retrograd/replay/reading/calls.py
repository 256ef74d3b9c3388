"""Calls in a step: which are followed into, which are leaves, which are done at each replay."""

from __future__ import annotations

import dataclasses
import functools
import os
import typing
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    GeneratorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any

from retrograd.autograd.function import Function
from retrograd.core import python_function
from retrograd.nn.module import Module
from retrograd.optim.lr_scheduler import LRScheduler
from retrograd.optim.optimizer import Optimizer
from retrograd.replay.reading.builtin import Builtins
from retrograd.replay.reading.definitions import Definition, FunctionNode, definition_of
from retrograd.replay.reading.frames import Frame, frame_of
from retrograd.replay.reading.guards import Access
from retrograd.replay.reading.surroundings import CALL_HOOKS, CONTAINERS, is_own
from retrograd.tensor import Tensor

# Rooms whose functions compute and leave nothing behind; of `nn` the parts named below.
LEAVES = frozenset(
    """
    ops autograd func linalg fft special distributions tensor tensors engine amp transforms sparse
    signal foreach return_types dtypes core symbolic functional init
    """.split()
)
# Parts of `nn` that are read like the user's own code, so that guards name what they use.
FOLLOWED = frozenset(
    """
    activation attention batchnorm channelshuffle container conv distance dropout flatten fold
    instancenorm linear loss normalization optimized padding parameter_container pixelshuffle
    pooling rnn_cells sparse transformer upsampling
    """.split()
)
LEAF_PARTS = FOLLOWED | frozenset(
    """
    functional init rnn recurrence recurrence_functions layer_steps adaptive parameter
    fractional_pooling cross_map_lrn linear_cross_entropy grad
    """.split()
)
MODULE_READS = frozenset(
    """
    parameters named_parameters buffers named_buffers children named_children modules
    named_modules get_parameter get_submodule get_buffer extra_repr
    """.split()
)
MODULE_CALLS = frozenset(["train", "eval", "zero_grad"])
CALLED = frozenset(
    """
    clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ manual_seed
    """.split()
)
# Functions that look at elements and are asked about tensors that stay, such as masks.
QUESTIONS = frozenset(["_is_causal"])
# Methods of tensors that tell elements, or where they lie.
ELEMENTS = frozenset(
    """
    tolist numpy __array__ __bool__ __index__ __complex__ equal allclose is_nonzero is_set_to
    data_ptr storage untyped_storage storage_offset __dlpack__ __reduce_ex__ __repr__ __str__
    __format__
    """.split()
)
_BUILTIN = (BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType)
_STANDARD = os.path.join(os.path.dirname(os.__file__), "")
_NEW: Any = object.__new__
_INIT: Any = object.__init__


class Calls(Builtins):
    """What calls functions for a step."""

    made: dict[int, tuple[Any, Definition, Frame, dict[str, Any]]]
    functions: dict[type, type]
    readers: dict[int, tuple[Any, Any]]  # functions of the library, with such of the user's in them

    def call(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frame: Frame
    ) -> Any:
        """``function(*args, **kwargs)``."""
        if self.refusal is not None:
            return self.plainly(function, args, kwargs, frame)
        if isinstance(function, MethodType):
            return self.call(function.__func__, (function.__self__, *args), kwargs, frame)
        if id(function) in self.made:
            return self._run_made(function, args, kwargs, frame)
        if type(function) is functools.partial:
            return self._call_partial(function, args, kwargs, frame)
        if isinstance(function, type):
            return self.construct(function, args, kwargs, frame)
        if isinstance(function, Module):
            return self._call_module(function, args, kwargs, frame)
        if isinstance(function, _BUILTIN):
            return self.builtin(function, args, kwargs, frame)
        if is_own(function):
            return self._call_own(function, args, kwargs, frame)
        if isinstance(function, FunctionType):
            return self.follow(function, args, kwargs, frame)
        if isinstance(vars(type(function)).get("__call__"), FunctionType):
            return self.call(self.attribute(function, "__call__", frame), args, kwargs, frame)
        self.refuse(f"a call of {type(function).__name__}, which is not known", frame)
        return self.plainly(function, args, kwargs, frame)

    def _call_partial(self, function: Any, args: Any, kwargs: Any, frame: Frame) -> Any:
        for name in ("func", "args", "keywords") if self.outside.source(function) else ():
            part = getattr(function, name)
            self.outside.found(
                function, Access.ATTRIBUTE, name, part, f"{self.path(function)}.{name}"
            )
            if isinstance(part, CONTAINERS):
                self.outside.contents(part)
        merged = {**function.keywords, **kwargs}
        return self.call(function.func, (*function.args, *args), merged, frame)

    # ------------------------------------------------------------------ functions with a text

    def follow(self, function: FunctionType, args: Any, kwargs: Any, frame: Frame) -> Any:
        """Read a Python function."""
        definition = definition_of(function)
        if function is typing.cast:
            return args[1]
        file = function.__code__.co_filename
        if file.startswith(_STANDARD) and "-packages" not in file:
            name = f"{function.__module__}.{function.__qualname__}"
            self.refuse(f"{name} is not known to leave nothing behind; call it outside", frame)
        elif isinstance(definition, str):
            self.refuse(definition, frame)
        elif (reason := definition.unread()) is not None:
            self.refuse(*reason[:1], frame, definition.file, reason[1])
        if self.refusal is not None or isinstance(definition, str):
            return self.plainly(function, args, kwargs, frame)
        self.outside.constant(function, function.__name__)
        self.outside.known(function, function.__name__)
        inner = frame_of(function, definition)
        defaults = self._defaults_of(function)
        return self._enter(inner, args, kwargs, defaults, frame)

    def _defaults_of(self, function: FunctionType) -> dict[str, Any]:
        """The values of the parameters that have one, read from outside."""
        code, given = function.__code__, function.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]
        found = {}
        for index, (name, value) in enumerate(zip(names, given, strict=True)):
            found[name] = self.outside.found(given, Access.INDEX, index, value, name)
        for name, value in (function.__kwdefaults__ or {}).items():
            found[name] = self.outside.found(function.__kwdefaults__, Access.KEY, name, value, name)
        return found

    def make_function(self, node: FunctionNode, name: str, frame: Frame) -> Any:
        """A function that the step defines: calling it reads it."""
        definition = Definition(node, frame.definition.file, name, frame.definition.owner)
        positional = [*node.args.posonlyargs, *node.args.args]
        with_default = positional[len(positional) - len(node.args.defaults) :]
        pairs = [*zip(with_default, node.args.defaults, strict=True)]
        pairs += [
            (argument, default)
            for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if default is not None
        ]
        defaults = {argument.arg: self.value(default, frame) for argument, default in pairs}

        def made(*args: Any, **kwargs: Any) -> Any:
            return self._run_made(made, args, kwargs, self.frame)

        made.__name__ = made.__qualname__ = name
        self.made[id(made)] = (made, definition, frame, defaults)
        return made

    def _run_made(self, function: Any, args: Any, kwargs: Any, frame: Frame) -> Any:
        _, definition, parent, defaults = self.made[id(function)]
        inner = Frame(definition, parent.globals, parent)
        if (reason := definition.unread()) is not None:
            self.refuse(reason[0], frame, definition.file, reason[1])
            raise NotImplementedError(reason[0])
        return self._enter(inner, args, kwargs, defaults, frame)

    def _enter(self, inner: Frame, args: Any, kwargs: Any, defaults: Any, frame: Frame) -> Any:
        inner.caller = frame
        bound = inner.definition.binder(*args, **kwargs)
        inner.locals = {
            name: defaults[name] if value is Definition.UNGIVEN else value
            for name, value in bound.items()
        }
        before, self.frame = self.frame, inner
        try:
            return self.run(inner)
        finally:
            self.frame = before

    # ------------------------------------------------------------------ modules

    def _call_module(self, module: Module, args: Any, kwargs: Any, frame: Frame) -> Any:
        own = vars(module)
        kind = type(module)
        if kind.__call__ is not Module.__call__:
            return self.call(self.attribute(module, "__call__", frame), args, kwargs, frame)
        path = self.path(module)
        if self.outside.source(module) is not None:
            own = self.outside.space(module)
            for name in CALL_HOOKS:
                table = self.outside.found(own, Access.KEY, name, own[name], f"{path}.{name}")
                self.outside.contents(table)
        if any(own[name] for name in CALL_HOOKS):
            self.refuse(f"{path} has hooks; call what they do in the step", frame)
            return self.plainly(module, args, kwargs, frame)
        return self.call(self.attribute(module, "forward", frame), args, kwargs, frame)

    # ------------------------------------------------------------------ the library's functions

    def _call_own(self, function: Any, args: Any, kwargs: Any, frame: Frame) -> Any:
        python = python_function(function)
        name = getattr(python, "__name__", type(function).__name__)
        first: Any = args[0] if args else None
        if (
            isinstance(first, Tensor)
            and name in ("item", "__float__", "__int__")
            and len(args) == 1
        ):
            return self.number(first, frame)
        if name in ELEMENTS and isinstance(first, Tensor):
            self.refuse(f"elements of a tensor are read ({name}); return the tensor instead", frame)
        elif isinstance(first, Optimizer | LRScheduler):
            if name in ("step", "zero_grad") and not _has_function((*args[1:], *kwargs.values())):
                return self._done_for_real(function, args, kwargs, frame)
            self.refuse(f"{type(first).__name__}.{name} is not part of a step that repeats", frame)
        elif isinstance(first, Module) and (result := self._method(function, args, kwargs, frame)):
            return result[0]
        elif name in QUESTIONS and all(map(self.outside.is_fixed, filter(_is_tensor, args))):
            for tensor in filter(_is_tensor, args):
                self.outside.unwritten(tensor)
            return self.plainly(self.recorder.question, (function, args, kwargs), {}, frame)
        elif name in CALLED or (hasattr(function, "_wrapped_by_lr_sched") and not args):
            return self._done_for_real(function, args, kwargs, frame)
        elif name == "register_hook" and self.outside.source(first) is not None:
            self.refuse("a hook is put on a tensor from outside at each call", frame)
        elif python is vars(Function)["apply"].__func__:
            return self.leaf(
                function, (self._read_function(first, frame), *args[1:]), kwargs, frame
            )
        elif name == "decorated" and isinstance(python, FunctionType):
            return self.follow(python, args, kwargs, frame)  # by no_grad and its kin
        elif _room(python) in LEAVES | LEAF_PARTS or _room(python) == "" or _is_checkpoint(python):
            if name == "requires_grad_" and self.outside.source(first) is not None:
                if first.requires_grad != (args[1:] or (kwargs.get("requires_grad", True),))[0]:
                    self.refuse("requires_grad of a tensor from outside is changed", frame)
            return self.leaf(self._with_readers(function, frame), args, kwargs, frame)
        if self.refusal is None:
            self.refuse(f"{name} is not part of a step that repeats; call it outside", frame)
        return self.plainly(function, args, kwargs, frame)

    def _method(self, function: Any, args: Any, kwargs: Any, frame: Frame) -> tuple[Any] | None:
        """The result of a method of a module, in a tuple; None if that may not be called."""
        module, python = args[0], python_function(function)
        name = python.__name__
        part = _part(python)
        if part in FOLLOWED and isinstance(python, FunctionType):
            if (
                isinstance(definition := definition_of(python), Definition)
                and not definition.unread()
            ):
                return (self.follow(python, args, kwargs, frame),)
        if name in MODULE_READS:
            self.outside.tree(module)
            return (python(*args, **kwargs),)
        if part in LEAF_PARTS:
            return (self.leaf(function, args, kwargs, frame),)
        if name in MODULE_CALLS:
            result = self._done_for_real(function, args, kwargs, frame)
            for inner in module.modules() if name != "zero_grad" else ():
                self.wrote(vars(inner), "training", frame)
            return (result,)
        if _room(python) in LEAVES:
            return (self.leaf(self._with_readers(function, frame), args, kwargs, frame),)
        return None

    def _done_for_real(self, function: Any, args: Any, kwargs: Any, frame: Frame) -> Any:
        """A call that every replay does again, because it has a state of its own."""
        if self.inside:
            self.refuse(f"{function.__name__} is called inside of another operation", frame)
            return self.plainly(function, args, kwargs, frame)
        self.ran_backward = True
        args = tuple(list(a) if isinstance(a, GeneratorType) else a for a in args)
        self._no_numbers((args, kwargs), frame)
        if args and isinstance(args[0], Optimizer | LRScheduler | Module):
            function, args = MethodType(function, args[0]), args[1:]
        result = self.in_call(self.recorder.call, function, args, kwargs, frame)
        if not (result is None or isinstance(result, Tensor | Module)):
            if type(result).__name__ != "Generator":
                self.refuse(f"the result of {function.__name__} may differ at each call", frame)
        return result

    def leaf(self, function: Any, args: Any, kwargs: Any, frame: Frame) -> Any:
        """Call a function of the library, as part of the recording."""
        if self.refusal is not None:
            return self.plainly(function, args, kwargs, frame)
        name = getattr(function, "__name__", type(function).__name__)
        self.ran_backward = self.ran_backward or "backward" in name
        args = tuple(self._for_leaf(part, frame) for part in args)
        kwargs = {key: self._for_leaf(part, frame) for key, part in kwargs.items()}
        self._no_numbers((args, kwargs), frame)
        for part in (*args, *kwargs.values()):
            self.outside.reach(part, name)
        if self.refusal is not None:
            return self.plainly(function, args, kwargs, frame)
        if self.inside:
            return self.plainly(function, args, kwargs, frame)
        return self.in_call(self.recorder.leaf, function, args, kwargs, frame)

    def _no_numbers(self, parts: Any, frame: Frame) -> None:
        if id(parts) in self.numbers:
            self.refuse("a number from a tensor goes into an operation; give it the tensor", frame)
        elif type(parts) in CONTAINERS:
            for part in parts.values() if type(parts) is dict else parts:
                self._no_numbers(part, frame)

    def number(self, tensor: Tensor, frame: Frame) -> Any:
        """The number in a tensor, which may be returned and stored and nothing else."""
        if self.inside:
            self.refuse("a number is read from a tensor inside of another operation", frame)
        if self.refusal is not None:
            return tensor.item()
        read = self.plainly(self.recorder.item, (tensor,), {}, frame)
        value = getattr(read, "value", read)
        if type(value) is float:
            self.numbers[id(value)] = read
        elif read is not value:
            self.refuse(f"item() gives a {type(value).__name__}; return the tensor instead", frame)
        return value

    # ------------------------------------------------------------------ functions given to leaves

    def _for_leaf(self, value: Any, frame: Frame) -> Any:
        """An argument as the library gets it: functions of the user's are read when called."""
        if isinstance(value, GeneratorType):
            return list(value)
        if isinstance(value, FunctionType | MethodType) and id(value) not in self.made:
            return self._with_readers(value, frame)
        return value

    def _with_readers(self, function: Any, frame: Frame) -> Any:
        """A function of the user's that is read when called; of the library's, with such in it."""
        if isinstance(function, MethodType) and not is_own(function):
            return functools.partial(
                self._with_readers(function.__func__, frame), function.__self__
            )
        if not isinstance(function, FunctionType) or id(function) in self.made:
            return function
        if id(function) in self.readers:
            return self.readers[id(function)][1]
        if not is_own(function):
            self.outside.constant(function, function.__name__)
            return self._reader_of(function)
        self.readers[id(function)] = (function, function)  # it may be in one of its own cells
        changed = self._own_with_readers(function, frame)
        self.readers[id(function)] = (function, changed)  # both stay: the number is of one alive
        return changed

    def _own_with_readers(self, function: FunctionType, frame: Frame) -> Any:
        cells = function.__closure__ or ()
        changed = [self._cell_with_readers(cell, function.__name__, frame) for cell in cells]
        if all(new is old for new, old in zip(changed, cells, strict=True)):
            return function
        code, space, name = function.__code__, function.__globals__, function.__name__
        made = FunctionType(code, space, name, function.__defaults__, tuple(changed))
        made.__kwdefaults__ = function.__kwdefaults__
        return made

    def _cell_with_readers(self, cell: CellType, name: str, frame: Frame) -> CellType:
        value = cell.cell_contents
        if isinstance(value, FunctionType):
            inner = self._with_readers(value, frame)
        elif isinstance(value, Tensor | Module) or not (self.outside.stays(value) or is_own(value)):
            inner = value
            self.outside.reach(self.outside.found(cell, Access.CELL, None, value, name), name)
        else:
            return cell  # the library's, as it was defined
        return cell if inner is value else CellType(inner)

    def _reader_of(self, function: FunctionType) -> Any:
        @functools.wraps(function)
        def read(*args: Any, **kwargs: Any) -> Any:
            return self.call(function, args, kwargs, self.frame)

        self.readers[id(read)] = (read, read)  # it needs no other
        return read

    def _read_function(self, kind: Any, frame: Frame) -> Any:
        """A subclass of a user's `autograd.Function` whose parts are read when they run."""
        if kind in self.functions:
            return self.functions[kind]
        space: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
        for name in ("forward", "backward", "setup_context", "jvp", "vjp", "vmap"):
            raw = self.outside.attribute_of_class(kind, name, f"{kind.__name__}.{name}")
            inner = getattr(raw, "__func__", raw)
            if isinstance(inner, FunctionType) and not is_own(inner):
                self.outside.constant(inner, name)
                read = self._reader_of(inner)
                space[name] = staticmethod(read) if isinstance(raw, staticmethod) else read
        self.functions[kind] = type(kind)(kind.__name__, (kind,), space)
        return self.functions[kind]

    # ------------------------------------------------------------------ making objects

    def construct(self, kind: Any, args: Any, kwargs: Any, frame: Frame) -> Any:
        """``kind(*args, **kwargs)`` of a class."""
        if kind.__module__ in ("builtins", "collections", "itertools", "contextlib"):
            return self.builtin(kind, args, kwargs, frame)
        if is_own(kind):
            room = kind.__module__.split(".")[1:2]
            layer = room == ["nn"] and issubclass(kind, Module)
            if (layer or LEAVES.intersection(room)) and kind.__name__ != "Generator":
                return self.leaf(kind, args, kwargs, frame)
        elif issubclass(kind, BaseException) or kind is functools.partial:
            return kind(*args, **kwargs)
        elif issubclass(kind, Tensor | Module):
            self.refuse(f"a {kind.__name__} is made at each call; make it before the step", frame)
        elif self._is_plain_class(kind):
            return kind(*args, **kwargs)
        elif type(kind) is type and kind.__new__ is _NEW:
            if isinstance(getattr(kind, "__init__"), FunctionType):  # noqa: B009
                raw = self.outside.attribute_of_class(kind, "__init__", f"{kind.__name__}()")
                made: Any = object.__new__(kind)
                self.call(raw, (made, *args), kwargs, frame)
                return made
        if self.refusal is None:
            self.refuse(f"making a {kind.__name__} is not part of a step that repeats", frame)
        return self.plainly(kind, args, kwargs, frame)

    def _is_plain_class(self, kind: Any) -> bool:
        """Whether a class only holds fields: a named tuple, a dataclass, one without `__init__`."""
        if issubclass(kind, tuple):
            return hasattr(kind, "_fields") and kind.__base__ is tuple
        own: Any = (getattr(kind, "__new__"), getattr(kind, "__init__"))  # noqa: B009
        if type(kind) is not type or own[0] is not _NEW:
            return False
        if dataclasses.is_dataclass(kind) and not hasattr(kind, "__post_init__"):
            known = (dataclasses.MISSING, list, dict, set, tuple)
            generated = own[1].__code__.co_filename == "<string>"
            return generated and all(f.default_factory in known for f in dataclasses.fields(kind))
        return own[1] is _INIT


def _room(function: Any) -> str:
    """The room of the library that a function is defined in; of `nn` the part."""
    space = getattr(function, "__globals__", None)
    name = space["__name__"] if space else getattr(function, "__module__", None) or ""
    parts = str(name).split(".")[1:]
    return "" if not parts else parts[1] if parts[0] == "nn" and len(parts) > 1 else parts[0]


def _part(function: Any) -> str:
    """The file of `nn` that a function is defined in; empty for other rooms."""
    parts = str(getattr(function, "__globals__", {}).get("__name__", "")).split(".")
    return parts[2] if parts[:2] == ["retrograd", "nn"] and len(parts) == 3 else ""


def _is_checkpoint(function: Any) -> bool:
    return getattr(function, "__name__", "") == "checkpoint" and _room(function) == "utils"


def _is_tensor(value: object) -> bool:
    return isinstance(value, Tensor)


def _has_function(parts: Any) -> bool:
    return any(callable(part) for part in parts)
