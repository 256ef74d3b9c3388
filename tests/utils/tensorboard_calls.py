"""Calls of a SummaryWriter, as texts with `torch`, `np` and `writer`; and how to read a log."""

from __future__ import annotations

import os
from typing import Any

CALLS = [
    "add_scalar('loss', 0.5, 3)",
    "add_scalar('loss', torch.tensor(0.25), np.int64(4))",
    "add_scalar('loss', torch.tensor([[2]]), torch.tensor(5))",
    "add_scalar('loss', np.float32(0.1), 3, new_style=True)",
    "add_scalar('loss', torch.tensor(0.1, dtype=torch.bfloat16))",
    "add_scalar('loss', 0.1, 3, new_style=True, double_precision=True)",
    "add_scalar('loss', torch.ones(1, requires_grad=True))",
    "add_tensor('t', torch.tensor([[1.5, 2.0], [3.0, -1.0]]), 2)",
    "add_tensor('t', torch.tensor([1.5, -2.0], dtype=torch.float16))",
    "add_tensor('t', torch.tensor([1.5, -2.0], dtype=torch.bfloat16))",
    "add_tensor('t', torch.tensor([1.5, -2.0], dtype=torch.float64))",
    "add_tensor('t', torch.tensor([1, -2]))",
    "add_tensor('t', torch.tensor([1, -2], dtype=torch.int32))",
    "add_tensor('t', torch.tensor([1, 2], dtype=torch.uint8))",
    "add_tensor('t', torch.tensor([True, False]))",
    "add_tensor('t', torch.tensor([1 + 2j]))",
    "add_histogram('h', torch.linspace(-2.0, 3.0, 50), 1)",
    "add_histogram('h', np.array([0.0, 0.0, 1.0]))",
    "add_histogram('h', torch.arange(40), bins='auto')",
    "add_histogram('h', torch.arange(40.0), bins=[0.0, 1.0, 5.0, 30.0])",
    "add_histogram('h', torch.arange(400.0), bins=100, max_bins=30)",
    "add_histogram('h', torch.arange(400.0), bins=100, max_bins=50)",
    "add_histogram('h', torch.zeros(3))",
    "add_histogram_raw('h', 0.0, 2.0, 3, 3.0, 5.0, [1.0, 2.0], [1, 2], 7)",
    "add_image('i', torch.linspace(0, 1, 3 * 4 * 5).reshape(3, 4, 5), 2)",
    "add_image('i', torch.linspace(-1, 2, 20).reshape(4, 5), dataformats='HW')",
    "add_image('i', torch.linspace(0, 1, 20).reshape(1, 4, 5))",
    "add_image('i', np.arange(60, dtype=np.uint8).reshape(4, 5, 3), dataformats='HWC')",
    "add_image('i', np.arange(80, dtype=np.uint8).reshape(4, 5, 4), dataformats='hwc')",
    "add_images('i', torch.linspace(0, 1, 10 * 3 * 4 * 5).reshape(10, 3, 4, 5))",
    "add_images('i', torch.linspace(0, 1, 3 * 4 * 5).reshape(3, 4, 5, 1), dataformats='NHWC')",
    "add_image_with_boxes('i', torch.ones(3, 30, 30), torch.tensor([[1, 2, 20, 25]]), 1)",
    "add_image_with_boxes('i', torch.ones(3, 30, 30), torch.tensor([[1, 2, 20, 25]]), "
    "labels='cat', rescale=2)",
    "add_image_with_boxes('i', torch.ones(3, 30, 30), torch.tensor([[1, 2, 20, 25]]), "
    "labels=['a', 'b'])",
    "add_audio('a', torch.linspace(-1, 1, 50), 1, sample_rate=100)",
    "add_audio('a', torch.linspace(-3, 1, 50).reshape(1, 50))",
    "add_text('t', '*hello* wörld', 3)",
    "add_pr_curve('p', torch.tensor([0, 1, 1, 0]), torch.tensor([0.1, 0.9, 0.4, 0.6]), 3)",
    "add_pr_curve('p', np.array([0, 1, 1]), np.array([0.1, 0.9, 0.4]), num_thresholds=5, "
    "weights=2.0)",
    "add_pr_curve('p', np.array([0, 1, 1]), np.array([0.1, 0.9, 1.0]), num_thresholds=500)",
    "add_pr_curve_raw('p', *np.linspace(0, 1, 12).reshape(6, 2), 3, 2)",
    "add_custom_scalars({'c': {'a': ['Multiline', ['x/y', 'z']], 'b': ['Margin', list('xyz')]}})",
    "add_custom_scalars_multilinechart(['x', 'y'])",
    "add_custom_scalars_marginchart(['x', 'y', 'z'], 'category', 'title')",
    "add_mesh('m', torch.ones(1, 4, 3), torch.zeros(1, 4, 3), torch.zeros(1, 2, 3), {'a': 1}, 2)",
    "add_mesh('m', torch.ones(1, 4, 3))",
    "add_scalars('many/of', {'a': 1.0, 'b': torch.tensor(2.0)}, 4)",
    "add_hparams({'lr': 0.1, 'n': 3, 'name': 'x', 'on': True, 'none': None, 't': "
    "torch.tensor([2.5])}, {'loss': 0.5}, {'lr': [0.1, 0.2], 'name': ['x', 'y']}, 'run', 1)",
]

FAILING = [
    "add_scalar('x', torch.ones(2))",
    "add_scalar('x', [1.0])",
    "add_scalar('x', None)",
    "add_histogram('x', torch.ones(0))",
    "add_histogram('x', torch.ones(3), bins=[5.0, 6.0, 7.0])",
    "add_histogram_raw('x', 0, 1, 1, 1, 1, [1], [1, 2])",
    "add_image('x', torch.ones(3, 4))",
    "add_image('x', torch.ones(3, 4, 4), dataformats='CCW')",
    "add_images('x', torch.ones(2, 2, 4, 4))",
    "add_audio('x', torch.zeros(2, 5))",
    "add_embedding(torch.ones(3))",
    "add_embedding(torch.ones(3, 2), metadata=['a'])",
    "add_embedding(torch.ones(3, 2), label_img=torch.ones(2, 3, 4, 4))",
    "add_embedding(torch.ones(1, 2), metadata=[['a', 'b']], metadata_header=['one'])",
    "add_hparams([], {})",
    "add_hparams({'a': object()}, {})",
    "add_hparams({'a': 1}, {}, {'a': ['text']})",
    "add_hparams({'a': 1}, {}, {'b': [1]})",
    "add_hparams({'a': 1}, {}, [1])",
    "add_custom_scalars_marginchart(['a'])",
    "add_tensor('x', torch.ones(2, dtype=torch.uint16))",
]


def read_log(folder: Any) -> list[tuple[str, int, Any]]:
    """Every summary below a folder: the folder's name, step and message."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    found = []
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if name.startswith("events"):
                for event in LegacyEventFileLoader(os.path.join(place, name)).Load():
                    if event.HasField("summary"):
                        found.append((os.path.relpath(place, folder), event.step, event.summary))
    return found
