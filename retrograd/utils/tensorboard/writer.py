"""SummaryWriter: numbers, pictures and texts of a run, in files that TensorBoard reads."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self

import numpy as np

from retrograd.ops.errors import unsupported
from retrograd.utils.tensorboard import embedding, summaries
from retrograd.utils.tensorboard.arrays import figure_picture, to_array
from retrograd.utils.tensorboard.graphs import graph
from retrograd.utils.tensorboard.hparams import hparams
from retrograd.utils.tensorboard.package import part, proto


class FileWriter:
    """One file of events in a folder, written in the background."""

    def __init__(
        self, log_dir: str, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = ""
    ) -> None:
        writers = part("tensorboard.summary.writer.event_file_writer")
        self.event_writer: Any = writers.EventFileWriter(
            str(log_dir), max_queue, flush_secs, filename_suffix
        )

    def get_logdir(self) -> str:
        """The folder."""
        folder: str = self.event_writer.get_logdir()
        return folder

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an event, with its step and its time."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(
        self, summary: object, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Write a summary as an event."""
        self.add_event(proto("event").Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Wait until everything is in the file."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write what is left and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """After `close`: go on in a new file of the same folder."""
        self.event_writer.reopen()


class SummaryWriter:
    """Log a run for TensorBoard; use it in a `with` statement, or call `close`.

    log_dir     the folder, by default a new one in `runs` with the time and the host's name
    comment     the end of that default name
    purge_step  hide what an earlier run with the same folder logged from this step on
    max_queue, flush_secs  how many events wait, and how long, before they are written
    filename_suffix        the end of the file's name
    """

    def __init__(
        self,
        log_dir: str | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._projector: Any = None
        self.default_bins = _default_bins()
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        """The main file's writer; a new one after `close`."""
        if self.file_writer is None or self.all_writers is None:
            self.file_writer = self._new_writer(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                events = proto("event")
                for content in (
                    {"file_version": "brain.Event:2"},
                    {"session_log": events.SessionLog(status=events.SessionLog.START)},
                ):
                    self.file_writer.add_event(events.Event(step=self.purge_step, **content))
                self.purge_step = None
        return self.file_writer

    def _new_writer(self, folder: str) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _add(
        self, summary: object, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        self._get_file_writer().add_summary(summary, global_step, walltime)

    def get_logdir(self) -> Any:
        """The folder that is written to."""
        return self.log_dir

    # ------------------------------------------------------------------ numbers

    def add_scalar(
        self,
        tag: str,
        scalar_value: object,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Log one number: a tensor with one element, or a number."""
        made = summaries.scalar(tag, scalar_value, new_style, double_precision)
        self._add(made, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, object],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log several numbers for one diagram; each gets a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            path = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if path not in self.all_writers:
                self.all_writers[path] = self._new_writer(path)
            made = summaries.scalar(main_tag, value)
            self.all_writers[path].add_summary(made, global_step, walltime)

    def add_tensor(
        self, tag: str, tensor: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Log a whole tensor."""
        self._add(summaries.tensor(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: object,
        global_step: int | None = None,
        bins: object = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Log how values are distributed; `bins` is also a name that NumPy knows, or limits."""
        if isinstance(bins, str) and bins == "tensorflow":
            bins = self.default_bins
        self._add(summaries.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Sequence[float],
        bucket_counts: Sequence[float],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log a histogram by its figures."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        made = summaries.histogram_raw(
            tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts
        )
        self._add(made, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, object],
        metric_dict: dict[str, object],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Log the hyperparameters of a run with the metrics that it reached."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        messages = hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = self._get_file_writer().get_logdir()
        with SummaryWriter(os.path.join(folder, run_name or str(time.time()))) as run:
            for message in messages:
                run._add(message, global_step)
            for name, value in metric_dict.items():
                run.add_scalar(name, value, global_step)

    # ------------------------------------------------------------------ pictures and sounds

    def add_image(
        self,
        tag: str,
        img_tensor: object,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Log an image: bytes, or numbers from 0 to 1."""
        self._add(summaries.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: object,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Log a batch of images as one."""
        self._add(summaries.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: object,
        box_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """Log an image with rectangles around parts of it."""
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != box_tensor.shape[0]:
            labels = None
        made = summaries.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(made, global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: object,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Log a figure of Matplotlib, or a list of them."""
        if isinstance(figure, list):
            pictures = np.stack([figure_picture(one, close) for one in figure])
            self.add_image(tag, pictures, global_step, walltime, dataformats="NCHW")
        else:
            self.add_image(tag, figure_picture(figure, close), global_step, walltime)

    def add_video(
        self,
        tag: str,
        vid_tensor: object,
        global_step: int | None = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Log films [number, time, colour, height, width] as one animated picture."""
        self._add(summaries.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: object,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Log sound with one channel."""
        self._add(summaries.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    # ------------------------------------------------------------------ texts, points, curves

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log a text."""
        self._add(summaries.text(tag, text_string), global_step, walltime)

    def add_embedding(
        self,
        mat: object,
        metadata: Sequence[object] | None = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Sequence[object] | None = None,
    ) -> None:
        """Log points, one in each row, with labels and pictures for the projector."""
        points = to_array(mat)
        step = 0 if global_step is None else global_step
        log_dir = self._get_file_writer().get_logdir()
        folder = embedding.folder_of(tag, step)
        embedding.write(log_dir, folder, points, metadata, label_img, metadata_header)
        if self._projector is None:
            config = part("tensorboard.plugins.projector.projector_config_pb2")
            self._projector = config.ProjectorConfig()
        size = None if label_img is None else label_img.shape
        info = embedding.describe(folder, tag, step, metadata is not None, size)
        self._projector.embeddings.extend([info])
        embedding.write_configuration(log_dir, self._projector)

    def add_pr_curve(
        self,
        tag: str,
        labels: object,
        predictions: object,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: object = None,
        walltime: float | None = None,
    ) -> None:
        """Log precision and recall of predictions from 0 to 1."""
        made = summaries.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(made, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: object,
        false_positive_counts: object,
        true_negative_counts: object,
        false_negative_counts: object,
        precision: object,
        recall: object,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: object = None,
        walltime: float | None = None,
    ) -> None:
        """Log a curve of precision and recall by its figures."""
        made = summaries.pr_curve_raw(
            tag,
            true_positive_counts,
            false_positive_counts,
            true_negative_counts,
            false_negative_counts,
            precision,
            recall,
            num_thresholds,
        )
        self._add(made, global_step, walltime)

    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Say which scalars are drawn together."""
        self._add(summaries.custom_scalars(layout))

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Draw several scalars in one diagram."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Draw a scalar between two others, given as value, lower and upper."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_mesh(
        self,
        tag: str,
        vertices: object,
        colors: object = None,
        faces: object = None,
        config_dict: object = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log a body in space."""
        made = summaries.mesh(tag, vertices, colors, faces, config_dict)
        self._add(made, global_step, walltime)

    # ------------------------------------------------------------------ what does not exist here

    def add_graph(
        self,
        model: object,
        input_to_model: object = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Call a model once and show the functions that it ran, module by module.

        model           the model; it runs in evaluation mode, without gradients
        input_to_model  what it is called with: a tensor, or a tuple of arguments
        """
        made = graph(model, input_to_model)
        if verbose:
            print(made)
        event = proto("event").Event(graph_def=made.SerializeToString())
        self._get_file_writer().add_event(event)

    def add_onnx_graph(self, prototxt: object) -> None:
        """Not supported."""
        raise unsupported("SummaryWriter.add_onnx_graph")

    # ------------------------------------------------------------------ the files

    def flush(self) -> None:
        """Wait until everything is in the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Close the files. Logging goes on in new ones if something is added later."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _default_bins() -> list[float]:
    """Limits that grow by a tenth, on both sides of zero."""
    limits = []
    limit = 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    return [*(-limit for limit in reversed(limits)), 0, *limits]
