"""Functions that return new tensors of random numbers: `rand`, `randn`, `randint`, `normal` ..."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd import core, dtypes
from retrograd.backend import backend_of, can_write, kernels, xp_of
from retrograd.engine.state import HOT, TRANSFORMS
from retrograd.ops.kinds import Array, Ints, Namespace
from retrograd.ops.making.arguments import (
    as_integer,
    check_place,
    invalid_combination,
    refuse_out,
    size_argument,
)
from retrograd.ops.making.construction import fresh
from retrograd.ops.making.creation import deliver, like_on, publish
from retrograd.ops.registry import RECORDED, composite, function_only, op
from retrograd.random import discrete, integers, permutation
from retrograd.random.layout import fill_
from retrograd.random.mapping import batches, is_mapped
from retrograd.random.multinomial import multinomial as multinomial_array
from retrograd.random.normal import normal as normal_array
from retrograd.random.normal import normal_ as normal_array_
from retrograd.random.normal import normal_from_arrays
from retrograd.random.state import Generator, default_generator, generator_or_default
from retrograd.random.uniform import uniform
from retrograd.random.uniform import uniform_ as uniform_array_
from retrograd.signatures import CREATION, forms, sized
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device, backend_at, layout, memory_format, strided

_Sampler = Callable[[Generator, int, Any], Array]
_Draw = Callable[[Generator, tuple[int, ...], Any], Array | None]


_DRAWN = f"generator: Generator | None = None, out: Tensor | None = None, {CREATION}"
_LIKE = (
    f"generator: Generator | None = None, {CREATION}, memory_format: memory_format | None = None"
)


def _by_size(name: str, sample: _Sampler, draw: _Draw) -> Callable[..., Tensor]:
    @forms(*sized(_DRAWN))
    def create(
        *size: Any,
        generator: Generator | None = None,
        out: Tensor | None = None,
        dtype: dtypes.dtype | None = None,
        layout: layout | None = strided,
        device: Device = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        **named: object,
    ) -> Tensor:
        plain = layout is strided and dtype is None and device is None
        plain = plain and generator is None and out is None
        if plain and size and not (named or pin_memory or HOT["UNUSUAL"]):
            made = draw(default_generator, size, dtypes.get_default_dtype().numpy)
            if made is not None:
                return fresh(made, requires_grad)
        shape = size_argument(name, size, named)
        place = check_place(name, layout, device, pin_memory)
        kind = dtypes.as_dtype(dtype, name)
        if kind is None:
            kind = dtypes.get_default_dtype() if out is None else out.dtype
        source = generator_or_default(generator, name, place)
        if TRANSFORMS.active and is_mapped():
            again = functools.partial(
                create, generator=source, dtype=kind, requires_grad=requires_grad
            )
            return batches().by_shape(again, shape, out)
        array = place.drawn(_own, sample, shape, source, math.prod(shape), kind.numpy)
        return deliver(name, array, out, dtype, requires_grad)

    create.__name__ = create.__qualname__ = name
    shorten = core.shortcut("draw_new", draw, default_generator, dtypes.DEFAULTS)
    return publish(shorten(create))


def _own(sample: Callable[..., Array], shape: tuple[int, ...], *args: object) -> Array:
    """Numbers in a shape. A sampler may hand out a view of the generator's own words: copied."""
    array = sample(*args).reshape(shape)
    return array if can_write(array) else array.copy()


def _in_rows(array: Array) -> bool:
    return type(array) is np.ndarray and array.flags.c_contiguous


def _like(
    name: str, fill: Callable[[Generator, Array], Array], draw: _Draw
) -> Callable[..., Tensor]:
    def create(
        input: Tensor,
        *,
        generator: Generator | None = None,
        dtype: dtypes.dtype | None = None,
        layout: layout | None = None,
        device: Device = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: memory_format | None = None,
    ) -> Tensor:
        plain = layout is None and dtype is None and device is None
        plain = plain and generator is None and memory_format is None
        if plain and type(input) is Tensor and not (pin_memory or HOT["UNUSUAL"]):
            array = input._array
            made = draw(default_generator, array.shape, array.dtype) if _in_rows(array) else None
            if made is not None:
                return fresh(made, requires_grad)
        place = check_place(name, layout, device, pin_memory)
        if TRANSFORMS.active and is_mapped():
            again = functools.partial(
                create, generator=generator, dtype=dtype, memory_format=memory_format
            )
            return batches().like(again, input)
        kind = dtypes.as_dtype(dtype, name)
        target = input._array.dtype if kind is None else kind.numpy
        array = like_on(place if device is not None else None, input._array, target, memory_format)
        backend_of(array).drawn(
            fill, generator_or_default(generator, name, backend_of(array)), array
        )
        return fresh(array, requires_grad)

    create.__name__ = create.__qualname__ = name
    return publish(core.shortcut("draw_like", draw, default_generator)(create))


