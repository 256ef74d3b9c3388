"""Optimizer: parameter groups, state, hooks, and the step that updates without history."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from itertools import chain, compress
from types import CodeType
from typing import Any, ClassVar, TypedDict, TypeVar

from retrograd.backend import CPU, backend_of
from retrograd.backend.quiet import quiet
from retrograd.core import shortcut
from retrograd.dtypes import float32
from retrograd.engine.grad_mode import enable_grad
from retrograd.engine.hooks import RemovableHandle
from retrograd.engine.sparse_array import SPARSE, has_sparse
from retrograd.engine.state import STRICT
from retrograd.engine.views import check_strictly
from retrograd.lifecycle.site import user_level, user_site
from retrograd.notices import explained, runtime_error
from retrograd.ops import errors
from retrograd.ops.making.queries import typename
from retrograd.optim.arithmetic import descent, reals, scalar
from retrograd.optim.options import check_group
from retrograd.optim.recorded import record_step
from retrograd.tensor import Array, Tensor, VersionCell

_T = TypeVar("_T")
Hook = Callable[..., Any]
Hooks = OrderedDict[int, Hook]
ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

State = dict[str, Tensor]  # what an optimizer keeps of one parameter


class Group(TypedDict, total=False):
    """The options that rules read; those of a user and of the schedules may stand beside them."""

    params: list[Tensor]
    lr: float | Tensor
    weight_decay: float | Tensor
    betas: tuple[float | Tensor, float | Tensor]
    eps: float
    momentum: float
    dampening: float
    nesterov: bool
    maximize: bool
    amsgrad: bool
    decoupled_weight_decay: bool
    foreach: bool | None
    fused: bool | None
    capturable: bool
    differentiable: bool
    rho: float  # Adadelta
    lr_decay: float  # Adagrad
    alpha: float  # ASGD, RMSprop
    lambd: float
    t0: float
    centered: bool
    momentum_decay: float  # NAdam
    beta2_decay: float  # Adafactor
    d: float
    etas: tuple[float, float]  # Rprop
    step_sizes: tuple[float, float]
    ns_coefficients: tuple[float, float, float]  # Muon
    ns_steps: int
    adjust_lr_fn: str | None


_PRE_HOOKS: Hooks = OrderedDict()
_POST_HOOKS: Hooks = OrderedDict()

_TABLES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


class _RequiredParameter:
    """Marks a default that every parameter group has to give itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Run ``hook(optimizer, args, kwargs)`` before every step of every optimizer."""
    return _register(_PRE_HOOKS, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Run ``hook(optimizer, args, kwargs)`` after every step of every optimizer."""
    return _register(_POST_HOOKS, hook)


def _register(table: Hooks, hook: Hook, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def _hooked(step: Callable[..., _T]) -> Callable[..., _T]:
    """`step` with the hooks around it; a step that calls its parent's runs them once."""

    @functools.wraps(step)
    def hooked_step(*args: Any, **kwargs: Any) -> _T:
        optimizer = args[0]
        try:
            before = optimizer._optimizer_step_pre_hooks
            after = optimizer._optimizer_step_post_hooks
        except AttributeError:  # a wrapper around another optimizer, which never called __init__
            return step(*args, **kwargs)
        if not (before or after or _PRE_HOOKS or _POST_HOOKS) or optimizer._stepping:
            return step(*args, **kwargs)
        for hook in chain(_PRE_HOOKS.values(), before.values()):
            result = hook(optimizer, args, kwargs)
            if result is None:
                continue
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), "
                    f"but got {result}."
                )
            args, kwargs = result
        optimizer._stepping = True
        try:
            outcome = step(*args, **kwargs)
        finally:
            optimizer._stepping = False
        for hook in chain(after.values(), _POST_HOOKS.values()):
            hook(optimizer, args, kwargs)
        return outcome

    return hooked_step


