"""`@op`: one declaration per operation, and the two faces through which rules use them all.

    @op(
        input=lambda m, g, other: m.mul(g, other),  # d/d input reads `other`: so it is saved
        other=lambda m, g, input: m.mul(g, input),
        ufunc="multiply", promote=True, operators=("__mul__", "__rmul__"), inplace=True,
        samples=samples.binary(),
    )
    def mul(xp, input: Operand, other: Operand) -> Array:
        \"\"\"Elementwise product with broadcasting.\"\"\"
        return xp.multiply(input, other)

Parameters annotated `Array` are tensors, `Operand` tensors or numbers, `Array | None` optional
tensors, `Arrays` a sequence of tensors; all others are options. The kernel sees arrays. A rule gets
`m` (a face), `g` (the gradient of the output) and, by name, what it reads: an input, `out` (or
`out0`, `out1` ... with several outputs), an option, `<input>_shape` or `<input>_dtype`. These names
are the save list. A rule may use operators, `m.<op>`, and plain Python on options.

`RAW` maps every op name to its function on arrays of the CPU, `RECORDED` to its Tensor function;
each backend has a table like `RAW`. First-order gradients run the rules on the
table of their arrays; with ``create_graph=True`` the same rules run on RECORDED.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from retrograd.backend import CPU
from retrograd.backend.device import ELEMENTWISE, KERNELS
from retrograd.engine.node import Node
from retrograd.ops.calling.plan import CallPlan

RAW = CPU.raw
if TYPE_CHECKING:
    from retrograd.ops.recorded import RECORDED as RECORDED
    from retrograd.ops.recorded import Table as Table
    from retrograd.tensor import Tensor
else:
    Table = types.SimpleNamespace
    RECORDED = Table()
OPS: dict[str, Op] = {}
# namespace ("torch", "nn.functional", "linalg", ...) -> public name -> function
PUBLIC: dict[str, dict[str, Callable[..., Any]]] = {}
COMPOSITES: dict[str, Composite] = {}
# what becomes of an `out=` of another dtype, by the name of the function; see `calling.out_types`
OUT_RULES: dict[str, str] = {}

P = ParamSpec("P")
_F = TypeVar("_F", bound=Callable[..., Any])
Kernel = Callable[..., Any]
Declares = Callable[[Kernel], Callable[..., Any]]
SavedName = str | tuple[str] | Callable[[Node], Any]


class Op:
    """A declared operation. `function` is its public face, `raw` the same on arrays.

    What a declaration may say; nothing of it has to be said:

    node_name          the node's name; default `MulBackward0` for `mul`, `EluBackwardBackward0` for
                       `_elu_gradient`, and by what PyTorch calls it where that differs
    gradients          one function ``(m, g, needs, ...)`` for all of `differentiable` at once
    check              called with the kernel's arguments before promotion; raises if they are bad
                       (skipped by the fast path, where all dtypes are float32 or float64)
    fast               False: always take the general path (ops that change the dtype)
    samples            a function giving samples for the tests
    label              the name in messages; default the op's own, of a private one PyTorch's

    What kind of function it is:

    elementwise        operands broadcast together, each element of the result is computed from its
                       own elements, and options say nothing of dimensions; so are all ufuncs.
                       `vmap` and forward mode follow from it
    moves              elements are moved, and perhaps some set to zero: half="move",
                       forward="linear", holomorphic=False. So are views
    ufunc              name of the NumPy ufunc that is the kernel when options have their defaults
    promote            operands are promoted to a common dtype by PyTorch's rules
    float_result       a function of real numbers, such as `exp`: integers become the default
                       float dtype first. It promotes, and is elementwise with ``out=``, in `torch`
                       also in place, unless that is denied
    half               "compute": half precision computes in float32; "move": data is only moved;
                       "steps": the kernel gets it as it is, and rounds between its steps
    numbers            how Python numbers count as operands. "wrapped": as new tensors;
                       "alone": there may be nothing but numbers; "exact": half precision takes the
                       second as it is; "saved": `_saved_*` shows them as tensors
    holomorphic        rules may ignore conjugation: complex gradients are conjugated around them
    view               "always" or "maybe": the result shares the first input's memory
    another_dtype      the view reads the memory as another dtype
    lies               how the result lies in memory. "together": as PyTorch's iterator over the
                       operands lays it out; default of elementwise ops with one result. Their
                       names, where it has them in another order. "rows": row by row, whatever the
                       operands do; default of reductions
    barrier            the view stands for other tangents than those of the tensor it is made of
    leaves_inference   a result outside of inference mode is an ordinary tensor
    outputs            how many results, or "list"; `returns` wraps several
    nondifferentiable  numbers of outputs that carry no gradient (indices)
    forward            how tangents go through it: "linear" (the op on the tangents of all operands
                       together), "multilinear" (on one tangent at a time, and the sum),
                       "elementwise" (the rules as they are; default of elementwise ops),
                       "reduction" (each element goes into one result: the rule gives its weight)
                       or a function ``(m, tangents, ...)``. Without it: the rules transposed
    images             the rank of the tensors, which are batches of images; one alone has one less.
                       `vmap` follows from it
    autocast           what autocast does with operands: "lower", "float32" or "widest"

    Where and how users find it:

    inplace            True makes the twin `name_`; a string names it
    out                accept ``out=``; a string says what becomes of an `out` of another dtype than
                       the result's, see `calling.out_types`
    methods            Tensor methods; default: the public names in namespace "torch", else none
    operators          Python operators such as `__mul__` and, if commutative, `__rmul__`
    namespace          where the public function appears: "torch", "nn.functional", None, ...
    public             public names there; default the op's own name
    second_names       more names with their places, "torch.multiply", "Tensor.multiply"
    inplace_names      the same for the in-place twin; default: all names of the op as Tensor
                       methods, and in `torch` if there is one parameter
    old_order          the options that may also come first, by place, as PyTorch once had them

    PyTorch's names where they do not follow from ours:

    aten               the overload that computes, "add.Tensor", or a function of the arguments that
                       gives what follows the point; default ``<event>.default``
    event              the name in profiles; default the label, or of a private op that of `aten`
    aten_inplace       the overload of the in-place twin
    saved_names        ``theirs: ours`` of `_saved_*`; in place of ours may be a function of the
                       node, or a tuple with the name, which makes an int a tuple of one
    """

    function: Callable[..., Any]
    inplace_function: Callable[..., Tensor] | None = None
    run: Any  # what its plain nodes do on arrays

    def __init__(
        self,
        kernel: Kernel,
        /,
        *,
        node_name: str | None = None,
        gradients: Callable[..., Any] | None = None,
        differentiable: tuple[str, ...] = (),
        check: Callable[..., None] | None = None,
        fast: bool = True,
        samples: Callable[..., Any] | None = None,
        label: str | None = None,
        elementwise: bool | None = None,
        moves: bool = False,
        ufunc: str | None = None,
        promote: bool = False,
        float_result: bool = False,
        half: str | None = None,
        numbers: tuple[str, ...] = (),
        holomorphic: bool | None = None,
        view: str | None = None,
        another_dtype: bool = False,
        lies: str | tuple[str, ...] | None = None,
        barrier: bool = False,
        leaves_inference: bool = False,
        outputs: int | str = 1,
        nondifferentiable: tuple[int, ...] = (),
        returns: Callable[..., Any] | None = None,
        forward: str | Callable[..., Any] | None = None,
        images: int | None = None,
        autocast: str | None = None,
        inplace: bool | str | None = None,
        out: bool | str | None = None,
        methods: Sequence[str] | None = None,
        operators: Sequence[str] = (),
        inplace_operators: Sequence[str] = (),
        namespace: str | None = "torch",
        public: Sequence[str] | None = None,
        second_names: Sequence[str] = (),
        inplace_names: Sequence[str] | None = None,
        old_order: tuple[str, ...] = (),
        aten: str | Callable[[tuple[Any, ...]], str] | None = None,
        event: str | None = None,
        aten_inplace: str | None = None,
        saved_names: Mapping[str, SavedName] = MappingProxyType({}),
        **rules: Callable[..., Any],
    ) -> None:
        self.name = kernel.__name__
        if self.name in OPS:
            raise TypeError(f"op {self.name} is declared twice")
        self.kernel = kernel
        self.rules = rules
        self.gradients = gradients
        self.differentiable = differentiable
        self.check = check
        self.fast = fast
        self.samples = samples
        private = self.name.startswith("_")
        if event is not None:
            theirs = event.removeprefix("retrograd::")
        else:
            theirs = aten.partition(".")[0] if private and isinstance(aten, str) else self.name
        self.label = label or (theirs if private else self.name).strip("_")
        usual = float_result or ufunc is not None
        self.elementwise = usual if elementwise is None else elementwise
        self.moves = moves or view is not None
        self.ufunc = ufunc
        self.promote = promote or float_result
        self.float_result = float_result
        self.half = half or ("move" if self.moves else "compute")
        self.numbers = numbers
        self.holomorphic = not self.moves if holomorphic is None else holomorphic
        self.view = view
        self.another_dtype = another_dtype
        together = self.elementwise and view is None and outputs == 1
        rows = forward == "reduction" and outputs == 1
        self.lies = lies or ("together" if together else "rows" if rows else None)
        self.barrier = barrier
        self.leaves_inference = leaves_inference
        self.outputs = outputs
        self.nondifferentiable = nondifferentiable
        self.returns = returns
        self.forward = _forward_of(self, forward)
        self.images = images
        self.autocast = autocast
        self.out = float_result if out is None else out
        self.old_order = old_order
        self.aten = aten
        self.event = event
        self.aten_inplace = aten_inplace
        self.saved_names = saved_names
        self.doc = inspect.cleandoc(kernel.__doc__ or "")
        self.node_name = node_name or _node_name(label or theirs.strip("_"), namespace)
        if inplace is None:
            inplace = float_result and namespace == "torch" and not private
        self.inplace_name = (self.name + "_" if inplace is True else inplace) or None
        shown = _parameters(kernel)[1:]
        self.signature = inspect.Signature(shown, __validate_parameters__=False)
        unknown = {*rules, *differentiable} - {p.name for p in shown}
        if unknown:
            raise TypeError(f"op {self.name}: rules for unknown parameters {sorted(unknown)}")
        whole = all([p.annotation in ("Array", "Operand") for p in shown])  # no options
        KERNELS[self.name] = (kernel, ufunc if whole else None)
        if self.elementwise and view is None:
            ELEMENTWISE[self.name] = self.half
        self._publish(namespace, methods, public, second_names)
        self._publish_twins(operators, inplace_operators, inplace_names)

    def _publish(
        self,
        namespace: str | None,
        methods: Sequence[str] | None,
        public: Sequence[str] | None,
        second_names: Sequence[str],
    ) -> None:
        """Make the op's function and put it where rules and users find it."""
        from retrograd.ops.calling.compile import compile_op

        compile_op(self)
        OPS[self.name] = self
        setattr(RECORDED, self.name, self.function)
        self.namespace = None if self.name.startswith("_") else namespace
        self.public = tuple(public if public is not None else (self.name,))
        own = self.public if self.namespace == "torch" else ()
        self.methods = tuple(methods if methods is not None else own)
        attach(self.function, methods=self.methods, namespace=self.namespace, public=self.public)
        attach_second_names(self.function, second_names)
        if isinstance(self.out, str):
            OUT_RULES[self.label] = self.out

    def _publish_twins(
        self, operators: Sequence[str], inplace: Sequence[str], names: Sequence[str] | None
    ) -> None:
        """The same for its operators and the function in place."""
        from retrograd.ops.calling.compile import compile_inplace_operator, compile_operator
        from retrograd.tensor import Tensor

        for name in operators:
            setattr(Tensor, name, compile_operator(self, name))
        if self.inplace_function is not None:
            setattr(Tensor, self.inplace_function.__name__, self.inplace_function)
            attach_second_names(
                self.inplace_function, self._twin_names() if names is None else names
            )
            for name in inplace:
                setattr(Tensor, name, compile_inplace_operator(self, name))

    def _twin_names(self) -> list[str]:
        """Where PyTorch has the in-place twins of ops in `torch`, but for a few that say so."""
        if self.namespace != "torch":
            return []
        places = ("Tensor", "torch") if len(self.signature.parameters) == 1 else ("Tensor",)
        return [f"{place}.{name}_" for place in places for name in self.public]

    @functools.cached_property
    def plan(self) -> CallPlan:
        """What its calls take and save, worked out when first asked for."""
        return CallPlan(self)

    @functools.cached_property
    def node_class(self) -> type[Node]:
        """The class of its ordinary nodes, made when first asked for."""
        from retrograd.ops.calling.node_forms import plain_form

        return plain_form(self)

    @functools.cached_property
    def half_class(self) -> type[Node]:
        """The class of its nodes in half precision."""
        from retrograd.ops.calling.node_forms import half_form

        return half_form(self)

    @functools.cached_property
    def complex_class(self) -> type[Node]:
        """The class of its nodes with complex values."""
        from retrograd.ops.calling.node_forms import complex_form

        return complex_form(self)

    @functools.cached_property
    def complex_half_class(self) -> type[Node]:
        """The class of its nodes with values of complex32."""
        from retrograd.ops.calling.node_forms import complex_half_form

        return complex_half_form(self)

    @property
    def in_place(self) -> Callable[..., Tensor]:
        """Its function that works in place, of an op that has one."""
        assert self.inplace_function is not None, self.name
        return self.inplace_function

    @property
    def raw(self) -> Callable[..., Any]:
        """The op on arrays of the CPU."""
        found: Callable[..., Any] = getattr(RAW, self.name)
        return found

    def __repr__(self) -> str:
        return f"<op {self.name}>"


