"""Run a program on real PyTorch, where a package may be built for CUDA and PyTorch for the CPU.

Such a torchvision cannot load its compiled part, and fails when it registers a rule for an operator
of it. The operator's schema is enough to go on. A compiled part that loads is left alone.
"""

import importlib.util
import runpy
import sys
from pathlib import Path

import torch

spec = importlib.util.find_spec("torchvision")
if spec is not None and spec.origin is not None:
    try:
        torch.ops.load_library(Path(spec.origin).with_name("_C.so"))
    except OSError:
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