class Optimizer:
    """The base of all optimizers.

    A subclass here implements `_start`, which fills a parameter's state at its first step, and
    `_change`, which updates one parameter's array in place. `step` works on arrays, so nothing is
    recorded; it counts one write on each parameter: a backward pass that needs an older value can
    say that this step changed it. An optimizer of your own overrides `step`:

    >>> class Halve(torch.optim.Optimizer):
    ...     @torch.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for parameter in group["params"]:
    ...                 parameter.mul_(0.5)
    >>> w = torch.ones(2, requires_grad=True)
    >>> Halve([w], {}).step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    # Options that state dicts of earlier PyTorch versions lack.
    _later_options: ClassVar[dict[str, object]] = {}
    # State entries that such state dicts hold as plain numbers.
    _scalar_state: ClassVar[tuple[str, ...]] = ()
    # The rule under which core/steps.c knows this very class; a subclass computes what it likes.
    _compiled_rule: ClassVar[str]
    # Whether weight decay is part of the gradient, unless the group decouples it.
    _decay_joins_gradient: ClassVar[bool] = True
    # Whether PyTorch has a fused step of it, which unscales gradients and passes over lost ones.
    _takes_scale: ClassVar[bool] = False
    _step_supports_amp_scaling: bool

    _stepping = False
    _optimizer_step_pre_hooks: Hooks
    _optimizer_step_post_hooks: Hooks
    _optimizer_state_dict_pre_hooks: Hooks
    _optimizer_state_dict_post_hooks: Hooks
    _optimizer_load_state_dict_pre_hooks: Hooks
    _optimizer_load_state_dict_post_hooks: Hooks

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            setattr(cls, "step", _hooked(cls.__dict__["step"]))  # noqa: B010 (mypy: a method)

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        if self._takes_scale and defaults.get("fused"):
            self._step_supports_amp_scaling = True
        self._make_hook_tables()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {typename(params)}"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups: list[Any] = list(params)
        if not groups:
            raise explained(ValueError("optimizer got an empty parameter list"), code="RG117")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _patch_step_function(self) -> None:
        """Nothing: the hooks are put around `step` where its class is made.

        Wrappers that do not call ``Optimizer.__init__`` make their tables of hooks and call this.
        """

    def _make_hook_tables(self) -> None:
        for name in _TABLES:
            if name not in self.__dict__:
                setattr(self, name, OrderedDict())

    # ------------------------------------------------------------------ parameters

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        entries = [params] if isinstance(params, Tensor) else list(params)
        names = [entry[0] for entry in entries if isinstance(entry, tuple)]
        if names and len(names) != len(entries):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        if names:
            entries = [entry[1] for entry in entries]
            param_group["param_names"] = names
        param_group["params"] = entries
        for parameter in entries:
            if not isinstance(parameter, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    f"{typename(parameter)}"
                )
            if not (
                self.defaults.get("differentiable") or parameter.is_leaf or parameter.retains_grad
            ):
                raise explained(ValueError("can't optimize a non-leaf Tensor"), code="RG117")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization "
                    f"parameter {name}"
                )
            param_group.setdefault(name, default)
        numbers = {id(parameter) for parameter in entries}
        if len(numbers) != len(entries):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information",
                stacklevel=user_level(),
            )
        named = "param_names" in param_group
        for group in self.param_groups:
            if ("param_names" in group) != named:
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param "
                    f"group {'with' if named else 'without'} names to the optimizer"
                )
        if any(id(p) in numbers for group in self.param_groups for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    @shortcut("zero_grad")
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters."""
        for group in self.param_groups:
            for parameter in group["params"]:
                meta = parameter._meta
                if meta is None or meta.grad is None:
                    continue
                if set_to_none:
                    meta.grad = None
                    continue
                gradient = meta.grad
                if gradient.grad_fn is not None:
                    gradient.detach_()
                else:
                    gradient.requires_grad_(False)
                gradient.zero_()

    # ------------------------------------------------------------------ the step

    @shortcut("step", _PRE_HOOKS, _POST_HOOKS)
    @_hooked
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters from their gradients; `closure` recomputes the loss first."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        code, lasti = user_site(3)
        groups: Any = self.param_groups
        for group in groups:
            parameters = []
            gradients = []
            for parameter in group["params"]:
                meta = parameter._meta
                if meta is not None and meta.grad is not None:
                    parameters.append(parameter)
                    gradients.append(meta.grad)
            sparse = SPARSE.exist and has_sparse([gradient._array for gradient in gradients])
            if sparse:
                self._check_sparse(group)
            check_group(type(self).__name__, group, parameters)
            if self._scaled and not self._unscale(group, parameters, gradients):
                continue
            if STRICT.enabled:
                for parameter in parameters:
                    check_strictly(parameter, f"{type(self).__name__}.step")
            if group.get("differentiable"):
                with enable_grad():
                    self._update_recorded(group, parameters, gradients)
                continue
            if sparse:
                self._update_each(group, parameters, gradients)
            else:
                self._update(group, parameters, gradients)
            self._count_writes(parameters, code, lasti)
        return loss

    @property
    def _scaled(self) -> bool:
        """Whether somebody, as `GradScaler` does, told the step of a scale or of gradients lost."""
        told = self.__dict__
        return self._takes_scale and ("found_inf" in told or "grad_scale" in told)

    def _unscale(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> bool:
        """Divide a fused step's gradients by the scale; False where inf was found: no step."""
        found = getattr(self, "found_inf", None)
        scale = getattr(self, "grad_scale", None)
        if found is None and scale is None:
            return True
        for parameter in parameters:
            self._state_of(group, parameter)
        if not group.get("fused"):
            raise AssertionError("Expected grad_scale and found_inf to be None")
        if found is not None and found.item():
            return False
        if scale is not None:
            for gradient in gradients:
                gradient.div_(scale)
        return True

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        if parameters and type(parameters[0]._array) is not CPU.array:
            parameters, gradients = self._left_by_device(group, parameters, gradients)
        with quiet():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                state = self._state_of(group, parameter)
                self._update_one(group, state, parameter, gradient)

    def _left_by_device(
        self, group: Group, parameters: list[Tensor], gradients: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The parameters that a device's own step for all of them together did not take."""
        kind = type(parameters[0]._array)
        # of this very class: a subclass computes what it likes
        backend = backend_of(parameters[0]._array)
        step = backend.steps.get(type(self).__dict__.get("_compiled_rule", ""))
        if step is None or any([type(p._array) is not kind for p in parameters]):
            if backend.recording is not None:
                raise self._not_recordable()
            return parameters, gradients
        states = [self._state_of(group, parameter) for parameter in parameters]
        arrays = ([tensor._array for tensor in tensors] for tensors in (parameters, gradients))
        left = [not done for done in step(group, states, *arrays)]
        if backend.recording is not None and any(left):
            raise self._not_recordable()
        return [*compress(parameters, left)], [*compress(gradients, left)]

    def _not_recordable(self) -> Exception:
        """A step of this kind computes numbers on the host, which a CUDA graph would repeat."""
        return runtime_error(
            f"Attempting CUDA graph capture of step() for an instance of {type(self).__name__} but "
            "param_groups' capturable is False.",
            code="RG302",
        )

    def _state_of(self, group: Group, parameter: Tensor) -> State:
        state: State = self.state[parameter]
        if not state:
            self._start(group, parameter, state)
        return state

    def _update_one(self, group: Group, state: State, parameter: Tensor, gradient: Tensor) -> None:
        value = reals(parameter)
        g = descent(group, value, reals(gradient), self._decay_joins_gradient)
        self._change(group, state, value, g)

    def _update_each(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        """The update where some gradients are sparse."""
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if has_sparse([gradient._array]):
                self._update_sparse(group, parameter, gradient)
            else:
                self._update(group, [parameter], [gradient])

    def _check_sparse(self, group: Group) -> None:
        """Raise if this optimizer cannot follow sparse gradients, before it looks at options."""
        from retrograd.optim.sparse_steps import refusal

        fused = bool(group.get("fused"))
        if fused or type(self)._update_sparse is Optimizer._update_sparse:
            raise refusal(type(self).__name__, fused)

    def _update_sparse(self, group: Group, parameter: Tensor, gradient: Tensor) -> None:
        """Update a parameter along a sparse gradient: most rules cannot."""
        raise NotImplementedError(f"{type(self).__name__} has no rule for sparse gradients")

    def _start(self, group: Group, parameter: Tensor, state: State) -> None:
        """Fill the state of a parameter that is updated for the first time."""
        raise NotImplementedError(f"{type(self).__name__} has no update rule")

    def _change(self, group: Group, state: State, value: Array, g: Array) -> None:
        """Update `value`, a parameter's real array, along `g`; `g` belongs to the caller."""
        raise NotImplementedError(f"{type(self).__name__} has no update rule")

    def _update_recorded(
        self, group: Group, parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        """The update in operations that are recorded, for ``differentiable=True``."""
        for parameter, gradient in zip(parameters, gradients, strict=True):
            self._record_one(group, self._state_of(group, parameter), parameter, gradient)

    def _record_one(self, group: Group, state: State, parameter: Tensor, gradient: Tensor) -> None:
        record_step(self, group, state, parameter, gradient)

    def _record(self, group: Group, state: State, parameter: Tensor, g: Tensor) -> None:
        """Update `parameter` in recorded operations."""
        raise errors.unsupported(f"a step of {type(self).__name__} with history")

    def _count_writes(self, parameters: list[Tensor], code: CodeType | None, lasti: int) -> None:
        writer = f"{type(self).__name__}.step"
        for parameter in parameters:
            cell = parameter._cell
            if cell is None:
                cell = parameter._cell = VersionCell()
            cell.version += 1
            cell.writer, cell.code, cell.lasti = writer, code, lasti

    # ------------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """State and options, with parameters replaced by their numbers."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        start = 0
        groups = []
        for group in self.param_groups:
            # A parameter that is twice in its group has the number of its last place there; one
            # that is in several groups, that of the first.
            numbers.update(
                {
                    id(p): number
                    for number, p in enumerate(group["params"], start)
                    if id(p) not in numbers
                }
            )
            start += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {
            numbers[id(key)] if isinstance(key, Tensor) else key: values
            for key, values in self.state.items()
        }
        packed_state: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            result = hook(self, packed_state)
            if result is not None:
                packed_state = result
        return packed_state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over state and options saved by `state_dict`."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            result = hook(self, state_dict)
            if result is not None:
                state_dict = result
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        pairs = list(zip(saved, self.param_groups, strict=True))
        if any(len(theirs["params"]) != len(ours["params"]) for theirs, ours in pairs):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        owners: dict[object, tuple[Tensor, dict[str, object]]] = {}
        for theirs, ours in pairs:
            for number, parameter in zip(theirs["params"], ours["params"], strict=True):
                owners[number] = (parameter, theirs)
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, values in state_dict["state"].items():
            if number in owners:
                parameter, group = owners[number]
                state[parameter] = _fitted(values, parameter, group)
            else:
                state[number] = values
        for theirs, ours in pairs:
            theirs["params"] = ours["params"]
            if "param_names" in ours:
                theirs.setdefault("param_names", ours["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hook_tables()
        self.defaults.setdefault("differentiable", False)
        for group in self.param_groups:
            for name, default in self._later_options.items():
                group.setdefault(name, default)
            for parameter in group["params"]:
                entries = self.state.get(parameter) or {}
                for name in self._scalar_state:
                    if name in entries and not isinstance(entries[name], Tensor):
                        entries[name] = scalar(float(entries[name]), group.get("fused"))

    # ------------------------------------------------------------------ hooks

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Run ``hook(optimizer, args, kwargs)`` before each step; it may return new arguments."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Run ``hook(optimizer, args, kwargs)`` after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Run ``hook(optimizer)`` before a state dict is made."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Run ``hook(optimizer, state_dict)`` after one was made; it may return another."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Run ``hook(optimizer, state_dict)`` before one is loaded; it may return another."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Run ``hook(optimizer)`` after a state dict was loaded."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for index, group in enumerate(self.param_groups):
            text += f"\nParameter Group {index}\n"
            text += "".join(
                f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"
            )
        return text + ")"


def _fitted(value: Any, parameter: Tensor, group: Mapping[str, object], key: object = None) -> Any:
    """A loaded state entry in the parameter's dtype; a step count keeps its own."""
    if isinstance(value, Tensor):
        if key == "step":
            return value.to(float32) if group.get("capturable") or group.get("fused") else value
        return value.to(parameter.dtype) if parameter.is_floating_point() else value
    if isinstance(value, dict):
        return {name: _fitted(entry, parameter, group, name) for name, entry in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        maker: Any = type(value)
        return maker(_fitted(entry, parameter, group) for entry in value)
    return value


def kinds() -> list[type[Optimizer]]:
    """`Optimizer` and all its subclasses, for the profiler, which times their steps."""
    found: list[type[Optimizer]] = [Optimizer]
    for kind in found:
        found += [other for other in kind.__subclasses__() if other not in found]
    return found