# how tangents may go through an op, beside a function of its own; see `op`
WAYS = ("linear", "multilinear", "elementwise", "reduction")


def _forward_of(op: Op, given: str | Callable[..., Any] | None) -> Any:
    """How tangents go through an op, where that follows from what it is."""
    if given is not None:
        if not callable(given) and given not in WAYS:
            raise TypeError(f"op {op.name}: forward={given!r} is no way for tangents")
        return given
    if op.moves:
        return "linear"
    return "elementwise" if op.elementwise and op.outputs == 1 else None


def names_of(function: Any) -> list[str]:
    """The parameter names of a plain function, much faster than `inspect` finds them."""
    if not isinstance(function, types.FunctionType):
        return list(inspect.signature(function).parameters)
    code = function.__code__
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _parameters(kernel: Any) -> list[inspect.Parameter]:
    """The parameters of a kernel, as `inspect.signature` would give them."""
    code = kernel.__code__
    defaults = kernel.__defaults__ or ()
    first_default = code.co_argcount - len(defaults)
    found = []
    for index, name in enumerate(names_of(kernel)):
        if index < code.co_argcount:
            kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
            has = index >= first_default
            default = defaults[index - first_default] if has else inspect.Parameter.empty
        else:
            kind = inspect.Parameter.KEYWORD_ONLY
            default = (kernel.__kwdefaults__ or {}).get(name, inspect.Parameter.empty)
        annotation = kernel.__annotations__.get(name, inspect.Parameter.empty)
        found.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
    return found


