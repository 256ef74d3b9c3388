"""Module: parameters, buffers and submodules under names, and the call that runs `forward`.

Its parts: finding things by name in `module_walk`, converting in `module_convert`, hooks and calls
with hooks in `module_hooks`, `state_dict` and loading in `module_state`.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from retrograd.core import shortcut
from retrograd.lifecycle.layers import note_layer
from retrograd.nn import module_hooks, module_walk
from retrograd.nn.module_convert import ConversionMethods
from retrograd.nn.module_hooks import BACKWARD, BACKWARD_PRE, FORWARD, FORWARD_PRE, HookMethods
from retrograd.nn.module_hooks import register_module_backward_hook as register_module_backward_hook
from retrograd.nn.module_hooks import (
    register_module_buffer_registration_hook as register_module_buffer_registration_hook,
)
from retrograd.nn.module_hooks import register_module_forward_hook as register_module_forward_hook
from retrograd.nn.module_hooks import (
    register_module_forward_pre_hook as register_module_forward_pre_hook,
)
from retrograd.nn.module_hooks import (
    register_module_full_backward_hook as register_module_full_backward_hook,
)
from retrograd.nn.module_hooks import (
    register_module_full_backward_pre_hook as register_module_full_backward_pre_hook,
)
from retrograd.nn.module_hooks import (
    register_module_module_registration_hook as register_module_module_registration_hook,
)
from retrograd.nn.module_hooks import (
    register_module_parameter_registration_hook as register_module_parameter_registration_hook,
)
from retrograd.nn.module_state import IncompatibleKeys as IncompatibleKeys
from retrograd.nn.module_state import StateMethods
from retrograd.nn.parameter import Buffer, Parameter
from retrograd.ops.making.queries import typename
from retrograd.tensor import Tensor

_HOOK_TABLES = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class Module(ConversionMethods, HookMethods, StateMethods):
    """The base of all models: subclass it, assign parts in `__init__`, compute in `forward`.

    >>> class Twice(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = torch.nn.Parameter(torch.tensor(2.0))
    ...     def forward(self, x):
    ...         return x * self.scale
    >>> [name for name, _ in Twice().named_parameters()]
    ['scale']
    """

    dump_patches: bool = False
    call_super_init: bool = False
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def __init__(self, *args: Any, **kwargs: object) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                    f"'{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but "
                    f"{len(args) + 1} were given"
                )
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_is_full_backward_hook"] = None
        for table in _HOOK_TABLES:
            own[table] = OrderedDict()
        own["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ------------------------------------------------------------------ attributes

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if "_parameters" not in own:
            self._assign_early(name, value)
        elif isinstance(value, Tensor) and isinstance(value, Parameter):
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif name in own["_parameters"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            self._forget(name, "_parameters", "_buffers")
            own["_modules"][name] = self._registered_module(name, value)
        elif name in own["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            own["_modules"][name] = self._registered_module(name, value)
        elif name in own["_buffers"] or (isinstance(value, Tensor) and isinstance(value, Buffer)):
            self._assign_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _assign_early(self, name: str, value: object) -> None:
        """Assign before `__init__` made the tables."""
        if isinstance(value, Parameter):
            raise AttributeError("cannot assign parameters before Module.__init__() call")
        if isinstance(value, Module):
            raise AttributeError("cannot assign module before Module.__init__() call")
        if isinstance(value, Buffer):
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        object.__setattr__(self, name, value)

    def _assign_buffer(self, name: str, value: Tensor) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            persistent: bool = value.__dict__["persistent"]
        else:
            persistent = name not in self._non_persistent_buffers_set
        plain = getattr(self.register_buffer, "__func__", None) is Module.register_buffer
        if plain or "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements "
                "register_buffer() without the persistent argument is not allowed."
            )

    def _registered_module(self, name: str, module: Module | None) -> Module | None:
        table = module_hooks.MODULE_REGISTRATION
        found: Module | None = module_hooks.registered(table, self, name, module)
        return found

    def _forget(self, name: str, *tables: str) -> None:
        """Take a name out of the module, so that something of another kind can have it."""
        own = self.__dict__
        own.pop(name, None)
        for table in tables:
            own[table].pop(name, None)
        own["_non_persistent_buffers_set"].discard(name)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            found = own.get(table)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        tables: tuple[dict[str, Any], ...] = (self._parameters, self._buffers, self._modules)
        for table in tables:
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__]
        names += [*self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[:1].isdigit())

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under `name`, accessible as an attribute."""
        self._check_name("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, "
                "compute the value in the forward() method."
            )
        if param is not None:
            table = module_hooks.PARAMETER_REGISTRATION
            param = module_hooks.registered(table, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the module's state but is not trained.

        persistent  whether `state_dict` contains it
        """
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        table = module_hooks.BUFFER_REGISTRATION
        self._buffers[name] = module_hooks.registered(table, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under `name`, accessible as an attribute."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = self._registered_module(name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def _check_name(self, kind: str, name: str, table: str) -> None:
        """Refuse names that cannot be in a dotted path, or are something else's."""
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        known: Mapping[str, object] = self.__dict__[table]
        if "." in name:
            got = f", got: {name}" if kind == "module" else ""
            raise KeyError(f'{kind} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in known and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # ------------------------------------------------------------------ calling

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; every subclass defines its own."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    @shortcut("call", FORWARD_PRE, FORWARD, BACKWARD, BACKWARD_PRE, note_layer, __getattr__)
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__
        try:
            if (
                own["_forward_pre_hooks"]
                or own["_forward_hooks"]
                or own["_backward_hooks"]
                or own["_backward_pre_hooks"]
                or FORWARD_PRE
                or FORWARD
                or BACKWARD
                or BACKWARD_PRE
            ):
                return module_hooks.call_with_hooks(self, args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            if "_backward_hooks" not in own:  # the constructor of Module has not run
                raise AttributeError(
                    f"'{type(self).__name__}' object has no attribute '_backward_hooks'"
                ) from None
            note_layer(error, self)
            raise

    def compile(self, *args: object, **kwargs: object) -> None:
        """Nothing: there is no compiler, and what a compiled module computes is the same."""

    # ------------------------------------------------------------------ pickles

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, object]) -> None:
        own = self.__dict__
        own.update(state)
        for table in _HOOK_TABLES:  # pickles of older versions have fewer
            own.setdefault(table, OrderedDict())
        own.setdefault("_non_persistent_buffers_set", set())
        own.setdefault("_is_full_backward_hook", None)

    # ------------------------------------------------------------------ printing

    def extra_repr(self) -> str:
        """What to print between the parentheses, beside the submodules."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {indented(repr(part))}" for name, part in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        if not lines and not children:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


def indented(text: str) -> str:
    """The text of a submodule, two columns further to the right; empty lines stay empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"  {line}" if line.strip() else "" for line in rest)])


# `typing.get_type_hints` of a module looks there for the names in annotations
vars(module_walk)["Module"] = Module
