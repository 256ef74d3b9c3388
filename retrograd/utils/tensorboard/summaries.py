"""The messages of a log: each function makes TensorBoard's protocol buffer of one kind."""

from __future__ import annotations

import io
import json
import struct
import wave
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from retrograd.tensor import Array, Tensor
from retrograd.utils.tensorboard.arrays import (
    as_picture,
    film_frames,
    to_array,
    to_bytes,
    to_height_width_colour,
)
from retrograd.utils.tensorboard.package import part, proto

_MOST_THRESHOLDS = 127
_LARGEST = 1 << 31


def scalar(
    name: str, value: object, new_style: bool = False, double_precision: bool = False
) -> object:
    """One number."""
    array = to_array(value).squeeze()
    if array.ndim != 0:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions).             Was given size: "
            f"{array.size} and {array.ndim} dimensions."
        )
    number = float(array)
    if not new_style:
        return _summary(tag=name, simple_value=number)
    make = proto("tensor").TensorProto
    if double_precision:
        tensor = make(double_val=[number], dtype="DT_DOUBLE")
    else:
        tensor = make(float_val=[number], dtype="DT_FLOAT")
    return _summary(tag=name, tensor=tensor, metadata=_metadata("scalars"))


def _half_bits(array: Array) -> list[int]:
    """Numbers of a half precision as PyTorch's logs have them: the bits of their float32."""
    return [struct.unpack("i", struct.pack("f", float(x)))[0] for x in array.reshape(-1)]


def _numbers(array: Array) -> list[object]:
    return array.reshape(-1).tolist()


def _pairs(array: Array) -> list[object]:
    flat = array.reshape(-1)
    return _numbers(np.stack([flat.real, flat.imag], axis=1))


# the name of a dtype -> its name in a log, the field for its values, and how they get there
_KINDS: dict[str, tuple[str, str, Callable[[Array], object]]] = {
    "torch.float16": ("DT_HALF", "half_val", _half_bits),
    "torch.bfloat16": ("DT_BFLOAT16", "half_val", _half_bits),
    "torch.float32": ("DT_FLOAT", "float_val", _numbers),
    "torch.float64": ("DT_DOUBLE", "double_val", _numbers),
    "torch.int8": ("DT_INT8", "int_val", _numbers),
    "torch.uint8": ("DT_UINT8", "uint32_val", _numbers),
    "torch.int16": ("DT_INT16", "int_val", _numbers),
    "torch.int32": ("DT_INT32", "int_val", _numbers),
    "torch.int64": ("DT_INT64", "int64_val", _numbers),
    "torch.complex64": ("DT_COMPLEX64", "scomplex_val", _pairs),
    "torch.complex128": ("DT_COMPLEX128", "dcomplex_val", _pairs),
    "torch.bool": ("DT_BOOL", "bool_val", _numbers),
}


def tensor(tag: str, value: Tensor) -> object:
    """A whole tensor."""
    if value.nbytes >= _LARGEST:
        raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
    if str(value.dtype) not in _KINDS:
        raise ValueError(f"{tag} has unsupported tensor dtype {value.dtype}")
    kind, place, convert = _KINDS[str(value.dtype)]
    values = {place: convert(value._array)}
    made = proto("tensor").TensorProto(dtype=kind, tensor_shape=_shape(value.shape), **values)
    return _summary(tag=tag, metadata=_metadata("tensor"), tensor=made)


# --- histograms -----------------------------------------------------------------------------------