def _node_name(label: str, namespace: str | None) -> str:
    """PyTorch's name of a node: `SpecialI0EBackward0` for `i0e` of the namespace "special"."""
    of = label.removesuffix("_gradient")
    words = "".join(part[:1].upper() + part[1:] for part in of.split("_"))
    words = re.sub(r"\d[a-z]", lambda found: found[0].upper(), words)
    prefix = "Special" if namespace == "special" else ""
    return prefix + words + ("Backward0" if of == label else "BackwardBackward0")


def _decorator(make: Callable[Concatenate[Kernel, P], Op]) -> Callable[P, Declares]:
    """What is given to `Op` beside the kernel, as the arguments of a decorator."""

    def with_facts(*args: P.args, **facts: P.kwargs) -> Declares:
        return lambda kernel: make(kernel, *args, **facts).function

    return with_facts


# Declare an operation; the module's text shows the form, the class `Op` says what may be given.
op = _decorator(Op)
# One that rules and composites use, and users do not: another function has its public name.
inner_op = functools.partial(op, namespace=None)


def attach(
    function: Callable[..., Any],
    *,
    methods: Sequence[str] = (),
    namespace: str | None = "torch",
    public: Sequence[str] = (),
) -> None:
    """Publish a function as Tensor methods and under public names of a namespace."""
    from retrograd.tensor import Tensor

    for name in methods:
        setattr(Tensor, name, function)
    if namespace is not None:
        table = PUBLIC.setdefault(namespace, {})
        for name in public:
            table[name] = function


