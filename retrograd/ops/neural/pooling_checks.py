"""What pooling refuses: wrong shapes and options, in PyTorch's words and order."""

from __future__ import annotations

from retrograd.backend.neutral.pooling import pooled_size
from retrograd.ops import errors
from retrograd.ops.kinds import Ints
from retrograd.ops.neural.windows import AXIS_LETTERS, Sizes, sizes_text, spread, window_option
from retrograd.ops.sizes import Shape
from retrograd.tensor import Tensor

_COUNT_WORDS = {2: "two", 3: "three"}


def pooling_options(
    function: str,
    dimensions: int,
    shape: Shape,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool,
) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    """Kernel size, stride, padding and dilation with one entry per dimension, checked."""
    kernel = _option(function, dimensions, "kernel_size", 2, kernel_size)
    given = () if stride is None else window_option(function, "stride", 3, stride)
    steps = _option(function, dimensions, "stride", 3, given) if given else kernel
    pads = _option(function, dimensions, "padding", 4, padding)
    gaps = _option(function, dimensions, "dilation", 5, dilation)
    _check_dimensions(function, dimensions, shape)
    for size, step, pad, gap in zip(kernel, steps, pads, gaps, strict=True):
        if step == 0:
            raise RuntimeError("stride should not be zero")
        if pad < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {pad}")
        if pad > int(((size - 1) * gap + 1) / 2):
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={pad}, "
                f"kernel_size={size} and dilation={gap}"
            )
    _check_positive("kernel size", "k", kernel)
    _check_positive("stride", "d", steps)
    _check_positive("dilation", "dilation", gaps)
    _check_not_empty(function, dimensions, shape)
    _check_half(kernel, pads)
    spatial = shape[-dimensions:]
    if function == "avg_pool3d" and any(
        size < window for size, window in zip(spatial, kernel, strict=True)
    ):
        raise RuntimeError(
            f"input image ({_lettered('', spatial)}) smaller than kernel size "
            f"({_lettered('k', kernel)})"
        )
    sizes = zip(spatial, kernel, steps, pads, gaps, strict=True)
    result = [pooled_size(*numbers, ceil_mode) for numbers in sizes]
    if min(result) < 1:
        channels = shape[-dimensions - 1]
        raise RuntimeError(
            f"Given input size: ({sizes_text((channels, *spatial))}). Calculated output size: "
            f"({sizes_text((channels, *result))}). Output size is too small"
        )
    for count, numbers in zip(
        result, zip(spatial, kernel, steps, pads, gaps, strict=True), strict=True
    ):
        _check_reach(function, count, *numbers)
    return kernel, steps, pads, gaps


def _check_reach(
    function: str, count: int, size: int, kernel: int, stride: int, padding: int, dilation: int
) -> None:
    """Refuse windows with no element of the input, which have no maximum: dilation makes them."""
    if dilation == 1:
        return
    for start in range(-padding, count * stride - padding, stride):
        first = start if start >= 0 else start % dilation  # of its places from zero on
        if first >= size or first > start + dilation * (kernel - 1):
            raise errors.unsupported(f"windows of {function} that lie in the padding entirely")


def _option(function: str, dimensions: int, name: str, position: int, value: object) -> Sizes:
    found = spread(window_option(function, name, position, value), dimensions)
    if len(found) == dimensions:
        return found
    words = {"stride": "must either be omitted, a", "dilation": "must be either a"}
    forms = words.get(name, "must either be a")
    if function == "avg_pool3d":
        forms = "must be omitted, a" if name == "stride" else "must be a"
    raise RuntimeError(
        f"{function}: {name} {forms} single int, or a tuple of {_COUNT_WORDS[dimensions]} ints"
    )


def _lettered(prefix: str, values: Sizes) -> str:
    """Values by dimension: kH: 2 kW: 3."""
    letters = AXIS_LETTERS[len(values)]
    return " ".join(f"{prefix}{axis}: {size}" for axis, size in zip(letters, values, strict=True))


def _check_positive(words: str, prefix: str, values: Sizes) -> None:
    if min(values) <= 0:
        raise RuntimeError(
            f"{words} should be greater than zero, but got {_lettered(prefix, values)}"
        )


def _check_dimensions(function: str, dimensions: int, shape: Shape) -> None:
    if len(shape) in (dimensions + 1, dimensions + 2):
        return
    if function == "avg_pool2d":
        if len(shape) < 3:
            raise errors.dimension_range(-3, len(shape))
        raise _optional_batch(dimensions, shape)
    raise RuntimeError(
        f"non-empty {dimensions + 1}D or {dimensions + 2}D (batch mode) tensor expected for input"
    )


