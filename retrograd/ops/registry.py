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
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from retrograd.autograd.node import Node
from retrograd.backend import CPU
from retrograd.backend.device import KERNELS
from retrograd.ops.calling.plan import CallPlan

RAW = CPU.raw
if TYPE_CHECKING:
    from retrograd.ops.recorded import RECORDED as RECORDED
    from retrograd.tensor import Tensor
else:
    RECORDED = types.SimpleNamespace()
OPS: dict[str, Op] = {}
# namespace ("torch", "nn.functional", "linalg", ...) -> public name -> function
PUBLIC: dict[str, dict[str, Callable[..., Any]]] = {}
COMPOSITES: dict[str, Composite] = {}

_F = TypeVar("_F", bound=Callable[..., Any])


class Op:
    """A declared operation. `function` is its public face, `raw` the same on arrays."""

    function: Callable[..., Any]
    inplace_function: Callable[..., Tensor] | None = None
    run: Any  # what its plain nodes do on arrays

    def __init__(
        self,
        kernel: Callable[..., Any],
        *,
        rules: dict[str, Callable[..., Any]],
        node_name: str | None,
        gradients: Callable[..., Any] | None,
        differentiable: tuple[str, ...],
        ufunc: str | None,
        promote: bool,
        float_result: bool,
        half: str,
        holomorphic: bool,
        view: str | None,
        outputs: int | str,
        nondifferentiable: tuple[int, ...],
        returns: Any,
        inplace: bool | str,
        out: bool,
        samples: Any,
        saved_names: dict[str, str],
        fast: bool,
        check: Callable[..., None] | None,
        label: str | None,
        forward: str | Callable[..., Any] | None,
    ) -> None:
        self.name = kernel.__name__
        self.kernel = kernel
        self.rules = rules
        self.gradients = gradients
        self.differentiable = differentiable
        self.ufunc = ufunc
        self.promote = promote
        self.float_result = float_result
        self.half = half
        self.holomorphic = holomorphic
        self.view = view
        self.outputs = outputs
        self.nondifferentiable = nondifferentiable
        self.returns = returns
        self.out = out
        self.samples = samples
        self.fast = fast
        self.check = check
        self.label = label or self.name.strip("_")
        self.forward = _forward_of(self, forward)
        self.doc = inspect.cleandoc(kernel.__doc__ or "")
        self.node_name = node_name or _camel(self.name) + "Backward0"
        self.inplace_name = (self.name + "_" if inplace is True else inplace) or None

        public = _parameters(kernel)[1:]
        self.signature = inspect.Signature(public, __validate_parameters__=False)
        unknown = {*rules, *differentiable} - {p.name for p in public}
        if unknown:
            raise TypeError(f"op {self.name}: rules for unknown parameters {sorted(unknown)}")
        self.saved_names = saved_names
        self.namespace: str | None = None
        self.methods: tuple[str, ...] = ()
        whole = all([p.annotation in ("Array", "Operand") for p in public])  # no options
        KERNELS[self.name] = (kernel, ufunc if whole else None)

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
    if op.view is not None:
        return "linear"
    return "elementwise" if op.ufunc is not None else None


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


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_"))