rand = _by_size(
    "rand",
    lambda source, count, kind: uniform(source, count, 0.0, 1.0, kind),
    kernels.draw_uniform,
)
rand.__doc__ = """Uniform numbers in [0, 1).

>>> import retrograd as torch
>>> torch.rand(2, generator=torch.Generator().manual_seed(0))
tensor([0.4963, 0.7682])
"""
randn = _by_size(
    "randn",
    lambda source, count, kind: normal_array(source, count, 0.0, 1.0, kind),
    kernels.draw_normal,
)
randn.__doc__ = "Normal numbers with mean 0 and standard deviation 1."
rand_like = _like("rand_like", uniform_array_, kernels.draw_uniform)
rand_like.__doc__ = "Uniform numbers in [0, 1) in the shape, dtype and memory order of a tensor."
randn_like = _like("randn_like", normal_array_, kernels.draw_normal)
randn_like.__doc__ = "Normal numbers in the shape, dtype and memory order of a tensor."


def _interval(
    function: str, args: tuple[Any, ...], named: dict[str, Any], last: str | None
) -> list[Any]:
    """The forms (high, last) and (low, high, last) of an interval, by position or by name."""
    given = list(args)
    all_named = dict(named)
    ending = named.pop(last, None) if last else None
    if last and ending is None and given:
        ending = given.pop()
    high = named.pop("high", None)
    low = named.pop("low", None)
    if high is None and given:
        high = given.pop()
    if low is None and given:
        low = given.pop()
    if named or given or high is None:
        tail = f", {last}" if last else ""
        forms = f"int high{tail}\nint low, int high{tail}"
        raise invalid_combination(function, args, forms, **all_named)
    low = 0 if low is None else as_integer(function, "low", 1, low)
    return [low, as_integer(function, "high", 2, high), ending]


@publish
@forms(
    f"(high: int, size: Sequence[int], *, {_DRAWN}) -> Tensor",
    f"(low: int, high: int, size: Sequence[int], *, {_DRAWN}) -> Tensor",
)
def randint(
    *args: Any,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = strided,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    **named: Any,
) -> Tensor:
    """Whole numbers in [low, high): ``randint(high, size)`` or ``randint(low, high, size)``.

    >>> torch.randint(10, (3,), generator=torch.Generator().manual_seed(0))
    tensor([4, 9, 3])
    """
    plain = layout is strided and dtype is None and device is None
    plain = plain and generator is None and out is None
    if plain and 1 < len(args) < 4 and not (named or pin_memory or requires_grad or HOT["UNUSUAL"]):
        bounds = args[:-1] if len(args) == 3 else (0, args[0])
        made = kernels.draw_integers(default_generator, args[-1], dtypes.int64.numpy, *bounds)
        if made is not None:
            return fresh(made)
    low, high, size = _interval("randint", args, named, "size")
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"randint(): argument 'size' (position {max(len(args), 2)}) must be tuple of ints, not "
            f"{type(size).__name__}"
        )
    shape = size_argument("randint", (size,), {}, single=False)
    place = check_place("randint", layout, device, pin_memory)
    kind = dtypes.as_dtype(dtype, "randint")
    if kind is None:
        kind = dtypes.int64 if out is None else out.dtype
    source = generator_or_default(generator, "randint", place)
    if TRANSFORMS.active and is_mapped():
        return batches().by_shape(
            lambda wanted: randint(low, high, wanted, generator=source, dtype=kind), shape, out
        )
    numbers = source, math.prod(shape), low, high, kind.numpy
    array = place.drawn(_own, integers.randint, shape, *numbers)
    return deliver("randint", array, out, dtype, requires_grad)


