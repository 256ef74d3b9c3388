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
def builds() -> tuple[str, ...]: ...
def use_build(name: str, /) -> str: ...