def _optional_batch(dimensions: int, shape: Shape) -> Exception:
    return errors.runtime_error(
        f"Expected {dimensions + 1}D or {dimensions + 2}D (batch mode) tensor with optional 0 dim "
        f"batch size for input, but got:{list(shape)}",
        code="RG210",
    )


def _check_not_empty(function: str, dimensions: int, shape: Shape) -> None:
    if 0 not in shape[-dimensions - 1 :]:
        return
    if dimensions == 2:
        raise _optional_batch(dimensions, shape)
    if function == "max_pool3d":
        function = "max_pool3d_with_indices_out_cpu_template"
    raise RuntimeError(
        f"{function}(): Expected input's non-batch dimensions to have positive length, but input "
        f"has a shape of {list(shape)} and non-batch dimension 0 has length zero!"
    )


def _check_half(kernel: Sizes, padding: Sizes) -> None:
    if all(size // 2 >= pad for size, pad in zip(kernel, padding, strict=True)):
        return
    start = "pad should be smaller than or equal to half of kernel size, but got"
    if len(kernel) == 2:
        raise RuntimeError(
            f"{start} padW = {padding[1]}, padH = {padding[0]}, kW = {kernel[1]}, kH = {kernel[0]}"
        )
    raise RuntimeError(
        f"{start} kT: {kernel[0]} kW: {kernel[2]} kH: {kernel[1]} padT: {padding[0]} padW: "
        f"{padding[2]} padH: {padding[1]}"
    )


# ------------------------------------------------------------------------------------ sequences


def one_number(function: str, name: str, position: int, value: object) -> int:
    """An option of a function for sequences: a number, or a sequence of one."""
    found = window_option(function, name, position, value)
    if len(found) != 1:
        raise RuntimeError(
            f"{function}() argument '{name}' should contain one int (got {len(found)})"
        )
    return found[0]


def check_line_dimensions(function: str, input: Tensor) -> None:
    """A sequence has channels and perhaps a batch."""
    found = input._array.ndim
    if found not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {found}-dimensional tensor for argument #1 "
            f"'self' (while checking arguments for {function})"
        )


def line_options(
    input: Tensor, kernel_size: Ints, stride: Ints | None, padding: Ints, dilation: Ints
) -> tuple[int, int, int, int]:
    """The four numbers of pooling of sequences, each given as a number or a sequence of one."""
    if stride is None or window_option("max_pool1d", "stride", 3, stride) == ():
        stride = kernel_size
    check_line_dimensions("max_pool1d", input)
    return (
        one_number("max_pool1d", "kernel_size", 2, kernel_size),
        one_number("max_pool1d", "stride", 3, stride),
        one_number("max_pool1d", "padding", 4, padding),
        one_number("max_pool1d", "dilation", 5, dilation),
    )


def check_max_pool1d(
    shape: Shape,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool,
) -> tuple[int, int, int, int]:
    """The four numbers of `max_pool1d`, checked."""
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise errors.runtime_error(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got:{list(shape)}",
            code="RG210",
        )
    values = {
        "kernel_size": window_option("max_pool1d", "kernel_size", 2, kernel_size),
        "stride": () if stride is None else window_option("max_pool1d", "stride", 3, stride),
        "padding": window_option("max_pool1d", "padding", 4, padding),
        "dilation": window_option("max_pool1d", "dilation", 5, dilation),
    }
    forms = {"stride": "None, an int, list of ints,", "padding": "an int, list of ints,"}
    for name, found in values.items():
        if len(found) != 1 and not (name == "stride" and not found):
            raise RuntimeError(
                f"max_pool1d() {name} must be {forms.get(name, 'an int, list of ints')} or tuple "
                f"of ints of size 1 but got size {len(found)}"
            )
    size = values["kernel_size"][0]
    step = values["stride"][0] if values["stride"] else size
    pad, gap = values["padding"][0], values["dilation"][0]
    for name, number in (("kernel_size", size), ("stride", step)):
        if number <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {number}")
    if pad < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {pad}")
    if pad > size // 2:
        raise RuntimeError(
            "max_pool1d() padding should be at most half of kernel size, but got "
            f"padding={pad} and kernel_size={size}"
        )
    if gap <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {gap}")
    count = pooled_size(shape[-1], size, step, pad, gap, ceil_mode)
    if count < 1:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {count}")
    _check_reach("max_pool1d", count, shape[-1], size, step, pad, gap)
    return size, step, pad, gap
