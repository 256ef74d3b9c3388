"""What is logged, as arrays: numbers, pictures, films."""

from __future__ import annotations

import math

import numpy as np

from retrograd import dtypes
from retrograd.tensor import Array, Tensor
from retrograd.utils.tensorboard.package import part


def to_array(value: object) -> Array:
    """A tensor, number or array as an array of a dtype that NumPy knows itself.

    >>> to_array(torch.ones(2, requires_grad=True))
    array([1., 1.], dtype=float32)
    """
    if isinstance(value, np.ndarray):
        return value
    if np.isscalar(value):
        return np.array([value])
    if isinstance(value, Tensor):
        array = value.detach().numpy() if value.dtype is not dtypes.bfloat16 else None
        return value._array.astype(np.float16) if array is None else array
    raise NotImplementedError(f"Got {type(value)}, but numpy array or torch tensor are expected.")


def as_picture(array: Array, dataformats: str) -> Array:
    """An image in any order of dimensions as [height, width, colour], bytes from 0 to 255."""
    return to_bytes(to_height_width_colour(array, dataformats))


def to_bytes(array: Array) -> Array:
    """Values as bytes: floating-point ones count from 0 to 1."""
    scale = 1 if array.dtype == np.uint8 else 255
    return (array.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


def to_height_width_colour(array: Array, dataformats: str) -> Array:
    """One image, or several side by side, with three colours unless it has four."""
    if len(set(dataformats)) != len(dataformats):
        raise AssertionError(
            f"You can not use the same dimension shorthand twice.             input_format: "
            f"{dataformats}"
        )
    if array.ndim != len(dataformats):
        raise AssertionError(
            "size of input tensor and input format are different.         tensor shape: "
            f"{array.shape}, input_format: {dataformats}"
        )
    order = dataformats.upper()
    if len(order) == 4:
        return grid(array.transpose([order.find(axis) for axis in "NCHW"])).transpose(1, 2, 0)
    if len(order) == 2:
        array = array.transpose([order.find(axis) for axis in "HW"])[:, :, None]
    else:
        array = array.transpose([order.find(axis) for axis in "HWC"])
    return array.repeat(3, axis=2) if array.shape[2] == 1 else array


def grid(images: Array, columns: int = 8) -> Array:
    """Images [number, colour, height, width] in rows and columns, as one [3, height, width]."""
    if images.shape[1] == 1:
        images = images.repeat(3, axis=1)
    if images.ndim != 4 or images.shape[1] != 3:
        raise AssertionError("Input should be a 4D numpy array with 3 channels")
    number, _, height, width = images.shape
    columns = min(number, columns)
    canvas = np.zeros((3, height * math.ceil(number / columns), width * columns), images.dtype)
    for place, picture in enumerate(images):
        row, column = divmod(place, columns)
        top, left = row * height, column * width
        canvas[:, top : top + height, left : left + width] = picture
    return canvas


def film_frames(array: Array) -> Array:
    """Films [number, time, colour, height, width] side by side, as frames of bytes."""
    if array.dtype == np.uint8:
        array = array.astype(np.float32) / 255.0
    number, time, colours, height, width = array.shape
    if number & (number - 1):  # black films up to a power of two
        missing = 2 ** number.bit_length() - number
        array = np.concatenate((array, np.zeros((missing, time, colours, height, width))))
    rows = 2 ** ((number.bit_length() - 1) // 2)
    columns = len(array) // rows
    array = array.reshape(rows, columns, time, colours, height, width)
    array = array.transpose(2, 0, 4, 1, 5, 3)
    return to_bytes(array.reshape(time, rows * height, columns * width, colours))


def figure_picture(figure: object, close: bool) -> Array:
    """A figure of Matplotlib as [3, height, width]."""
    canvas = part("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    canvas.draw()
    picture = np.array(canvas.buffer_rgba(), dtype=np.uint8)[:, :, :3]
    if close:
        part("matplotlib.pyplot").close(figure)
    return np.moveaxis(picture, 2, 0)