@publish
@forms(
    f"(input: Tensor, high: int, *, {_LIKE}) -> Tensor",
    f"(input: Tensor, low: int, high: int, *, {_LIKE}) -> Tensor",
)
def randint_like(
    input: Tensor,
    *args: Any,
    generator: Generator | None = None,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: memory_format | None = None,
    **named: object,
) -> Tensor:
    """Whole numbers in [low, high) in the shape and dtype of a tensor."""
    plain = layout is None and dtype is None and device is None
    plain = plain and generator is None and memory_format is None
    if plain and type(input) is Tensor and not (named or pin_memory or HOT["UNUSUAL"]):
        bounds = args if len(args) == 2 else (0, *args)
        array = input._array
        if len(bounds) == 2 and _in_rows(array):
            made = kernels.draw_integers(default_generator, array.shape, array.dtype, *bounds)
            if made is not None:
                return fresh(made, requires_grad)
    low, high, _ = _interval("randint_like", args, named, None)
    if TRANSFORMS.active and is_mapped():
        return batches().like(
            lambda wide: randint_like(wide, low, high, generator=generator, dtype=dtype), input
        )
    place = check_place("randint_like", layout, device, pin_memory)
    kind = dtypes.as_dtype(dtype, "randint_like")
    target = input._array.dtype if kind is None else kind.numpy
    array = like_on(place if device is not None else None, input._array, target, memory_format)
    source = generator_or_default(generator, "randint_like", backend_of(array))
    backend_of(array).drawn(lambda a: integers.randint_(source, a, low, high), array)
    return fresh(array, requires_grad)


@publish
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = strided,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers 0 .. n - 1 in random order.

    >>> torch.randperm(5, generator=torch.Generator().manual_seed(0))
    tensor([4, 0, 1, 3, 2])
    """
    plain = layout is strided and dtype is None and device is None
    plain = plain and generator is None and out is None
    if plain and not (pin_memory or requires_grad or HOT["UNUSUAL"]):
        made = kernels.draw_order(default_generator, n)
        if made is not None:
            return fresh(made)
    count = as_integer("randperm", "n", 1, n)
    place = check_place("randperm", layout, device, pin_memory)
    kind = dtypes.as_dtype(dtype, "randperm")
    if kind is None:
        kind = dtypes.int64 if out is None else out.dtype
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
    source = generator_or_default(generator, "randperm", place)
    if TRANSFORMS.active and is_mapped():
        return batches().one_by_one(lambda: randperm(n, generator=source, dtype=kind), out)
    array = place.drawn(_own, permutation.randperm, (count,), source, count, kind.numpy)
    return deliver("randperm", array, out, dtype, requires_grad)


# ------------------------------------------------------------------------ from other tensors


@op(
    input=lambda m, g: m.zeros_like(g),
    half="move",
    out=True,
    aten="bernoulli",
)
def _bernoulli(xp: Namespace, input: Array, generator: Generator) -> Array:
    made = kernels.draw_chances(generator, input) if generator.samplers is None else None
    if made is not None:
        return made
    drawn = discrete.bernoulli_from_array(generator, input.reshape(-1))
    return fill_(xp.empty(input.shape, input.dtype), drawn)


@composite()
def bernoulli(
    input: Tensor,
    p: float | Tensor | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A one with probability `input[i]` for every element, else a zero; or with one `p` for all."""
    source = generator_or_default(generator, "bernoulli", backend_of(input._array))
    if TRANSFORMS.active and is_mapped():
        if out is not None:
            return batches().by_shape(randn, (), out)  # raises
        return batches().of_tensors(lambda wide: bernoulli(wide, p, generator=source), input)
    if p is not None:
        array = input._array
        fresh_memory = fresh(xp_of(array).empty(array.shape, array.dtype))
        return fresh_memory.bernoulli_(p, generator=source)
    if out is not None:
        refuse_out("bernoulli", input, out)
    return RECORDED._bernoulli(input, source, out=out)


@op(input=lambda m, g: m.zeros_like(g), half="move", aten="poisson")
def _poisson(xp: Namespace, input: Array, generator: Generator) -> Array:
    return discrete.poisson(generator, input)


@function_only()
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """A Poisson number of rate `input[i]` for every element."""
    if TRANSFORMS.active and is_mapped():
        return batches().of_tensors(lambda wide: poisson(wide, generator), input)
    return RECORDED._poisson(
        input, generator_or_default(generator, "poisson", backend_of(input._array))
    )


@function_only()
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """The number of successes in `count[i]` trials of probability `prob[i]`."""
    source = generator_or_default(generator, "binomial", backend_of(count._array))
    if TRANSFORMS.active and is_mapped():
        return batches().of_tensors(lambda n, p: binomial(n, p, source), count, prob)
    counts, chances = xp_of(count._array).broadcast_arrays(count._array, prob._array)
    return fresh(discrete.binomial(source, counts, chances))