def inplace_twin(
    name: str, *, method: bool = False, namespaces: tuple[str, ...] = ()
) -> Callable[..., Tensor]:
    """The in-place function of an op, published where PyTorch has it."""
    from retrograd.tensor import Tensor

    function = OPS[name].in_place
    if not method:
        delattr(Tensor, function.__name__)
    for namespace in namespaces:
        attach(function, namespace=namespace, public=(function.__name__,))
    return function


def attach_second_names(function: Callable[..., Any], names: Sequence[str]) -> None:
    """Publish a function under more names, each with its place: "Tensor.multiply"."""
    for place, _, name in map(str.rpartition, names, repeat(".")):
        methods = (name,) if place == "Tensor" else ()
        attach(function, methods=methods, namespace=None if methods else place, public=(name,))


def table_entry(name: str, kernel: Callable[..., Any], recorded: Callable[..., Any]) -> None:
    """Let rules say ``m.<name>`` for what is no single op: on arrays (`xp` first), on Tensors."""
    KERNELS[name] = (kernel, None)
    setattr(RECORDED, name, recorded)


class Composite:
    """A public function made of ops: nothing of its own to differentiate, but samples to test."""

    __slots__ = (
        "autocast",
        "autocast_unless",
        "function",
        "methods",
        "name",
        "namespace",
        "samples",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        namespace: str | None,
        methods: tuple[str, ...],
        samples: Callable[..., Any] | None,
        autocast: str | None,
        autocast_unless: str | None,
    ) -> None:
        self.function = function
        self.name = name
        self.namespace = namespace
        self.methods = methods
        self.samples = samples
        self.autocast = autocast
        self.autocast_unless = autocast_unless


