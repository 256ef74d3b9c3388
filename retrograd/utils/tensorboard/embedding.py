"""Points with labels and pictures for TensorBoard's projector, in files beside the log."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.tensor import Array
from retrograd.utils.tensorboard.arrays import grid, to_array
from retrograd.utils.tensorboard.package import part


def folder_of(tag: str, step: int) -> str:
    """The folder of one embedding; characters of a tag that would make folders are coded."""
    for character in "%/\\":
        tag = tag.replace(character, f"%{ord(character):02x}")
    return f"{str(step).zfill(5)}/{tag}"


def write(
    log_dir: str,
    folder: str,
    points: Array,
    metadata: Sequence[object] | None,
    label_img: Any,
    metadata_header: Sequence[object] | None,
) -> None:
    """Write the points, and their labels and pictures if there are any."""
    path = os.path.join(log_dir, folder)
    if os.path.isdir(path):
        print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
    elif os.path.exists(path):
        raise NotADirectoryError(f"Path: `{path}` exists, but is a file. Cannot proceed.")
    else:
        os.makedirs(path)
    if metadata is not None:
        if len(points) != len(metadata):
            raise AssertionError("#labels should equal with #data points")
        _write_lines(os.path.join(path, "metadata.tsv"), _label_rows(metadata, metadata_header))
    if label_img is not None:
        if len(points) != label_img.shape[0]:
            raise AssertionError("#images should equal with #data points")
        _write_sprite(os.path.join(path, "sprite.png"), to_array(label_img))
    if points.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    rows = ["\t".join(str(number.item()) for number in point) for point in points]
    _write_lines(os.path.join(path, "tensors.tsv"), rows)


def describe(
    folder: str, tag: str, step: int, has_metadata: bool, picture_size: Sequence[int] | None
) -> object:
    """The entry of one embedding in the projector's configuration."""
    info = part("tensorboard.plugins.projector.projector_config_pb2").EmbeddingInfo()
    info.tensor_name = f"{tag}:{str(step).zfill(5)}"
    info.tensor_path = os.path.join(folder, "tensors.tsv")
    if has_metadata:
        info.metadata_path = os.path.join(folder, "metadata.tsv")
    if picture_size is not None:
        info.sprite.image_path = os.path.join(folder, "sprite.png")
        info.sprite.single_image_dim.extend([picture_size[3], picture_size[2]])
    return info


def write_configuration(log_dir: str, configuration: object) -> None:
    """Write which embeddings there are."""
    words = part("google.protobuf.text_format").MessageToString(configuration)
    with open(os.path.join(log_dir, "projector_config.pbtxt"), "w", encoding="utf-8") as file:
        file.write(words)


def _label_rows(metadata: Sequence[Any], header: Sequence[object] | None) -> list[str]:
    if not header:
        return [str(label) for label in metadata]
    if len(header) != len(metadata[0]):
        raise AssertionError("len of header must be equal to the number of columns in metadata")
    return ["\t".join(str(entry) for entry in row) for row in [header, *metadata]]


def _write_lines(path: str, lines: list[str]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _write_sprite(path: str, pictures: Array) -> None:
    """All pictures in one square."""
    together = grid(pictures, math.ceil(math.sqrt(len(pictures)))).transpose(1, 2, 0)
    square = np.zeros((together.shape[1], together.shape[1], 3))
    square[: together.shape[0]] = together
    part("PIL.Image").fromarray(np.uint8((square * 255).clip(0, 255))).save(path)