@composite()
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """`num_samples` indices from every row, drawn in proportion to the weights in it."""
    plain = generator is None and out is None and type(input) is Tensor and type(num_samples) is int
    if plain and not HOT["UNUSUAL"] and _in_rows(input._array):
        return fresh(multinomial_array(default_generator, input._array, num_samples, replacement))
    count = as_integer("multinomial", "num_samples", 2, num_samples)
    source = generator_or_default(generator, "multinomial", backend_of(input._array))
    if TRANSFORMS.active and is_mapped():
        if out is not None:
            return batches().by_shape(randn, (), out)  # raises
        return batches().of_rows(
            lambda rows: multinomial(rows, count, replacement, generator=source), input
        )
    drawn = backend_of(input._array).drawn
    array = drawn(multinomial_array, source, input._array, count, replacement)
    return deliver("multinomial", xp_of(array).array(array, order="C"), out, None, False)


@op(
    mean=lambda m, g: m.zeros_like(g),
    half="move",
    out=True,
    node_name="NormalBackward1",
    aten="normal.Tensor_float",
    event="retrograd::normal_around",
)
def _normal_around(xp: Namespace, mean: Array, std: float, generator: Generator) -> Array:
    return normal_from_arrays(generator, mean, std)


@op(
    std=lambda m, g: m.zeros_like(g),
    half="move",
    out=True,
    node_name="NormalBackward2",
    aten="normal.float_Tensor",
    event="retrograd::normal_of_width",
)
def _normal_of_width(xp: Namespace, std: Array, mean: float, generator: Generator) -> Array:
    return normal_from_arrays(generator, mean, std)


@op(
    mean=lambda m, g: m.zeros_like(g),
    std=lambda m, g: m.zeros_like(g),
    half="move",
    out=True,
    node_name="NormalBackward3",
    aten="normal.Tensor_Tensor",
    event="retrograd::normal_both",
)
def _normal_both(xp: Namespace, mean: Array, std: Array, generator: Generator) -> Array:
    return normal_from_arrays(generator, mean, std)


def _normal_batch(mean: Any, std: Any, source: Generator, out: Tensor | None) -> Tensor:
    """`normal` of tensors inside of vmap."""
    if out is not None:
        return batches().by_shape(randn, (), out)  # raises
    if isinstance(mean, Tensor) and isinstance(std, Tensor):
        return batches().of_tensors(lambda m, s: normal(m, s, generator=source), mean, std)
    if isinstance(mean, Tensor):
        return batches().of_tensors(lambda m: normal(m, std, generator=source), mean)
    return batches().of_tensors(lambda s: normal(mean, s, generator=source), std)


@function_only()
def normal(
    mean: Tensor | float = 0.0,
    std: Tensor | float = 1.0,
    size: Ints | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = strided,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Normal numbers; `mean` and `std` are tensors, or numbers with a `size`.

    >>> torch.normal(0.0, 1.0, (2,), generator=torch.Generator().manual_seed(0))
    tensor([ 1.5410, -0.2934])
    """
    given = mean if isinstance(mean, Tensor) else std
    place = backend_of(given._array) if isinstance(given, Tensor) else backend_at(device)
    source = generator_or_default(generator, "normal", place)
    if TRANSFORMS.active and is_mapped() and (size is None or out is not None):
        return _normal_batch(mean, std, source, out)
    if out is not None:
        refuse_out("normal", mean, std, out)
    if isinstance(mean, Tensor):
        if isinstance(std, Tensor):
            result: Tensor = RECORDED._normal_both(mean, std, source, out=out)
        else:
            result = RECORDED._normal_around(mean, float(std), source, out=out)
        return result
    if isinstance(std, Tensor):
        return RECORDED._normal_of_width(std, float(mean), source, out=out)
    if size is None:
        forms = "Tensor mean, Tensor std\nTensor mean, float std\nfloat mean, Tensor std\n"
        raise invalid_combination("normal", (mean, std), forms + "float mean, float std, size")
    shape = size_argument("normal", (size,), {}, single=False)
    place = check_place("normal", layout, device, pin_memory)
    kind = dtypes.as_dtype(dtype, "normal")
    if kind is None:
        kind = dtypes.get_default_dtype() if out is None else out.dtype
    if TRANSFORMS.active and is_mapped():
        again = functools.partial(normal, mean, std, generator=source, dtype=kind)
        return batches().by_shape(again, shape, out)
    numbers = source, math.prod(shape), float(mean), float(std), kind.numpy
    array = place.drawn(_own, normal_array, shape, *numbers)
    return deliver("normal", array, out, dtype, requires_grad)
