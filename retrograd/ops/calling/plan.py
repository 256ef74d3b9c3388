"""The call plan of an op: what it takes, which edges its node gets, what it saves and where.

Worked out once from the declaration (`op.plan`, at the first use) and read by all who run calls or
look at nodes: the generated functions, the general path, the compiled core, the nodes' rules, hooks
on saved values, `_saved_*` names, forward mode and vmap.

In a node's `saved` tuple an output takes three places (array, version cell, version), an input two
(the Tensor or number, and the version seen when it was saved), everything else one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from retrograd.ops.registry import Op

_KINDS = {
    "Array": "array",
    "Operand": "operand",
    "Array | None": "optional",
    "Operand | None": "optional_operand",
    "Arrays": "list",
}
_WIDTHS = {"output": 3, "input": 2}
_FACTS = ("shape", "dtype", "strides")

# Ufuncs whose kernels are compiled functions: they never warn and always return arrays.
SILENT_UFUNCS = ("add", "subtract", "multiply", "divide", "negative", "maximum", "minimum")


class Parameter:
    """One parameter of an op: its place, name, kind ("array", ..., "option") and default."""

    __slots__ = (
        *("default", "is_list", "keyword_only", "kind", "may_be_none", "may_be_number"),
        *("name", "place"),
    )

    def __init__(self, source: inspect.Parameter, place: int) -> None:
        self.name = source.name
        self.place = place
        self.default = source.default  # `inspect.Parameter.empty` where there is none
        self.keyword_only = source.kind is inspect.Parameter.KEYWORD_ONLY
        self.kind = _KINDS.get(str(source.annotation), "option")
        self.is_list = self.kind == "list"
        self.may_be_number = "operand" in self.kind
        self.may_be_none = "optional" in self.kind

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is inspect.Parameter.empty


class Source(NamedTuple):
    """What a rule means by a name: its kind, and where a call has the value.

    `kind` is "output", "input", "option", "shape", "dtype" or "strides"; `at` the number of an
    output, the index of an input in `plan.tensors`, the place of an option among the arguments, and
    for a fact (shape, dtype, strides) the index of its input or -1 for the first output.
    """

    kind: str
    at: int


class Save(NamedTuple):
    """One entry of a node's saved values: what it is, and its places in `node.saved`."""

    kind: str
    name: str
    source: int  # `Source.at`
    start: int
    width: int
    readers: tuple[int, ...]  # the positions of the edges whose rule reads it
    # Saved whatever edges need a gradient. The only rule of an op runs even where its gradient goes
    # nowhere: the operand is a view that was made without recording. So does a joint rule.
    always: bool


class Rule(NamedTuple):
    """A derivative rule, and the positions in `plan.saves` of what it reads, in its order."""

    function: Callable[..., Any]
    reads: tuple[int, ...]


