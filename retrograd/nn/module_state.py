"""The state of a module by name: `state_dict` and `load_state_dict`, and their hooks."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from retrograd.engine.grad_mode import no_grad
from retrograd.engine.hooks import RemovableHandle
from retrograd.lifecycle.site import user_level
from retrograd.nn.module_hooks import Hook, WrappedHook, add_hook
from retrograd.nn.parameter import Parameter, is_lazy
from retrograd.nn.state_hints import hinted
from retrograd.tensor import Tensor

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict(strict=False)` could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )


def _warn_of_no_elements(key: str) -> None:
    warnings.warn(
        f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in "
        "the current model, which is a no-op. (Did you mean to pass `assign=True` to assign items "
        "in the state dictionary to their corresponding key in the module instead of copying them "
        "in place?)",
        stacklevel=user_level(),
    )


class StateMethods:
    """The methods of a Module that give and take its state."""

    _version: int = 1
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict[int, Hook]
    _state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_post_hooks: OrderedDict[int, Hook]

    # ------------------------------------------------------------------ giving

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by dotted path, detached unless `keep_vars`.

        destination  a dictionary to fill
        prefix       what all names begin with

        >>> list(torch.nn.Sequential(torch.nn.Linear(2, 1)).state_dict(prefix="model."))
        ['model.0.weight', 'model.0.bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=user_level(),
            )
            destination, prefix, keep_vars = (*args, destination, prefix, keep_vars)[:3]
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        facts = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = facts
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, facts)
            if changed is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = changed
        found: dict[str, object] = destination
        return found

    def _save_to_state_dict(
        self, destination: dict[str, object], prefix: str, keep_vars: bool
    ) -> None:
        """Enter this module's own state, without that of its submodules."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if _defines_extra(self, "get_extra_state"):
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _own_state(self) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for name, parameter in self._parameters.items():
            if parameter is not None:
                found[name] = parameter
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                found[name] = buffer
        return found

    def get_extra_state(self) -> Any:
        """What else belongs to the state; a class that has some defines this and the setter."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called."
        )

    def set_extra_state(self, state: object) -> None:
        """Take over what `get_extra_state` gave."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called."
        )

    # ------------------------------------------------------------------ taking

    def load_state_dict(
        self, state_dict: Mapping[str, object], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy values by name into parameters and buffers.

        strict  the names must be those of this module, none missing and none more
        assign  put the given tensors in the places instead of copying their values

        >>> torch.nn.Linear(2, 1).load_state_dict(torch.nn.Linear(2, 1).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        values: Any = OrderedDict(state_dict)
        if metadata is not None:
            values._metadata = metadata
        loading = _Loading(metadata, assign)
        loading.load(self, values, "")
        problems = loading.problems
        if strict:
            for kind, keys in (
                ("Unexpected", loading.keys.unexpected_keys),
                ("Missing", loading.keys.missing_keys),
            ):
                if keys:
                    listed = ", ".join(f'"{key}"' for key in keys)
                    problems.insert(0, f"{kind} key(s) in state_dict: {listed}. ")
        if problems:
            listed = "\n\t".join(problems)
            error = RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}"
            )
            # Not state_dict(): a failed load must not run the hooks of a save.
            raise hinted(error, _own_keys(self, ""), state_dict)
        return loading.keys

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Take this module's own state, without that of its submodules."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = self._own_state()
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load_one(name, key, tensor, state_dict[key], assign)
                if problem is not None:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if _defines_extra(self, "set_extra_state"):
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first, dot, _ = key[len(prefix) :].partition(".")
                    if first not in (self._modules if dot else own):
                        unexpected_keys.append(key)

    def _load_one(
        self, name: str, key: str, tensor: Tensor, value: Tensor, assign: bool
    ) -> str | None:
        """Take one value; gives what is wrong with it."""
        if not isinstance(value, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                f"object from checkpoint but received {type(value)}"
            )
        if is_lazy(tensor):
            return None  # the loaded one is lazy too: a shape would have been taken from it
        if tensor.ndim == 0 and value.ndim == 1 and value.shape[0] == 1:
            value = value[0]  # numbers were stored as vectors long ago
        if value.shape != tensor.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {value.shape} from "
                f"checkpoint, the shape in current model is {tensor.shape}."
            )
        try:
            with no_grad():
                if not assign:
                    if tensor.is_meta and not value.is_meta:
                        _warn_of_no_elements(key)
                    tensor.copy_(value)
                    return None
                if isinstance(tensor, Parameter):
                    if isinstance(value, Parameter):
                        value.requires_grad_(tensor.requires_grad)
                    else:
                        value = Parameter(value, requires_grad=tensor.requires_grad)
                setattr(self, name, value)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{tensor.size()} and whose dimensions in the checkpoint are {value.size()}, an "
                f"exception occurred : {error.args}."
            )
        return None

    # ------------------------------------------------------------------ hooks

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict` looks at the module."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after; it may change it."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        """The older form, whose hook may return another dictionary."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call the hook before the module loads, with the module and all it loads with.

        Its arguments are ``module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs``; it may change the dictionary and the lists.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Hook, with_module: bool = False
    ) -> RemovableHandle:
        """The older form, whose hook gets no module."""
        wrapped = WrappedHook(hook, self if with_module else None)
        return add_hook(self._load_state_dict_pre_hooks, wrapped)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after; it may change the lists of names."""
        return add_hook(self._load_state_dict_post_hooks, hook)


class _Loading:
    """One `load_state_dict`: what it found wrong so far."""

    def __init__(self, metadata: Mapping[str, dict[str, object]] | None, assign: bool) -> None:
        self.metadata = metadata
        self.assign = assign
        self.keys = IncompatibleKeys([], [])
        self.problems: list[str] = []

    def load(self, module: StateMethods, values: dict[str, Any], prefix: str) -> None:
        """Load a module and all below it."""
        facts = {} if self.metadata is None else dict(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            facts["assign_to_params_buffers"] = True
        module._load_from_state_dict(values, prefix, facts, True, *self.keys, self.problems)
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                part = {key: value for key, value in values.items() if key.startswith(below)}
                self.load(child, part, below)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, self.keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected "
                    "to return new values, if incompatible_keys need to be modified, it should be "
                    "done inplace."
                )


def _defines_extra(module: StateMethods, name: str) -> bool:
    return getattr(type(module), name) is not getattr(StateMethods, name)


def _own_keys(module: Any, prefix: str) -> list[str]:
    """The keys of a module's tensors in a state_dict, without making one."""
    found = [prefix + name for name in module._own_state()]
    for name, child in module._modules.items():
        if child is not None:
            found += _own_keys(child, f"{prefix}{name}.")
    return found