def composite(
    *,
    name: str | None = None,
    methods: Sequence[str] | None = None,
    namespace: str | None = "torch",
    public: Sequence[str] | None = None,
    second_names: Sequence[str] = (),
    operators: Sequence[str] = (),
    samples: Callable[..., Any] | None = None,
    out: str | None = None,
    autocast: str | None = None,
    autocast_unless: str | None = None,
) -> Callable[[_F], _F]:
    """Publish a plain function of Tensors: overloads, argument forms, compositions of ops.

    `name` defaults to the function's own, see `_public_name`; `methods` to that name for namespace
    "torch" and for None, and to nothing elsewhere. Other places have decorators of their own, such
    as `functional`. `second_names` and the rule of an `out` of another dtype are as for `Op`.
    `autocast` casts the arguments too and then runs the function without autocast: to "lower" or
    "float32"; "lower result" casts what it gives, "off" nothing. A call with the argument
    `autocast_unless` is left alone.
    """

    def publish(function: _F) -> _F:
        own_name = name or _public_name(function.__name__)
        function.__name__ = function.__qualname__ = own_name
        names = tuple(public if public is not None else (own_name,))
        found = methods
        if found is None:
            found = names if namespace == "torch" or (namespace is None and not operators) else ()
        attach(function, methods=(*found, *operators), namespace=namespace, public=names)
        attach_second_names(function, second_names)
        key = names[0] if names else own_name
        if out is not None:
            prefix = f"{namespace}_" if namespace in ("linalg", "special") else ""
            OUT_RULES[prefix + key] = out
        COMPOSITES[f"{namespace}.{key}"] = Composite(
            function, key, namespace, tuple(found), samples, autocast, autocast_unless
        )
        if operators and namespace is None and not found:
            function.__name__ = function.__qualname__ = operators[-1]  # it is nothing else
        return function

    return publish


def _public_name(own: str) -> str:
    """What a function is called in public, without what tells it from others in its module.

    >>> [_public_name(own) for own in ("_sum", "_linalg_lu", "_flip_method", "_div_in_place")]
    ['sum', 'lu', 'flip', 'div_']
    """
    without = re.sub("^_(torch_|linalg_|special_|functional_)?|_(function|method)$", "", own)
    return re.sub("_in_place$", "_", without)


# Composites by their place: only a function of `torch`, only a method, functions of a namespace.
function_only = functools.partial(composite, methods=())
method_only = functools.partial(composite, namespace=None)
functional = functools.partial(composite, namespace="nn.functional")
linalg_function = functools.partial(composite, namespace="linalg")
fft_function = functools.partial(composite, namespace="fft")