def op(
    *,
    node_name: str | None = None,
    gradients: Callable[..., Any] | None = None,
    differentiable: tuple[str, ...] = (),
    ufunc: str | None = None,
    promote: bool = False,
    float_result: bool = False,
    half: str = "compute",
    holomorphic: bool = True,
    view: str | None = None,
    outputs: int | str = 1,
    nondifferentiable: tuple[int, ...] = (),
    returns: Any = None,
    inplace: bool | str = False,
    out: bool = False,
    methods: Sequence[str] | None = None,
    operators: Sequence[str] = (),
    inplace_operators: Sequence[str] = (),
    namespace: str | None = "torch",
    public: Sequence[str] | None = None,
    samples: Any = None,
    saved_names: dict[str, str] | None = None,
    fast: bool = True,
    check: Callable[..., None] | None = None,
    label: str | None = None,
    forward: str | Callable[..., Any] | None = None,
    **rules: Callable[..., Any],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an operation; see the module's text for the form.

    node_name          the node's name; default `MulBackward0` for `mul`
    gradients          one function ``(m, g, needs, ...)`` for all of `differentiable` at once
    ufunc              name of the NumPy ufunc that is the kernel when options have their defaults
    promote            operands are promoted to a common dtype by PyTorch's rules
    float_result       integers become the default float dtype first
    half               "compute": half precision computes in float32; "move": data is only moved;
                       "steps": the kernel gets it as it is, and rounds between its steps
    holomorphic        rules may ignore conjugation: complex gradients are conjugated around them
    view               "always" or "maybe": the result shares the first input's memory
    outputs            how many results, or "list"; `returns` wraps several
    nondifferentiable  numbers of outputs that carry no gradient (indices)
    inplace            True makes the twin `name_`; a string names it
    out                accept ``out=``
    methods            Tensor methods; default: the op's own name in namespace "torch", else none
    operators          Python operators such as `__mul__` and, if commutative, `__rmul__`
    namespace          where the public function appears: "torch", "nn.functional", None, ...
    public             public names there; default the op's own name
    samples            a function giving samples for the tests
    saved_names        PyTorch's `_saved_*` names where they differ from the parameters'
    fast               False: always take the general path (ops that change the dtype)
    check              called with the kernel's arguments before promotion; raises if they are bad
                       (skipped by the fast path, where all dtypes are float32 or float64)
    label              the name in messages; default the op's own (private overloads differ)
    forward            how tangents go through it: "linear" (the op on the tangents of all operands
                       together; default of views), "multilinear" (on one tangent at a time, and
                       the sum), "elementwise" (the rules as they are; default of ufuncs),
                       "reduction" (each element goes into one result: the rule gives its weight)
                       or a function ``(m, tangents, ...)``. Without it: the rules transposed
    """

    def declare(kernel: Callable[..., Any]) -> Callable[..., Any]:
        from retrograd.ops.calling.compile import compile_op

        made = Op(
            kernel,
            rules=rules,
            node_name=node_name,
            gradients=gradients,
            differentiable=differentiable,
            ufunc=ufunc,
            promote=promote,
            float_result=float_result,
            half=half,
            holomorphic=holomorphic,
            view=view,
            outputs=outputs,
            nondifferentiable=nondifferentiable,
            returns=returns,
            inplace=inplace,
            out=out,
            samples=samples,
            saved_names=saved_names or {},
            fast=fast,
            check=check,
            label=label,
            forward=forward,
        )
        if made.name in OPS:
            raise TypeError(f"op {made.name} is declared twice")
        compile_op(made)
        OPS[made.name] = made
        setattr(RECORDED, made.name, made.function)
        private = made.name.startswith("_")
        made.namespace = None if private else namespace
        own = (made.name,) if made.namespace == "torch" else ()
        made.methods = tuple(methods if methods is not None else own)
        attach(
            made.function,
            methods=made.methods,
            namespace=made.namespace,
            public=public if public is not None else (made.name,),
        )
        _attach_operators(made, operators, inplace_operators)
        return made.function

    return declare


def _attach_operators(made: Op, operators: Sequence[str], inplace: Sequence[str]) -> None:
    from retrograd.ops.calling.compile import compile_inplace_operator, compile_operator
    from retrograd.tensor import Tensor

    for name in operators:
        setattr(Tensor, name, compile_operator(made, name))
    if made.inplace_function is not None:
        setattr(Tensor, made.inplace_function.__name__, made.inplace_function)
        for name in inplace:
            setattr(Tensor, name, compile_inplace_operator(made, name))


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


def table_entry(name: str, kernel: Callable[..., Any], recorded: Callable[..., Any]) -> None:
    """Let rules say ``m.<name>`` for what is no single op: on arrays (`xp` first), on Tensors."""
    KERNELS[name] = (kernel, None)
    setattr(RECORDED, name, recorded)


class Composite:
    """A public function made of ops: nothing of its own to differentiate, but samples to test."""

    __slots__ = ("function", "methods", "name", "namespace", "samples")

    def __init__(
        self, function: Any, name: str, namespace: str | None, methods: Any, samples: Any
    ) -> None:
        self.function = function
        self.name = name
        self.namespace = namespace
        self.methods = methods
        self.samples = samples


def composite(
    *,
    name: str | None = None,
    methods: Sequence[str] | None = None,
    namespace: str | None = "torch",
    public: Sequence[str] | None = None,
    operators: Sequence[str] = (),
    samples: Any = None,
) -> Callable[[_F], _F]:
    """Publish a plain function of Tensors: overloads, argument forms, compositions of ops.

    `name` defaults to the function's own; `methods` to that name for namespace "torch" and to
    nothing elsewhere. With ``namespace=None`` it is a method only.
    """

    def publish(function: _F) -> _F:
        own_name = name or function.__name__
        function.__name__ = function.__qualname__ = own_name
        own = (own_name,) if namespace == "torch" else ()
        found = tuple(own if methods is None else methods)
        names = tuple(public if public is not None else (own_name,))
        attach(function, methods=(*found, *operators), namespace=namespace, public=names)
        key = names[0] if names else own_name
        COMPOSITES[f"{namespace}.{key}"] = Composite(function, key, namespace, found, samples)
        if operators and namespace is None and not found:
            function.__name__ = function.__qualname__ = operators[-1]  # it is nothing else
        return function

    return publish