def histogram(name: str, values: object, bins: Any, max_bins: int | None = None) -> object:
    """How often values fall into each bin; bins are numbers, or a way of NumPy's to find them."""
    flat = to_array(values).astype(float).reshape(-1)
    if flat.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(flat, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, limits = _coarser(counts, limits, len(counts) // max_bins)
    filled = np.flatnonzero(counts)
    if not len(filled):
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = int(filled[0]), int(filled[-1])
    # A log has only right limits: an empty bin before the first one tells where that begins.
    counts = np.concatenate([[0], counts[first : last + 1]])
    return histogram_raw(
        name,
        flat.min(),
        flat.max(),
        len(flat),
        flat.sum(),
        flat.dot(flat),
        limits[first : last + 2].tolist(),
        counts.tolist(),
    )


def _coarser(counts: Array, limits: Array, together: int) -> tuple[Array, Array]:
    """Every few bins as one; the last one may have fewer."""
    starts = np.arange(0, len(counts), together)
    return np.add.reduceat(counts, starts), np.append(limits[:-1][starts], limits[-1])


def histogram_raw(
    name: str,
    min: float,
    max: float,
    num: int,
    sum: float,
    sum_squares: float,
    bucket_limits: Sequence[float],
    bucket_counts: Sequence[float],
) -> object:
    """A histogram from its figures."""
    histo = proto("summary").HistogramProto(
        min=min,
        max=max,
        num=num,
        sum=sum,
        sum_squares=sum_squares,
        bucket_limit=bucket_limits,
        bucket=bucket_counts,
    )
    return _summary(tag=name, histo=histo)


# --- pictures and sounds --------------------------------------------------------------------------


def image(tag: str, value: object, dataformats: str) -> object:
    """One image, or several side by side."""
    return _summary(tag=tag, image=_encoded(as_picture(to_array(value), dataformats)))


def image_boxes(
    tag: str, value: object, boxes: object, rescale: float, dataformats: str, labels: object
) -> object:
    """An image with rectangles around parts of it, given by two corners."""
    picture = to_bytes(to_height_width_colour(to_array(value), dataformats))
    return _summary(tag=tag, image=_encoded(picture, rescale, to_array(boxes), labels))


def _encoded(picture: Array, rescale: float = 1, boxes: Any = None, labels: Any = None) -> object:
    height, width, colours = picture.shape
    images = part("PIL.Image")
    drawn = images.fromarray(np.ascontiguousarray(picture))
    for place, box in enumerate(() if boxes is None else boxes):
        _draw_box(drawn, box.tolist(), None if labels is None else labels[place])
    size = (int(width * rescale), int(height * rescale))
    written = io.BytesIO()
    drawn.resize(size, images.Resampling.LANCZOS).save(written, format="PNG")
    return _image(height, width, colours, written)


def _draw_box(image: object, box: list[float], label: str | None) -> None:
    left, top, right, bottom = box
    draw = part("PIL.ImageDraw").Draw(image)
    corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
    draw.line(corners, width=2, fill="Red")
    if label:
        font = part("PIL.ImageFont").load_default()
        x0, y0, x1, y1 = font.getbbox(label)
        margin = np.ceil(0.05 * (y1 - y0))
        above = bottom - (y1 - y0) - margin
        draw.rectangle([(left, above - margin), (left + x1 - x0, bottom)], fill="Red")
        draw.text((left + margin, above), label, fill="black", font=font)


def video(tag: str, value: object, fps: float) -> object:
    """Films as one animated picture."""
    frames = film_frames(to_array(value))
    first, *rest = [part("PIL.Image").fromarray(np.ascontiguousarray(frame)) for frame in frames]
    written = io.BytesIO()
    first.save(
        written, format="GIF", save_all=True, append_images=rest, duration=1000 / fps, loop=0
    )
    _, height, width, colours = frames.shape
    return _summary(tag=tag, image=_image(height, width, colours, written))


def _image(height: int, width: int, colours: int, written: io.BytesIO) -> object:
    return proto("summary").Summary.Image(
        height=height, width=width, colorspace=colours, encoded_image_string=written.getvalue()
    )


def audio(tag: str, value: object, sample_rate: int) -> object:
    """Sound with one channel, from -1 to 1; what is louder is cut."""
    array = to_array(value).squeeze()
    if abs(array).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        array = array.clip(-1, 1)
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    samples = (array * np.iinfo(np.int16).max).astype("<i2")
    written = io.BytesIO()
    with wave.open(written, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(sample_rate)
        sound.writeframes(samples.tobytes())
    made = proto("summary").Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(samples),
        encoded_audio_string=written.getvalue(),
        content_type="audio/wav",
    )
    return _summary(tag=tag, audio=made)


# --- texts, curves, layouts -----------------------------------------------------------------------


def text(tag: str, words: str) -> object:
    """A text, in Markdown if it likes."""
    data = part("tensorboard.plugins.text.plugin_data_pb2").TextPluginData(version=0)
    return _summary(
        tag=f"{tag}/text_summary",
        metadata=_metadata("text", data),
        tensor=_string(words.encode(), 1),
    )


def pr_curve(
    tag: str, labels: object, predictions: object, num_thresholds: int, weights: Any
) -> object:
    """Precision and recall at evenly spaced thresholds."""
    found, given = to_array(labels).astype(np.float64), to_array(predictions)
    count = min(num_thresholds, _MOST_THRESHOLDS)
    weights = 1.0 if weights is None else weights
    places = np.floor(given * (count - 1)).astype(np.int32)

    def reaching(weight: Any) -> Array:
        """The weight of the predictions at or above each threshold."""
        bins, _ = np.histogram(places, bins=count, range=(0, count - 1), weights=weight)
        return bins[::-1].cumsum()[::-1]

    true, false = reaching(found * weights), reaching((1.0 - found) * weights)
    missed = true[0] - true
    precision = true / np.maximum(1e-7, true + false)
    recall = true / np.maximum(1e-7, true + missed)
    return pr_curve_raw(tag, true, false, false[0] - false, missed, precision, recall, count)


def pr_curve_raw(
    tag: str,
    tp: object,
    fp: object,
    tn: object,
    fn: object,
    precision: object,
    recall: object,
    num_thresholds: int,
) -> object:
    """A curve of precision and recall from its figures."""
    rows = np.stack([to_array(row) for row in (tp, fp, tn, fn, precision, recall)])
    data = part("tensorboard.plugins.pr_curve.plugin_data_pb2").PrCurvePluginData(
        version=0, num_thresholds=min(num_thresholds, _MOST_THRESHOLDS)
    )
    return _summary(tag=tag, metadata=_metadata("pr_curves", data), tensor=_floats(rows))


def custom_scalars(layout: dict[str, dict[str, list[Any]]]) -> object:
    """Which scalars are drawn together: ``{category: {title: ["Multiline", tags]}}``."""
    parts = part("tensorboard.plugins.custom_scalar.layout_pb2")
    categories = []
    for category, charts in layout.items():
        made = []
        for title, (kind, tags, *_) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError("len(tags) != 3")
                series = parts.MarginChartContent.Series(
                    value=tags[0], lower=tags[1], upper=tags[2]
                )
                content = {"margin": parts.MarginChartContent(series=[series])}
            else:
                content = {"multiline": parts.MultilineChartContent(tag=tags)}
            made.append(parts.Chart(title=title, **content))
        categories.append(parts.Category(title=category, chart=made))
    whole = parts.Layout(category=categories).SerializeToString()
    return _summary(
        tag="custom_scalars__config__",
        tensor=_string(whole, None),
        metadata=_metadata("custom_scalars"),
    )


def mesh(tag: str, vertices: object, colors: object, faces: Any, config_dict: object) -> object:
    """A body in space: points, triangles between them, colours."""
    metadata = part("tensorboard.plugins.mesh.metadata")
    kinds = part("tensorboard.plugins.mesh.plugin_data_pb2").MeshPluginData
    given = [(vertices, kinds.VERTEX), (faces, kinds.FACE), (colors, kinds.COLOR)]
    given = [(to_array(value), kind) for value, kind in given if value is not None]
    together = metadata.get_components_bitmask([kind for _, kind in given])
    config = "{}" if config_dict is None else json.dumps(config_dict, sort_keys=True)
    values = [
        proto("summary").Summary.Value(
            tag=metadata.get_instance_name(tag, kind),
            tensor=_floats(array),
            metadata=metadata.create_summary_metadata(
                tag, None, kind, together, array.shape, None, json_config=config
            ),
        )
        for array, kind in given
    ]
    return proto("summary").Summary(value=values)


# --- pieces ---------------------------------------------------------------------------------------


def _summary(**value: object) -> object:
    kind = proto("summary").Summary
    return kind(value=[kind.Value(**value)])


def _metadata(plugin: str, data: Any = None) -> object:
    kind = proto("summary").SummaryMetadata
    content = {} if data is None else {"content": data.SerializeToString()}
    return kind(plugin_data=kind.PluginData(plugin_name=plugin, **content))


def _shape(sizes: Sequence[int]) -> object:
    kind = proto("tensor_shape").TensorShapeProto
    return kind(dim=[kind.Dim(size=size) for size in sizes])


def _floats(array: Array) -> object:
    return proto("tensor").TensorProto(
        dtype="DT_FLOAT", float_val=_numbers(array), tensor_shape=_shape(array.shape)
    )


def _string(content: bytes, size: int | None) -> object:
    return proto("tensor").TensorProto(
        dtype="DT_STRING",
        string_val=[content],
        tensor_shape=_shape(() if size is None else (size,)),
    )
