"""Values from outside of a step: where they were found, and the guards that this needs."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

from retrograd import dtypes
from retrograd.engine.state import ANOMALY, HOT, STATE, STRICT
from retrograd.lifecycle.site import is_library
from retrograd.nn import module_hooks
from retrograd.nn.module import Module
from retrograd.ops.calling.function_modes import STACK
from retrograd.random.state import Generator
from retrograd.replay.reading.guards import Access, Guards, Test, facts, is_plain, real
from retrograd.tensor import Tensor

Place = tuple[int, object]  # the identity of what holds a value, and the key
SEQUENCES = (list, tuple, deque)
CONTAINERS = (*SEQUENCES, dict, set, frozenset)
# Tables of a module that no call of it reads.
_UNREAD = frozenset(
    """
    _state_dict_hooks _state_dict_pre_hooks _load_state_dict_pre_hooks _non_persistent_buffers_set
    _load_state_dict_post_hooks _forward_hooks_with_kwargs _forward_hooks_always_called
    _forward_pre_hooks_with_kwargs _is_full_backward_hook
    """.split()
)
TABLES = ("_parameters", "_buffers", "_modules")
CALL_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks")


def rare_mode() -> str | None:
    """The name of a mode of this thread under which no step is recorded; None without one."""
    for name in "inference saved_hooks op_watcher op_modes mutation autocast on_saved".split():
        if getattr(STATE, name):
            return name
    if ANOMALY.enabled or STRICT.enabled or STATE.transforms or STACK.modes:
        return "anomaly detection, strict mode, a transform or a function mode"
    return None


def is_own(value: Any) -> bool:
    """Whether a function, class or object is the library's, not the user's."""
    if isinstance(value, MethodType):
        return is_own(value.__func__)
    if isinstance(value, FunctionType):
        return is_library(value.__code__.co_filename)
    if not isinstance(value, type):
        value = type(value)
    return (value.__module__ or "").partition(".")[0] == "retrograd"


def dictionary(kind: type) -> dict[str, Any]:
    """The dictionary of a class, behind its read-only face."""
    found: dict[str, Any] = gc.get_referents(kind.__dict__)[0]
    return found


class Surroundings:
    """Objects that were there before the step, by identity, and the guards on them."""

    def __init__(
        self, adopt: Callable[..., None], refuse: Callable[[str], None], free: frozenset[Place]
    ) -> None:
        self.guards = Guards()
        self.written: dict[Place, int] = {}  # by the step itself, and the line
        self.tensors: dict[int, tuple[int, Tensor, tuple[object, ...]]] = {}
        self._adopt, self._refuse, self._free = adopt, refuse, free
        self._sources: dict[int, tuple[int, str]] = {}  # register and path of an object
        self._kept: list[object] = []  # so that identities stay
        self._whole: set[int] = set()
        self.modes()

    def modes(self) -> None:
        """Guards on what holds for a whole thread or program."""
        add, constant = self.guards.add, self.guards.constant
        add(
            Access.KEY,
            Test.EQUAL,
            constant(HOT),
            "UNUSUAL",
            0,
            "the number of rarer modes that are on",
        )
        enabled = STATE.grad_enabled
        add(Access.ATTRIBUTE, Test.EQUAL, constant(STATE), "grad_enabled", enabled, "the grad mode")
        add(Access.ATTRIBUTE, Test.EQUAL, constant(STACK), "modes", (), "the function modes")
        kind = dtypes.get_default_dtype()
        add(
            Access.ATTRIBUTE,
            Test.SAME,
            constant(dtypes.DEFAULTS),
            "float",
            kind,
            "the default dtype",
        )
        for name in ("FORWARD_PRE", "FORWARD", "BACKWARD", "BACKWARD_PRE"):
            table = constant(getattr(module_hooks, name))
            add(Access.SELF, Test.LENGTH, table, None, 0, "the number of hooks of all modules")

    # ------------------------------------------------------------------ finding

    def source(self, value: object) -> tuple[int, str] | None:
        """The register and the path of an object from outside; None for one that the step made."""
        return self._sources.get(id(value))

    def stays(self, value: Any) -> bool:
        """Whether a value is there before the step and after it."""
        if is_plain(value) or id(value) in self._sources:
            return True
        return isinstance(value, type | ModuleType | BuiltinFunctionType | dtypes.dtype) or (
            isinstance(value, FunctionType) and is_own(value) and value.__closure__ is None
        )

    def begin(self, value: object, path: str, register: int | None = None) -> None:
        """An object that the step starts from: the function itself, its arguments."""
        if register is None:
            register = self.guards.constant(value)
        self._sources[id(value)] = (register, path)
        self._kept.append(value)

    def constant(self, value: object, path: str) -> int:
        """The register of an object from outside that stays, made now if it has none."""
        if (known := self._sources.get(id(value))) is None:
            self.begin(value, path)
            known = self._sources[id(value)]
        return known[0]

    def found(self, holder: Any, access: Access, key: Any, value: Any, path: str) -> Any:
        """Note that a value was read from a place of `holder`, an object from outside."""
        place = (id(holder), key)
        if place in self.written:
            return value
        register = self.constant(holder, path)
        add = self.guards.add
        known = self._sources.get(id(value))
        if is_plain(value):
            add(access, Test.EQUAL, register, key, value, path)
        elif known is not None and self.guards.registers[known[0]] is None:
            add(access, Test.REGISTER, register, key, None, path, known[0])
        elif (
            known is None
            and _may_vary(value)
            and (self.guards.registers[register] is None or place in self._free)
        ):
            self.begin(value, path, self.guards.load(access, register, key, value, path))
        else:
            add(access, Test.SAME, register, key, value, path)
        if not is_plain(value):
            self.known(value, path)
        return value

    def absent(self, holder: dict[Any, Any], key: Any, path: str) -> None:
        """Note that a dictionary from outside had no such key."""
        if (id(holder), key) not in self.written:
            register = self.constant(holder, path)
            self.guards.add(Access.KEY, Test.ABSENT, register, key, None, path)

    def known(self, value: Any, path: str) -> None:
        """Guards on an object that was read, at the first time."""
        if id(value) not in self._sources:
            self.begin(value, path)
        register = self._sources[id(value)][0]
        if isinstance(value, Tensor):
            self._tensor(value, register, path)
        elif isinstance(value, MethodType):
            self.known(value.__func__, path)
            self.known(value.__self__, path.rpartition(".")[0] or path)
        elif isinstance(value, FunctionType) and not is_own(value):
            for name in ("__code__", "__defaults__", "__kwdefaults__"):
                now = getattr(value, name)
                self.guards.add(Access.ATTRIBUTE, Test.SAME, register, name, now, f"{path}.{name}")
        elif not isinstance(value, (type, ModuleType, FunctionType, *CONTAINERS)):
            self.guards.add(Access.SELF, Test.TYPE, register, None, type(value), path)

    def _tensor(self, tensor: Any, register: int, path: str) -> None:
        if id(tensor) in self.tensors:
            return
        now = facts(tensor)
        self.tensors[id(tensor)] = (register, tensor, now)
        self.guards.add(Access.SELF, Test.FACTS, register, None, now, path)
        if type(tensor).__module__.partition(".")[0] != "retrograd":
            self._refuse(f"{path} is of a subclass of Tensor")
        elif not now[6]:
            self._refuse(f"{path} comes with a history from outside; detach it before the step")
        elif now[8] or now[9]:
            self._refuse(f"{path} has hooks, tangents or another rare property")
        loaded = self.guards.loaded
        self._adopt(tensor, loaded.index(register) if register in loaded else None)

    def space(self, value: Any) -> dict[str, Any]:
        """The `__dict__` of an object from outside."""
        own: dict[str, Any] = value.__dict__
        register, path = self._sources[id(value)]
        if id(own) not in self._sources:
            if self.guards.registers[register] is None:
                at = self.guards.load(Access.ATTRIBUTE, register, "__dict__", own, path)
                self.begin(own, path, at)
            else:
                self.guards.add(Access.ATTRIBUTE, Test.SAME, register, "__dict__", own, path)
                self.begin(own, path)
        return own

    def is_fixed(self, tensor: Any) -> bool:
        """Whether a tensor comes from outside and is the same one at each call."""
        known = self._sources.get(id(tensor))
        return known is not None and self.guards.registers[known[0]] is not None

    def unwritten(self, tensor: Any) -> None:
        """Guard the elements of a tensor that stays, as far as its version tells."""
        register, path = self._sources[id(tensor)]
        array, version = real(tensor._array), tensor._version
        self.guards.add(Access.ATTRIBUTE, Test.SAME, register, "_array", array, path)
        self.guards.add(Access.ATTRIBUTE, Test.EQUAL, register, "_version", version, path)

    # ------------------------------------------------------------------ looking at classes

    def attribute_of_class(
        self, kind: type, name: str, path: str, after: type | None = None
    ) -> Any:
        """A class's attribute as it stands in the dictionary; `Ellipsis` if there is none.

        after  look only behind this class in the order of the bases, as `super` does
        """
        order = kind.__mro__
        for base in order[order.index(after) + 1 if after else 0 :]:
            space = dictionary(base)
            if not is_own(base) and base is not object:
                length = self.constant(space, path)
                self.guards.add(Access.SELF, Test.LENGTH, length, None, len(space), base.__name__)
            if name in space:
                return self.found(space, Access.KEY, name, space[name], path)
        return ...

    # ------------------------------------------------------------------ contents

    def contents(self, value: Any) -> None:
        """Guard what is in a container from outside; of one that the step made nothing."""
        known = self._sources.get(id(value))
        if known is None or id(value) in self._whole or is_plain(value):
            return
        self._whole.add(id(value))
        register, path = known
        if (id(value), ...) in self.written:
            self._refuse(f"{path} is read after the step has changed it")
        if isinstance(value, dict):
            self.guards.add(Access.SELF, Test.KEYS, register, None, tuple(value), path)
            for key in list(value):
                self.found(value, Access.KEY, key, value[key], f"{path}[{key!r}]")
        elif isinstance(value, SEQUENCES):
            self.guards.add(Access.SELF, Test.LENGTH, register, None, len(value), path)
            for index, item in enumerate(list(value)):
                self.found(value, Access.INDEX, index, item, f"{path}[{index}]")
        elif isinstance(value, set | frozenset):
            if not all(map(is_plain, value)):
                self._refuse(f"{path} is a set of objects, whose order may change")
            self.guards.add(Access.SELF, Test.KEYS, register, None, tuple(value), path)

    def reach(self, value: Any, name: str) -> None:
        """Guard everything that the library's function `name` can find in an argument."""
        known = self._sources.get(id(value))
        if is_plain(value) or isinstance(value, Tensor | ModuleType | type | dtypes.dtype):
            return
        if isinstance(value, Generator):
            return  # draws for real at each replay
        if isinstance(value, CONTAINERS):
            self.contents(value)
            for item in list(value.values() if isinstance(value, dict) else value):
                self.reach(item, name)
        elif known is not None and id(value) not in self._whole:
            self._whole.add(id(value))
            self._state(value, known[1], name)

    def tree(self, module: Module) -> None:
        """Guard which modules, parameters and buffers are in a module."""
        for inner in module.modules():
            if self.source(inner) is not None:
                own = self.space(inner)
                for table in TABLES:
                    path = f"{self._sources[id(inner)][1]}.{table}"
                    self.contents(self.found(own, Access.KEY, table, own[table], path))
            for name in ("named_parameters", "named_modules", "named_buffers", "named_children"):
                if not is_own(getattr(type(inner), name)):
                    self._refuse(f"{type(inner).__name__} has a {name} of its own")

    def _state(self, value: Any, path: str, name: str) -> None:
        """Guard the attributes of an object of the library's, and what is in them."""
        own = getattr(value, "__dict__", None)
        if not is_own(value) and not _adds_nothing(type(value)):
            if not isinstance(value, BuiltinFunctionType):
                self._refuse(f"{name} is given {path}, whose class is not known to the library")
        elif type(own) is dict:
            if isinstance(value, Module):
                for table in CALL_HOOKS:
                    if own[table]:
                        self._refuse(
                            f"{path} has hooks; remove them, or call what they do yourself"
                        )
            space = self.constant(self.space(value), path)
            self.guards.add(Access.SELF, Test.KEYS, space, None, tuple(own), path)
            for key, part in list(own.items()):
                if not (isinstance(value, Module) and key in _UNREAD):
                    self.found(own, Access.KEY, key, part, f"{path}.{key}")
                    self.reach(part, name)

    # ------------------------------------------------------------------ the end

    def loaded_values(self) -> list[tuple[int, Any]]:
        """The objects of this call that stand in registers which every check fills."""
        found = [(self._sources[id(value)][0], value) for value in self._kept]
        return [(r, value) for r, value in found if self.guards.registers[r] is None]

    def finish(self) -> None:
        """What can only be said when all tensors are known."""
        self.guards.tensors_apart([(r, t) for r, t, _ in self.tensors.values()])


def _may_vary(value: object) -> bool:
    """Whether a plan can take another object in the place of this one."""
    return not isinstance(value, type | ModuleType | FunctionType | MethodType | CellType | Module)


def _adds_nothing(kind: type) -> bool:
    """Whether a user's class only gives another constructor to one of the library's."""
    for base in kind.__mro__:
        if is_own(base):
            return base is not object
        own = {name for name in vars(base) if not name.startswith("__")}
        if any(hasattr(other, name) for other in kind.__mro__[1:] for name in own):
            return False
    return False