class CallPlan:
    """What is known of an op's calls before any of them; see the module's text."""

    __slots__ = (
        *("aliases", "alike", "edges", "form", "joint", "keeps_output", "kept"),
        *("keywords", "loud", "nondifferentiable", "only_tensors", "option_names"),
        *("options", "outputs", "parameters", "places", "positional", "required_dim", "rules"),
        *("saves", "takes_any_dtype", "tensor_names", "tensor_places", "tensors"),
        *("view", "_op", "_sources"),
    )

    def __init__(self, op: Op) -> None:
        self._op = op
        self._sources: dict[str, Source] = {}
        self._take(op)
        self._lead_back(op)
        self.outputs = op.outputs
        self.nondifferentiable = op.nondifferentiable
        self.view = op.view
        self.form = self._form()
        # only moves data: its kernel and its nodes are then alike for every dtype
        moves = op.half == "move" and not op.holomorphic and not op.check and not op.float_result
        self.takes_any_dtype = moves and not any([p.may_be_number for p in self.tensors])
        # whether the kernel may raise NumPy's floating point warnings
        self.loud = {
            "single": op.ufunc not in SILENT_UFUNCS and op.view is None,
            "list": op.half != "move",
            "pieces": False,
        }.get(self.form, True)

    def _take(self, op: Op) -> None:
        """The arguments."""
        given = op.signature.parameters.values()
        self.parameters = tuple([Parameter(p, place) for place, p in enumerate(given)])
        self.places = {p.name: p.place for p in self.parameters}  # by name
        self.tensors = tuple([p for p in self.parameters if p.kind != "option"])
        self.tensor_names = tuple([p.name for p in self.tensors])
        self.tensor_places = tuple([p.place for p in self.tensors])
        self.option_names = tuple([p.name for p in self.parameters if p.kind == "option"])
        self.options = tuple([self.places[name] for name in self.option_names])
        # the last parameters; `positional` is the number of the others
        self.keywords = tuple([p for p in self.parameters if p.keyword_only])
        self.positional = len(self.parameters) - len(self.keywords)
        self.only_tensors = not self.options and not self.keywords
        # the second names that PyTorch gives some parameters, with their places
        pairs = (("axis", "dim"), ("keepdims", "keepdim"))
        self.aliases = {
            alias: self.places[name]
            for alias, name in pairs
            if name in self.places and alias not in self.places
        }
        # the place of a `dim` that is the last parameter without a default: it may come as `axis`
        needed = [p for p in self.parameters if p.required and not p.keyword_only]
        self.required_dim: int | None = None
        if needed and needed[-1].name == "dim" and "axis" in self.aliases:
            self.required_dim = needed[-1].place

    def _lead_back(self, op: Op) -> None:
        """The edges, their rules, and what these read."""
        from retrograd.ops.registry import names_of

        names = self.tensor_names
        wanted = op.differentiable if op.gradients else [n for n in self.places if n in op.rules]
        # the tensors that have a rule, in the order of the node's edges; None: those of a list
        self.edges: tuple[int, ...] | None = None
        if not any([p.is_list for p in self.tensors]):
            self.edges = tuple([names.index(name) for name in wanted])
        # operands whose dtype chooses the node, and must be that of the first
        self.alike = tuple([op.promote or name in wanted for name in names])
        if op.gradients:
            reads = [names_of(op.gradients)[3:]]
            readers = {name: tuple(range(len(wanted))) for name in reads[0]}
        else:
            reads = [names_of(op.rules[name])[2:] for name in wanted]
            readers = {}
            for position, read in enumerate(reads):
                for name in read:
                    readers[name] = (*readers.get(name, ()), position)
        always = len(wanted) == 1 or op.gradients is not None
        saves: list[Save] = []
        start = 0
        for name, users in readers.items():
            kind, index = self.source(name)
            width = _WIDTHS.get(kind, 1)
            saves.append(Save(kind, name, index, start, width, users, always))
            start += width
        self.saves = tuple(saves)
        # the tensors among them
        self.kept = tuple([save for save in saves if save.kind in _WIDTHS])
        self.keeps_output = any([save.kind == "output" for save in saves])
        order = list(readers)
        places = [tuple([order.index(name) for name in read]) for read in reads]
        self.joint = Rule(op.gradients, places[0]) if op.gradients else None
        functions = [] if op.gradients else [op.rules[name] for name in wanted]
        self.rules = tuple(map(Rule, functions, places))

    def _form(self) -> str:
        """Which generated function can run the op; "general": none, all calls are dispatched."""
        op = self._op
        kinds = [p.kind for p in self.tensors]
        if not op.fast or not kinds:
            return "general"
        if kinds == ["list"] and self.rules and op.outputs == 1 and not op.view:
            return "list"
        if "list" in kinds or kinds[0] == "optional" or len(kinds) > 7:
            return "general"
        if op.outputs == 1 and not op.nondifferentiable:
            return "single"
        if op.outputs == "list":
            return "pieces" if op.view == "always" and kinds == ["array"] else "general"
        assert isinstance(op.outputs, int)
        carries = len(op.nondifferentiable) < op.outputs or not self.edges
        return "several" if op.view is None and carries else "general"

    def source(self, name: str) -> Source:
        """What a rule, or a function for tangents, means by a name in its signature."""
        found = self._sources.get(name)
        if found is None:
            found = self._sources[name] = self._find(name)
        return found

    def _find(self, name: str) -> Source:
        label = self._op.name
        if name == "out" or (name.startswith("out") and name[3:].isdigit()):
            return Source("output", int(name[3:] or 0))
        if name in self.tensor_names:
            index = self.tensor_names.index(name)
            if self.tensors[index].is_list:
                raise TypeError(f"op {label}: lists of tensors cannot be saved")
            return Source("input", index)
        if name in self.places:
            return Source("option", self.places[name])
        stem, _, fact = name.rpartition("_")
        if fact in _FACTS and (stem in self.tensor_names or stem == "out"):
            return Source(fact, -1 if stem == "out" else self.tensor_names.index(stem))
        raise TypeError(f"op {label}: a rule reads {name!r}, which is nothing it can save")

    @property
    def edge_names(self) -> tuple[str, ...]:
        """The names of the parameters that have a rule."""
        places = range(len(self.rules)) if self.edges is None else self.edges
        return tuple([self.tensor_names[place] for place in places])

    def names_read(self, rule: Rule) -> list[str]:
        """The names of what a rule reads, in the order in which it takes them."""
        return [self.saves[position].name for position in rule.reads]

    def sources_of_edges(self, tensors: list[Any]) -> list[Any]:
        """The arguments of a call that the node has edges to."""
        return tensors if self.edges is None else [tensors[place] for place in self.edges]
