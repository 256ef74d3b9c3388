"""Attributes, items and iteration: how a step reaches into objects, and what it writes there."""

from __future__ import annotations

import enum
import operator
from collections.abc import Iterator
from types import (
    BuiltinFunctionType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

from retrograd import dtypes
from retrograd.nn.module import Module
from retrograd.replay.reading.effects import Outside, Unfit, leaving
from retrograd.replay.reading.frames import Frame
from retrograd.replay.reading.guards import Access, Test, facts, is_plain
from retrograd.replay.reading.protocol import Base
from retrograd.replay.reading.surroundings import (
    CONTAINERS,
    SEQUENCES,
    TABLES,
    Surroundings,
    dictionary,
    is_own,
)
from retrograd.tensor import Tensor

# Iterators of Python's own over things that were guarded when the iterator was made.
_METHODS = (staticmethod, classmethod, MemberDescriptorType)
_ITERATORS = (zip, enumerate, reversed, map, filter, range, GeneratorType)


class Attributes(Base):
    """What reads and writes attributes and items."""

    outside: Surroundings

    def is_constant(self, value: Any) -> bool:
        """Whether a value has no parts that could change: a dtype, a class, a function."""
        kinds = (type, ModuleType, BuiltinFunctionType, FunctionType, dtypes.dtype, enum.Enum)
        return isinstance(value, kinds) or type(value).__module__ == "retrograd.tensor.size"

    # ------------------------------------------------------------------ attributes

    def attribute(self, holder: Any, name: str, frame: Frame) -> Any:
        """``holder.name``."""
        known = self.outside.source(holder)
        if isinstance(holder, Tensor):
            return self._of_tensor(holder, name, frame)
        if isinstance(holder, super):
            return self._of_super(holder, name, frame)
        if isinstance(holder, ModuleType):
            return self._of_module(holder, name, frame)
        if isinstance(holder, type):
            return self._of_class(holder, name, frame)
        if is_plain(holder) or isinstance(holder, CONTAINERS) or self.is_constant(holder):
            if id(holder) in self.numbers:
                self.refuse("a number from a tensor decides more than the result", frame)
            if known is not None and isinstance(getattr(type(holder), name, None), property):
                self.outside.contents(holder)
            return getattr(holder, name)  # a method of Python's, a constant, a field of a tuple
        if known is None and is_own(holder):
            return self._made_by_library(holder, name, frame)
        return self._of_object(holder, name, frame, known is not None)

    def _of_tensor(self, tensor: Tensor, name: str, frame: Frame) -> Any:
        if name in tensor.__dict__ and self.outside.source(tensor) is not None:
            return self.outside.found(
                self.outside.space(tensor),
                Access.KEY,
                name,
                tensor.__dict__[name],
                f"a tensor's {name}",
            )
        kind = getattr(type(tensor), name, None)
        if name in ("_version", "__array_interface__", "__cuda_array_interface__"):
            self.refuse(f"{name} of a tensor changes from call to call", frame)
        if kind is None or not isinstance(kind, property):
            return getattr(tensor, name)  # a method, or an attribute of the class
        found = self.leaf(getattr, (tensor, name), {}, frame)
        known = self.outside.source(tensor)
        if name == "grad" and known is not None and self.refusal is None:
            if found is None or not self.ran_backward:
                expected = None if found is None else facts(found)
                self.outside.guards.add(
                    Access.SELF, Test.GRAD, known[0], None, expected, f"{known[1]}.grad"
                )
            if found is not None:
                self.recorder.adopt(found)
        return found

    def _of_module(self, module: ModuleType, name: str, frame: Frame) -> Any:
        found = getattr(module, name)
        space = vars(module)
        path = f"{module.__name__}.{name}"
        if name in space:
            return self.outside.found(space, Access.KEY, name, found, path)
        if not module.__name__.startswith("retrograd"):
            self.refuse(f"{path} is computed by the module's __getattr__", frame)
        return found

    def _of_class(self, kind: type, name: str, frame: Frame) -> Any:
        found = getattr(kind, name)
        if is_own(kind) or isinstance(found, enum.Enum):
            return found
        if kind.__module__ == "builtins":
            return found
        raw = self.outside.attribute_of_class(kind, name, f"{kind.__name__}.{name}")
        if raw is ... and not hasattr(type, name):
            self.refuse(f"{kind.__name__}.{name} comes from a metaclass", frame)
        elif not isinstance(raw, staticmethod | classmethod | FunctionType) and raw is not found:
            self.refuse(f"{kind.__name__}.{name} is computed by a descriptor", frame)
        return found

    def _of_super(self, holder: Any, name: str, frame: Frame) -> Any:
        instance, after = holder.__self__, holder.__thisclass__
        kind = holder.__self_class__
        raw = self.outside.attribute_of_class(kind, name, f"super().{name}", after)
        if isinstance(raw, property) and raw.fget is not None:
            return self.call(raw.fget, (instance,), {}, frame)
        return getattr(holder, name)

    def _made_by_library(self, holder: Any, name: str, frame: Frame) -> Any:
        """An attribute of an object that the step made with the library: a layer, a context."""
        raw = next((vars(base)[name] for base in type(holder).__mro__ if name in vars(base)), None)
        if not hasattr(raw, "__get__") or callable(raw) or isinstance(raw, _METHODS):
            return getattr(holder, name)
        return self.leaf(getattr, (holder, name), {}, frame)

    def _of_object(self, holder: Any, name: str, frame: Frame, known: bool) -> Any:
        """An attribute of an instance, looked up as `object.__getattribute__` does."""
        kind: Any = type(holder)
        path = f"{self.path(holder)}.{name}"
        if kind.__getattribute__ is not object.__getattribute__ and kind is not SimpleNamespace:
            self.refuse(f"{kind.__name__} has a __getattribute__ of its own", frame)
            return getattr(holder, name)
        raw = self.outside.attribute_of_class(kind, name, path)
        if isinstance(raw, property):
            if is_own(raw.fget):
                return self.leaf(getattr, (holder, name), {}, frame)
            return self.call(raw.fget, (holder,), {}, frame)
        if isinstance(raw, MemberDescriptorType | GetSetDescriptorType):
            if not known or name == "__dict__":
                return getattr(holder, name)
            return self.outside.found(holder, Access.ATTRIBUTE, name, getattr(holder, name), path)
        own = getattr(holder, "__dict__", {})
        if known and hasattr(holder, "__dict__"):
            own = self.outside.space(holder)
        if name in own:
            if hasattr(type(raw), "__set__"):
                self.refuse(f"{path} is computed by a descriptor", frame)
            return (
                self.outside.found(own, Access.KEY, name, own[name], path) if known else own[name]
            )
        if known:
            self.outside.absent(own, name, path)
        if raw is not ...:
            return self._bound(raw, holder, name, path, frame)
        return self._missing(holder, name, path, known, frame)

    def _bound(self, raw: Any, holder: Any, name: str, path: str, frame: Frame) -> Any:
        if isinstance(raw, FunctionType):
            return MethodType(raw, holder)
        if hasattr(type(raw), "__get__") and not (
            isinstance(raw, staticmethod | classmethod | type | BuiltinFunctionType) or is_own(raw)
        ):
            self.refuse(f"{path} is computed by a descriptor ({type(raw).__name__})", frame)
        return getattr(holder, name)

    def _missing(self, holder: Any, name: str, path: str, known: bool, frame: Frame) -> Any:
        """An attribute that a `__getattr__` gives: of modules it looks into three tables."""
        kind = type(holder)
        if isinstance(holder, Module) and kind.__getattr__ is Module.__getattr__:
            own = vars(holder)
            for table in TABLES:
                if not known and name in own[table]:
                    return own[table][name]
                if known:
                    self.outside.found(own, Access.KEY, table, own[table], f"{path} ({table})")
                    if name in own[table]:
                        return self.outside.found(
                            own[table], Access.KEY, name, own[table][name], path
                        )
                    self.outside.absent(own[table], name, path)
        elif hasattr(kind, "__getattr__"):
            self.refuse(f"{path} comes from a __getattr__", frame)
        return getattr(holder, name)  # raises, in Python's words

    def path(self, holder: Any) -> str:
        """What an object is called in the step."""
        known = self.outside.source(holder)
        return type(holder).__name__ if known is None else known[1]

    # ------------------------------------------------------------------ items, iteration

    def item(self, holder: Any, key: Any, frame: Frame) -> Any:
        """``holder[key]``."""
        if isinstance(holder, Tensor):
            return self.leaf(operator.getitem, (holder, key), {}, frame)
        if id(key) in self.numbers or isinstance(key, Tensor):
            self.refuse("an element of a tensor chooses an item of a container", frame)
        if isinstance(holder, CONTAINERS) and not self._indexed_by_user(holder):
            return self._item_of_container(holder, key)
        if isinstance(holder, type | str | bytes | range) or is_plain(holder):
            return holder[key]
        method = getattr(type(holder), "__getitem__", None)
        if method is None:
            return holder[key]  # raises, in Python's words
        return self.call(method, (holder, key), {}, frame)

    def _indexed_by_user(self, holder: Any) -> bool:
        return isinstance(getattr(type(holder), "__getitem__", None), FunctionType) and not is_own(
            holder
        )

    def _item_of_container(self, holder: Any, key: Any) -> Any:
        known = self.outside.source(holder)
        if known is None or is_plain(holder):
            return holder[key]
        path = f"{known[1]}[{key!r}]"
        if isinstance(holder, dict):
            if key in holder:
                return self.outside.found(holder, Access.KEY, key, holder[key], path)
            self.outside.absent(holder, key, path)
        elif isinstance(holder, SEQUENCES) and isinstance(key, int):
            found = holder[key]
            if (id(holder), ...) not in self.outside.written:
                return self.outside.found(holder, Access.INDEX, key, found, path)
        self.outside.contents(holder)
        return holder[key]

    def iterate(self, value: Any, frame: Frame) -> Iterator[Any]:
        """What a loop over a value gives."""
        if isinstance(value, Tensor):
            return iter(self.leaf(tuple, (value,), {}, frame))
        if isinstance(value, CONTAINERS):
            self.outside.contents(value)
        elif isinstance(value, Module):
            kind: Any = type(value)
            return iter(self.call(kind.__iter__, (value,), {}, frame))
        elif not is_plain(value):
            known = isinstance(value, _ITERATORS) or self._is_view(value) or is_own(value)
            known = known or type(value).__module__ == "itertools"
            if self.outside.source(value) is not None or not known:
                kind = type(value).__name__
                self.refuse(f"a loop over a {kind}, whose items are not known", frame)
        return iter(value)

    def _is_view(self, value: Any) -> bool:
        """Whether a value is what a dictionary's `items` and the like, or `iter`, gave."""
        kind = type(value)
        return kind.__module__ in ("builtins", "collections") and kind.__name__.endswith(
            ("_keys", "_values", "_items", "iterator")
        )

    # ------------------------------------------------------------------ writing

    def set_attribute(self, holder: Any, name: str, value: Any, frame: Frame) -> None:
        """``holder.name = value``."""
        known = self.outside.source(holder)
        if isinstance(holder, Tensor):
            self.effect(setattr, (holder, name, value), frame, on_tensor=True)
        elif known is None or self.refusal is not None:
            setter: Any = type(holder).__setattr__
            if not is_own(holder) and setter is not object.__setattr__ and known is None:
                self.refuse(f"{type(holder).__name__} has a __setattr__ of its own", frame)
            setattr(holder, name, value)
        else:
            path = f"{known[1]}.{name}"
            raw = (
                None if isinstance(holder, type | ModuleType) else getattr(type(holder), name, None)
            )
            plain = (
                raw is None or isinstance(raw, MemberDescriptorType) or not hasattr(raw, "__set__")
            )
            setter = type(holder).__setattr__
            if not plain or setter not in (
                object.__setattr__,
                Module.__setattr__,
                type.__setattr__,
                ModuleType.__setattr__,
            ):
                self.refuse(f"writing {path} runs code of {type(holder).__name__}", frame)
            elif isinstance(holder, Module) and isinstance(value, Module):
                self.refuse(f"the step changes the parts of a module ({path})", frame)
            self.effect(setattr, (holder, name, value), frame)
            slotted = not hasattr(holder, "__dict__") or isinstance(raw, MemberDescriptorType)
            space = holder if slotted else dictionary_of(holder)
            self.wrote(space, name, frame)
            for table in TABLES if isinstance(holder, Module) else ():
                self.wrote(vars(holder)[table], name, frame)

    def set_item(self, holder: Any, key: Any, value: Any, frame: Frame) -> None:
        """``holder[key] = value``."""
        if isinstance(holder, Tensor):
            self.leaf(operator.setitem, (holder, key, value), {}, frame)
            return
        if id(key) in self.numbers or isinstance(key, Tensor):
            self.refuse("an element of a tensor chooses an item of a container", frame)
        own = self.outside.source(holder) is None and type(holder) in CONTAINERS
        if own or self.refusal is not None:
            holder[key] = value
        elif type(holder) not in (list, dict) or isinstance(key, slice):
            self.refuse(f"writing an item of a {type(holder).__name__} from outside", frame)
            holder[key] = value
        else:
            new = isinstance(holder, dict) and key not in holder
            self.effect(operator.setitem, (holder, key, value), frame)
            self.wrote(
                holder, key if not isinstance(key, int) or key >= 0 else len(holder) + key, frame
            )
            if new:
                self.wrote(holder, ..., frame)

    def wrote(self, holder: Any, key: Any, frame: Frame) -> None:
        """Note that the step itself put something at a place of an object from outside."""
        self.outside.written.setdefault((id(holder), key), frame.line)

    def effect(
        self, function: Any, args: tuple[Any, ...], frame: Frame, on_tensor: bool = False
    ) -> None:
        """A write to what outlives the step: done now, and again at each replay."""
        if self.refusal is None:
            holder, *rest = args
            known = self.outside.source(holder)
            try:
                made = [leaving(part, self.outside.stays, self.numbers) for part in rest]
            except Unfit as error:
                self.refuse(f"{error}; keep tensors, numbers and plain containers of them", frame)
            else:
                if known is not None and self.outside.guards.registers[known[0]] is None:
                    self.refuse(f"the step writes into {known[1]}, an argument", frame)
                elif self.inside:
                    self.refuse("something is written inside of another operation", frame)
                elif on_tensor or all(type(part) is Outside for part in made):
                    # Now, in order: an optimizer may look at what is written.
                    self.in_call(self.recorder.call, function, args, {}, frame)
                    return
                else:
                    self.effects.append((function, (Outside(holder), *made)))
        function(*args)


def dictionary_of(holder: Any) -> dict[str, Any]:
    """Where the attributes of an object are kept; of a class behind its read-only face."""
    return dictionary(holder) if isinstance(holder, type) else vars(holder)
