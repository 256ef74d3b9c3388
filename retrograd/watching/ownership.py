"""Whose parameters does an optimizer hold? Those of the modules that are used, or of others?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from retrograd.watching.gradients import Gradients, parameters_of
from retrograd.watching.heap import Heap
from retrograd.watching.holders import is_own
from retrograd.watching.torch_types import ModuleLike, OptimizerLike, TensorLike

LOOKS = frozenset({2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096})
"""At these steps of an optimizer its parameters are compared with the modules."""


FEW = 16
"""Elements of a tensor that may be a weight of losses, a temperature, a bound."""


@dataclass(frozen=True)
class Hidden:
    """Modules or parameters in a plain list or dict of a module, where nothing finds them.

    Also a tensor that requires grad, but is no parameter.
    """

    owner: str  # the name of the class
    attribute: str
    codes: tuple[CodeType, ...]  # of the class's methods: where its text is
    parameters: int
    in_training: bool  # not all of them in evaluation mode
    plain: tuple[tuple[int, float], ...] = ()  # of tensors that are no parameters: id, sum
    several: bool = False  # they are in a list


@dataclass
class Look:
    """What one look at an optimizer has shown."""

    optimizer: OptimizerLike
    step: int
    held: int
    orphans: int  # held parameters that no module owns and that get no gradient now
    starved: int  # held parameters that never got a gradient
    reached: int  # of these, such as a graph was made of nevertheless: `autograd.grad` went there
    others: int  # parameters of modules that get gradients, but are in no optimizer
    loose: int  # the same of tensors that no module owns
    same_shapes: bool  # such others have the shapes of the starved ones
    names: list[str] = field(default_factory=list)  # of the others
    keys: list[int] = field(default_factory=list)  # their ids
    unfrozen: int = 0  # others that were frozen when it was built, in a module that it trains
    late: int = 0  # others made after it was built, in a module that it holds the rest of
    hidden: list[Hidden] = field(default_factory=list)
    forgotten: dict[str, float] = field(default_factory=dict)  # see `_forgotten`: name -> sum
    aside: dict[tuple[str, int], float] = field(default_factory=dict)  # see `_aside`: -> sum
    # tensors that no module owns: id -> tensor, sum, how the program reaches it
    loose_values: dict[int, tuple[TensorLike, float, str]] = field(default_factory=dict)


class Ownership:
    """Looks at an optimizer when leaves get gradients that no optimizer holds."""

    def __init__(self, torch: Any, heap: Heap) -> None:
        self.looks: list[Look] = []
        self.frozen: dict[int, frozenset[int]] = {}  # optimizer id -> frozen when it was built
        self.made_after: dict[int, int] = {}  # parameter id -> optimizers that were built by then
        # ids of leaves whose gradient `autograd.grad` was asked for: inputs, not weights
        self.asked: set[int] = set()
        self.named: Callable[[], dict[int, str]] = dict  # the program's names of tensors, by id
        self._torch = torch
        self._heap = heap
        self._steps: Counter[int] = Counter()

    def before_step(
        self, optimizer: OptimizerLike, gradients: Gradients, leaves: dict[int, Any]
    ) -> None:
        """Count the step, and look if it is one of those and there is something to see."""
        self._steps[id(optimizer)] += 1
        step = self._steps[id(optimizer)]
        if step not in LOOKS:
            return
        held_anywhere = {id(p) for other in gradients.optimizers for p in parameters_of(other)}
        others = [
            leaf
            for key, leaf in leaves.items()
            if key not in held_anywhere and leaf.requires_grad and leaf.grad is not None
        ]
        if others:
            self._look(optimizer, step, gradients, others, leaves)
        if any(id(p) not in gradients.received for p in parameters_of(optimizer)):
            modules = self._modules()
            gradients.beside_frozen |= _beside_frozen(modules, held_anywhere)
            for module in modules:
                keys = {id(p) for p in module.parameters(recurse=False)}
                if module.training:
                    gradients.evaluated -= keys
                else:
                    gradients.evaluated |= keys

    def _look(
        self,
        optimizer: OptimizerLike,
        step: int,
        gradients: Gradients,
        others: list[TensorLike],
        leaves: dict[int, TensorLike],
    ) -> None:
        modules = self._modules()
        names: dict[int, str] = {}
        for module in modules:
            for name, parameter in module.named_parameters(recurse=False):
                names.setdefault(id(parameter), f"{type(module).__name__}.{name}")
        held = parameters_of(optimizer)
        starved = [p for p in held if id(p) not in gradients.received and p.requires_grad]
        owned = [leaf for leaf in others if id(leaf) in names]
        loose = [leaf for leaf in others if id(leaf) not in names]
        missing = Counter(tuple(p.shape) for p in starved)
        look = Look(
            optimizer,
            step,
            len(held),
            orphans=sum(1 for p in held if id(p) not in names and not gradients.is_waiting(p)),
            starved=len(starved),
            reached=sum(1 for p in starved if leaves.get(id(p)) is p),
            others=len(owned),
            loose=len(loose),
            same_shapes=bool(missing) and not missing - Counter(tuple(p.shape) for p in others),
            names=[names[id(leaf)] for leaf in owned[:6]],
            keys=[id(leaf) for leaf in owned],
        )
        ids = {id(leaf) for leaf in others}
        mine = {id(parameter) for parameter in held}
        optimized: dict[int, Any] = {}
        for module in modules:
            if any(id(parameter) in mine for parameter in module.parameters()):
                optimized.update((id(inner), inner) for inner in module.modules())
        frozen = self.frozen.get(id(optimizer), frozenset()) & ids
        look.unfrozen = len(
            {id(p) for module in optimized.values() for p in module.parameters()} & frozen
        )
        look.late = self._late(gradients.optimizers.index(optimizer), modules, mine, ids)
        for module in optimized.values():
            look.hidden += self._hidden_in(module, ids)
        for module in modules:
            look.hidden += self._plain_in(module, ids - self.asked, gradients)
        look.forgotten = self._forgotten(optimizer, modules, owned, gradients)
        if any(id(p) in names for p in held):
            look.aside = self._aside(modules, ids, gradients)
            few = [leaf for leaf in loose if self._may_be_weight(leaf)]
            paths = self.named() if few else {}
            look.loose_values = {
                id(leaf): (leaf, gradients.value_of(leaf), paths.get(id(leaf), "")) for leaf in few
            }
        self.looks.append(look)

    def _may_be_weight(self, leaf: TensorLike) -> bool:
        """Large tensors that require grad are inputs, as a rule, unless they say what they are."""
        if id(leaf) in self.asked:
            return False
        return leaf.numel() <= FEW or isinstance(leaf, self._torch.nn.Parameter)

    def _aside(
        self, modules: list[Any], others: set[int], gradients: Gradients
    ) -> dict[tuple[str, int], float]:
        """Parameters of small modules of the program's own, beside the model, in no optimizer.

        Those of a loss, for instance: bare parameters, no layers. What a program leaves out on
        purpose is a network, or a part of one.
        """
        parts = {id(child) for module in modules for child in module.children()}
        found: dict[tuple[str, int], float] = {}
        for module in modules:
            kind = type(module)
            own = list(module.named_parameters(recurse=False))
            bare = is_own(kind.__module__) and len(own) == len(list(module.parameters()))
            if own and bare and id(module) not in parts and {id(p) for _, p in own} <= others:
                for name, parameter in own:
                    key = f"{kind.__name__}.{name}", id(parameter)
                    found[key] = gradients.value_of(parameter)
        return found

    def _forgotten(
        self,
        optimizer: OptimizerLike,
        modules: list[Any],
        others: list[TensorLike],
        gradients: Gradients,
    ) -> dict[str, float]:
        """Parameters that fell through when those of a model were sorted by their kind.

        They are sorted by kind if the parameters of one module, weight and bias, are in different
        groups. What is left out is a kind too: no parameter of that name, in a module of that type,
        is in a group, and they are few. Else a part of the model is left out, and that is meant.
        """
        group_of = {
            id(p): number
            for number, group in enumerate(optimizer.param_groups)
            for p in group["params"]
        }
        inside = [m for m in modules if group_of.keys() <= {id(p) for p in m.parameters()}]
        if len(set(group_of.values())) < 2 or not inside:
            return {}
        model = min(inside, key=lambda module: sum(1 for _ in module.modules()))
        wanted = {id(leaf) for leaf in others}
        held_kinds: set[tuple[type, str]] = set()
        lost: dict[str, tuple[type, str, TensorLike]] = {}
        split = False
        for path, module in model.named_modules():
            groups: set[int] = set()
            for name, parameter in module.named_parameters(recurse=False):
                if id(parameter) in group_of:
                    groups.add(group_of[id(parameter)])
                    held_kinds.add((type(module), name))
                elif parameter.requires_grad:
                    lost[f"{path}.{name}" if path else name] = type(module), name, parameter
            split = split or len(groups) > 1
        held_elsewhere = {id(p) for o in gradients.optimizers for p in parameters_of(o)}
        lost = {name: each for name, each in lost.items() if id(each[2]) not in held_elsewhere}
        if not split or len(lost) * 2 > len(group_of):
            return {}
        if any((kind, name) in held_kinds for kind, name, _ in lost.values()):
            return {}
        return {
            name: gradients.value_of(parameter)
            for name, (_, _, parameter) in lost.items()
            if id(parameter) in wanted
        }

    def _late(self, index: int, modules: list[Any], mine: set[int], others: set[int]) -> int:
        """How many of the others came late to a module whose earlier parameters it all holds."""
        late = {key for key in others if self.made_after.get(key, 0) > index}
        found: set[int] = set()
        for module in modules if late else ():
            parameters = [p for p in module.parameters() if p.requires_grad]
            earlier = {id(p) for p in parameters if self.made_after.get(id(p), 0) <= index}
            if earlier and earlier <= mine:
                found |= {id(p) for p in parameters} & late
        return len(found)

    def _modules(self) -> list[Any]:
        kind = self._torch.nn.Module
        return [thing for thing in self._heap.objects() if issubclass(type(thing), kind)]

    def _hidden_in(self, module: ModuleLike, others: set[int]) -> Iterator[Hidden]:
        """Plain collections of a module with parameters that the optimizer should have found."""
        if not is_own(type(module).__module__):
            return
        for name, value in vars(module).items():
            if name.startswith("_") and name in _INTERNAL:
                continue
            things = list(self._in_collection(value))
            inside = [thing for thing in things if isinstance(thing, self._torch.nn.Module)]
            lost = {id(thing) for thing in things}
            lost.update(id(parameter) for thing in inside for parameter in thing.parameters())
            if lost & others:
                codes = [
                    getattr(method, "__code__", None) for method in vars(type(module)).values()
                ]
                yield Hidden(
                    owner=type(module).__name__,
                    attribute=name,
                    codes=tuple(code for code in codes if code is not None),
                    parameters=len(lost & others),
                    in_training=not inside or any(thing.training for thing in inside),
                )

    def _plain_in(
        self, module: ModuleLike, others: set[int], gradients: Gradients
    ) -> Iterator[Hidden]:
        """Tensors of a module that require grad, but are no parameters."""
        if not is_own(type(module).__module__):
            return
        for name, value in vars(module).items():
            inside = list(value) if isinstance(value, (list, tuple)) else [value]
            found = [
                tensor
                for tensor in inside
                if isinstance(tensor, self._torch.Tensor)
                and not isinstance(tensor, self._torch.nn.Parameter)
                and id(tensor) in others
            ]
            if found:
                codes = [getattr(each, "__code__", None) for each in vars(type(module)).values()]
                yield Hidden(
                    owner=type(module).__name__,
                    attribute=name,
                    codes=tuple(code for code in codes if code is not None),
                    parameters=len(found),
                    in_training=bool(module.training),
                    plain=tuple((id(tensor), gradients.value_of(tensor)) for tensor in found),
                    several=isinstance(value, (list, tuple)),
                )

    def _in_collection(self, value: object, depth: int = 0) -> Iterator[object]:
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, (list, tuple, set)) and depth < 3:
            for item in value:
                if isinstance(item, (self._torch.nn.Module, self._torch.nn.Parameter)):
                    yield item
                else:
                    yield from self._in_collection(item, depth + 1)


_INTERNAL = frozenset(
    """
    _parameters _buffers _modules _non_persistent_buffers_set _backward_hooks _forward_hooks
    _backward_pre_hooks _forward_pre_hooks _state_dict_hooks _load_state_dict_pre_hooks
    """.split()
)


def _beside_frozen(modules: Iterable[Any], held: set[int]) -> set[int]:
    """Parameters to be trained in a part of a model with others that are frozen, held by nobody."""
    known = list(modules)
    parts = {id(child) for module in known for child in module.children()}
    found: set[int] = set()
    for module in known:
        if id(module) in parts:
            own = list(module.parameters())
            if any(not p.requires_grad and id(p) not in held for p in own):
                found |= {id(p) for p in own if p.requires_grad and id(p) in held}
    return found
