"""What is written down of a running program: backward calls, optimizer steps, cleared gradients."""

from __future__ import annotations

from dataclasses import dataclass, field

from retrograd.watching.graph import Node, Ranges
from retrograd.watching.lines import LineLog, Step
from retrograd.watching.torch_types import OptimizerLike, TensorLike


@dataclass(eq=False, slots=True)
class Call:
    """One `backward` or `autograd.grad` call, without a reference to the graph it walked."""

    index: int
    kind: str  # "backward" or "grad"
    log: LineLog  # of the thread it ran in
    stack: list[Step]
    start: int  # number of the next node before the call
    end: int  # and after it
    edges: int  # position in the log's back edges before the call
    steps: int  # optimizer steps before the call
    retain: bool
    create: bool
    has_inputs: bool
    roots: list[int]  # numbers of the roots
    ranges: Ranges  # numbers of the nodes it went through
    nodes: int
    root_ids: list[tuple[int, bool]]  # id of each root tensor, whether it is a leaf
    versions: dict[int, int]  # of the leaves, by id, in calls that look at them
    nested: bool = False  # inside another call: checkpoint's own
    direct: bool = True  # no library has called it with arguments of its own choice
    failed: bool = False
    used_again: bool = False  # a later call went through nodes it retained
    result_used: bool = False  # a later call went through nodes that it created
    terms: dict[int, float] = field(default_factory=dict)  # see `terms_of`, in the first calls
    # for each term the leaves that it comes from, by id; in calls that look at them
    reached: list[frozenset[int]] = field(default_factory=list)
    # ids of the leaves in the layer whose output, as it is, the loss is a mean or a sum of
    outputs: frozenset[int] = frozenset()
    # of the leaves, by id: the first and the last node that uses it; in calls that look at them
    users: dict[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def site(self) -> tuple[int, int]:
        """Calls of one line in one chain of calls are calls of one site."""
        return (self.stack[-1].chain, self.stack[-1].line) if self.stack else (0, 0)


@dataclass(eq=False, slots=True)
class Failure:
    """A call that raised, with what is needed to look into it while the graph is still there."""

    call: Call
    error: BaseException
    roots: list[Node | None]
    tensors: list[TensorLike]
    nodes: dict[Node, int]
    inputs: list[TensorLike] = field(default_factory=list)  # of a grad call


@dataclass(eq=False, slots=True)
class OptimizerStep:
    """One `step` of an optimizer."""

    stack: list[Step]
    number: int
    optimizer: OptimizerLike
    calls: int  # backward calls before it
    parameters: frozenset[int]  # ids


@dataclass(eq=False, slots=True)
class ZeroGrad:
    """One `zero_grad` of an optimizer or a module."""

    stack: list[Step]
    steps: int
    calls: int
    lost: frozenset[int]  # ids of parameters whose gradients no step had used yet
    owner: object = None  # the optimizer or module


@dataclass(eq=False, slots=True)
class DirtyStep:
    """A step that used gradients to which an earlier, already used one was still added."""

    stack: list[Step]
    call: Call  # the backward that added to them
    optimizer: OptimizerLike
    user: OptimizerLike | None = None  # of the step that had used the earlier one
    used: list[Step] = field(default_factory=list)  # that step


@dataclass(eq=False, slots=True)
class PiledStep:
    """A step whose closure added to the gradients of its own call before."""

    stack: list[Step]
    call: Call  # the backward that added to them
    optimizer: OptimizerLike


@dataclass(eq=False, slots=True)
class EmptyStep:
    """A step without any gradient, because they were cleared since the backward."""

    stack: list[Step]
    cleared: ZeroGrad
    optimizer: OptimizerLike


@dataclass(eq=False, slots=True)
class WastedBackward:
    """A step before which gradients of the same backward line were cleared without being used."""

    stack: list[Step]  # of the step
    call: Call  # the backward whose gradients it uses
    cleared: ZeroGrad  # the last that dropped earlier ones
    times: int  # how often gradients of that line were dropped since the step before
    optimizer: OptimizerLike


@dataclass(eq=False, slots=True)
class UsedGradients:
    """A step, and the backward calls whose gradients it used, as far as they are still there."""

    stack: list[Step]  # of the step
    number: int  # optimizer steps before
    calls: list[Call]  # in their order
    given: dict[int, set[int]]  # call index -> ids of the held parameters it added to
    cleared: ZeroGrad | None  # the last before the first of them
    optimizer: OptimizerLike

    @property
    def sites(self) -> int:
        """How many lines the calls are of."""
        return len({call.site for call in self.calls})


@dataclass(eq=False, slots=True)
class ClippedScaled:
    """Gradients that were clipped before they were divided by the loss scale."""

    stack: list[Step]  # where they were divided
    clipped: list[Step]
    scale: float
    optimizer: OptimizerLike


@dataclass(eq=False, slots=True)
class ScaledStep:
    """A step with gradients that are still multiplied by a loss scale."""

    stack: list[Step]
    call: Call  # that sent the loss back
    scale: float
    optimizer: OptimizerLike


@dataclass(eq=False, slots=True)
class ScalerCall:
    """A call of a `GradScaler` by the program: `unscale_`, `step` or `update`."""

    name: str
    scaler: int  # id
    optimizer: int  # id; that of None for `update`
    stack: list[Step]
    sent: int  # losses before it


@dataclass(eq=False, slots=True)
class CutSample:
    """A sample without history that a loss was computed from."""

    stack: list[Step]  # that drew it
    call: Call  # that sent the loss back


@dataclass(eq=False, slots=True)
class PiledHook:
    """A hook that a line has registered on one target, and the same line again."""

    stack: list[Step]
    method: str  # "register_hook"
    target: str  # "Parameter", "Linear"
    times: int  # with backward calls in between


@dataclass(eq=False, slots=True)
class GrowthSample:
    """The nodes of earlier iterations that are still held, at one call of a site."""

    call: Call
    count: int  # which call of its site
    old: Ranges  # numbers of the nodes
    tensors: int = 0  # live tensors that hold them
    kinds: dict[str, int] = field(default_factory=dict)  # how many by path, indices left out
    holders: list[Holder] = field(default_factory=list)  # the youngest of these tensors


@dataclass(eq=False, slots=True)
class Holder:
    """A live tensor that keeps history of earlier iterations, and how the program reaches it."""

    number: int  # of its node
    dimensions: int
    path: str | None  # "self.losses[3]"
    window: bool  # it sits in a collection of bounded length


@dataclass(eq=False, slots=True)
class Scope:
    """A place where gradients are off: `with no_grad()`, a decorator, a global switch."""

    name: str
    file: str
    line: int
    direct: bool = True  # else the library itself switched them off, in a call from this line
