"""Operators that are registered by name: ``torch.library``.

>>> import retrograd as torch
>>> @torch.library.custom_op("mylib::double", mutates_args=())
... def double(x: torch.Tensor) -> torch.Tensor:
...     return torch.from_numpy(x.numpy() * 2)
>>> double.register_autograd(lambda ctx, grad: grad * 2)
>>> x = torch.ones(2, requires_grad=True)
>>> double(x)
tensor([2., 2.], grad_fn=<GeneratedBackwardFor_mylib_double_defaultBackward>)
>>> torch.ops.mylib.double(x).sum().backward()
>>> x.grad
tensor([2., 2.])

Rules for compilers (of shapes without values) can be registered, and are never asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from retrograd.library.operators import Operator, find
from retrograd.library.schema import Schema
from retrograd.library.schema import infer_schema as infer_schema
from retrograd.namespaces import from_table

if TYPE_CHECKING:
    from retrograd.namespaces.more.library import *  # noqa: F403

_Function = Callable[..., Any]


class CustomOpDef:
    """A function that is an operator: what `custom_op` makes of it."""

    def __init__(self, namespace: str, name: str, schema: str, fn: _Function) -> None:
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._operator = Operator(Schema(self._qualname, schema), recorded=False)
        self.__name__ = name

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    @property
    def _opoverload(self) -> Any:
        return self._operator.overload

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._operator(*args, **kwargs)

    def register_kernel(self, device_types: object, fn: _Function | None = None, /) -> _Function:
        """Set what computes the operator on these devices; also a decorator."""
        return _register_kernel(self._operator, device_types, fn)

    def register_fake(self, fn: _Function, /) -> _Function:
        """Note the rule for shapes without values, which only a compiler asks for."""
        self._operator.fake = fn
        return fn

    def register_autograd(
        self, backward: _Function, /, *, setup_context: _Function | None = None
    ) -> None:
        """Set the gradient: ``backward(ctx, *grads)`` gives one for each argument."""
        self._operator.register_autograd(self, backward, setup_context)

    def register_vmap(self, func: _Function | None = None) -> _Function:
        """Set the rule for batches: ``func(info, in_dims, *args)``; also a decorator."""
        return register_vmap(self, func)


def custom_op(
    name: str,
    fn: _Function | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: object = None,
    schema: str | None = None,
    tags: object = None,
) -> Any:
    """Make a function an operator with a name: ``torch.ops.mylib.crop``; also a decorator."""

    def make(function: _Function) -> CustomOpDef:
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        namespace, name_in_it = _parsed(name)
        made = CustomOpDef(namespace, name_in_it, text, function)
        made.register_kernel(device_types or "cpu", function)
        return made

    return make if fn is None else make(fn)


def _parsed(qualname: str) -> tuple[str, str]:
    namespace, separator, name = qualname.partition("::")
    if not separator or "::" in name:
        raise ValueError(
            f"Expected `opname` to be in the form `namespace::opname`, got {qualname!r}"
        )
    if "." in name:
        raise ValueError(
            f"The torch.library.custom_ops APIs do not handle overloads, i.e. operator names with "
            f"'.' in them. Please name your operator something like {name.replace('.', '_')!r}"
        )
    return namespace, name


# ------------------------------------------------------------------------------ step by step


class Library:
    """A namespace of operators: ``define`` declares one, ``impl`` says what computes it.

    >>> library = torch.library.Library("shop", "DEF")
    >>> name = library.define("twice(Tensor x) -> Tensor")
    >>> library.impl("twice", lambda x: x * 2, "CPU")
    >>> torch.ops.shop.twice(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported library type: {kind}")
        if ns in ("prim", "prims") and kind in ("DEF", "FRAGMENT"):
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        if ns == "aten":
            raise NotImplementedError(
                "torch.library.Library is not supported by retrograd: the ops of 'aten' cannot be "
                "replaced"
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: object = ()) -> str:
        """Declare an operator; its name."""
        name, parenthesis, rest = schema.partition("(")
        define(f"{self.ns}::{name.strip()}", parenthesis + rest)
        return name.strip()

    def impl(self, op_name: Any, fn: _Function, dispatch_key: str = "", **options: object) -> None:
        """Set what computes an operator."""
        name = op_name if isinstance(op_name, str) else op_name.name()
        qualified = name if "::" in name else f"{self.ns}::{name}"
        impl(qualified, dispatch_key or self.dispatch_key or "default", fn)


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: object = ()) -> None:
    """Declare an operator by its schema: ``define("mylib::crop", "(Tensor x) -> Tensor")``."""
    Operator(Schema(qualname, schema), recorded=True)


def impl(
    qualname: object, types: object, func: _Function | None = None, *, lib: object = None
) -> Any:
    """Set what computes an operator; also a decorator."""
    if isinstance(qualname, Library):  # impl(library, name, dispatch_key), the older form
        library = qualname

        def register(function: _Function) -> _Function:
            library.impl(types, function, func or "")  # type: ignore[arg-type]
            return function

        return register
    return _register_kernel(find(qualname), types, func)


def _register_kernel(operator: Operator, types: Any, fn: _Function | None) -> _Function:
    def register(function: _Function) -> _Function:
        for place in (types,) if isinstance(types, str) else types or ("default",):
            if place.lower().startswith("autograd"):
                raise NotImplementedError(
                    f"torch.library.impl is not supported by retrograd: for {place!r} use "
                    "torch.library.register_autograd"
                )
            operator.kernels[place.lower()] = function
        return function

    return register if fn is None else register(fn)


def register_kernel(
    op: object, device_types: object, func: _Function | None = None, /, *, lib: object = None
) -> _Function:
    """Set what computes an operator on these devices; also a decorator."""
    return _register_kernel(find(op), device_types, func)


def register_fake(
    op: object, func: _Function | None = None, /, *, lib: object = None, **options: object
) -> _Function:
    """Note the rule for shapes without values, which only a compiler asks for; also a decorator."""

    def register(function: _Function) -> _Function:
        find(op).fake = function
        return function

    return register if func is None else register(func)


impl_abstract = register_fake


def register_autograd(
    op: object,
    backward: _Function,
    /,
    *,
    setup_context: _Function | None = None,
    lib: object = None,
) -> None:
    """Set the gradient of an operator: ``backward(ctx, *grads)`` gives one for each argument."""
    operator = find(op)
    operator.register_autograd(operator.overload, backward, setup_context)


def register_vmap(op: object, func: _Function | None = None, /, *, lib: object = None) -> _Function:
    """Set the rule for batches: ``func(info, in_dims, *args)``; also a decorator."""

    def register(function: _Function) -> _Function:
        find(op).vmap = function
        return function

    return register if func is None else register(func)


from_table(__name__)
