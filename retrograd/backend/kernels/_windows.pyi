from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
Sizes = tuple[int, ...]

# None: the arrays are none that the function takes
def convolution(
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
    /,
) -> Array | None: ...
def convolution_at(
    input: Array,
    weight: Array,
    windows: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    /,
) -> Array | None: ...
def convolution_input_gradient(
    gradient: Array,
    weight: Array,
    input_shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    /,
) -> Array | None: ...
def convolution_weight_gradient(
    gradient: Array,
    input: Array,
    weight_shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    /,
) -> Array | None: ...
def planes_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    grouped: Sizes,
    scaled: Sizes,
    eps: float,
    /,
) -> tuple[Array, Array, Array, Array] | None: ...
def planes_norm_gradients(
    grad: Array,
    input: Array,
    weight: Array | None,
    mean: Array,
    inverse: Array,
    grouped: Sizes,
    scaled: Sizes,
    needs: tuple[bool, ...],
    /,
) -> tuple[Array | None, Array | None, Array | None] | None: ...
def max_pool(
    input: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool, /
) -> tuple[Array, Array] | None: ...
def adaptive_max_pool(input: Array, output_size: Sizes, /) -> tuple[Array, Array] | None: ...
def max_pool2d_gradient(gradient: Array, input: Array, places: Array, /) -> Array | None: ...
def max_pool3d_gradient(gradient: Array, input: Array, places: Array, /) -> Array | None: ...
def scatter_places(gradient: Array, places: Array, spatial: Sizes, /) -> Array | None: ...
def avg_pool(
    input: Array,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    /,
) -> Array | None: ...
def avg_pool_gradient(
    gradient: Array,
    input: Array,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    /,
) -> Array | None: ...
def adaptive_avg_pool(input: Array, output_size: Sizes, /) -> Array | None: ...
def adaptive_avg_pool2d_gradient(gradient: Array, input: Array, /) -> Array | None: ...
def adaptive_avg_pool3d_gradient(gradient: Array, input: Array, /) -> Array | None: ...
def builds() -> tuple[str, ...]: ...
def use_build(name: str, /) -> str: ...
