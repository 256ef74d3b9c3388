"""Every CUDA source compiles: by NVIDIA's run-time compiler, which needs no device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from retrograd.backend.cuda.launch import FOLDER, text_of
from retrograd.backend.cuda.tracing import traced
from retrograd.backend.cuda.written import Layout, beginning, c_type, kernel_text
from retrograd.backend.device import ELEMENTWISE
from retrograd.backend.expressions import Operand, Untraceable
from retrograd.ops.registry import OPS
from tests.cuda import nvrtc

compiles = pytest.mark.skipif(
    nvrtc.library() is None,
    reason=f"nvidia-cuda-nvrtc is not installed (version {nvrtc.VERSION} is tested)",
)
pytestmark = pytest.mark.nvrtc
LONG = 300  # polynomials with more steps take the compiler seconds


def written(name, kind):
    """A kernel of an op for operands of one type, and options as they are given mostly."""
    operands, keywords = [], {}
    for parameter in OPS[name].plan.parameters:
        value = Operand(np.dtype(kind))
        if parameter.kind == "option":
            value = 0.3 if parameter.required else parameter.default
        if parameter.keyword_only:
            keywords[parameter.name] = value
        else:
            operands.append(value)
    found = traced(name, operands, keywords, [False] * (len(operands) + len(keywords)))
    stored = [c_type(v.dtype) for v in found.values if v.primitive == "input"]
    if len(found.values) > LONG or not stored:
        raise Untraceable(f"{name} is long")
    kept = [c_type(v.dtype) for v in found.results]
    layout = Layout(1, 4, "v" * len(stored), True)
    return kernel_text(f"{name}_{kind}", found, [], stored, kept, layout)


@compiles
@pytest.mark.parametrize("kind", ["float32", "int64", "float16", "float64"])
def test_written_kernels_compile(kind):
    texts = []
    for name in sorted(ELEMENTWISE):
        try:
            texts.append(written(name, kind))
        except Untraceable:
            continue
    assert len(texts) > (90 if kind == "int64" else 150)
    # doubles take long, so only each seventh
    assert nvrtc.problems(beginning() + "".join(texts[:: 7 if kind != "float32" else 2])) == ""


def rules(kind):
    """Kernels of all derivative rules that are expressions, for operands of one type.

    Half precision is read and kept as it is, and float32 in between.
    """
    texts, operand = [], Operand(np.dtype("float32"))
    for name in sorted(ELEMENTWISE):
        plan = OPS[name].plan
        for place, rule in enumerate(plan.rules):
            given = [operand]
            for read in plan.names_read(rule):
                option = next((p for p in plan.parameters if p.name == read), None)
                if option is None or option.kind != "option":
                    given.append(operand)
                else:
                    given.append(0.3 if option.required else option.default)
            try:
                found = traced(name, given, {}, [False] * len(given), rule.function)
                stored = [kind for v in found.values if v.primitive == "input"]
                kept = [
                    kind if v.dtype == operand.dtype else c_type(v.dtype) for v in found.results
                ]
                if len(found.values) > LONG or found.results[0].primitive == "input":
                    continue
                layout = Layout(1, 4, "v" * len(stored), True)
                label = f"rule_{place}_of_{name}"
                texts.append(kernel_text(label, found, [], stored, kept, layout))
            except Untraceable:
                continue
    return texts


@compiles
@pytest.mark.parametrize("kind", ["float", "float16", "bfloat16"])
def test_kernels_of_rules_compile(kind):
    texts = rules(kind)
    assert len(texts) > 100
    assert nvrtc.problems(beginning() + "".join(texts)) == ""


@compiles
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_norms_with_wider_weights_compile(kind):
    types = {"REAL": kind, "WIDE": "float", "SCALE": "float"}
    macros = "\n".join(f"#define {name} {value}" for name, value in types.items())
    assert nvrtc.problems(text_of("norms", definitions=macros)) == ""


@compiles
@pytest.mark.parametrize("moves", ["vv", "vb", "sv", "bb"])
@pytest.mark.parametrize("dims, width", [(1, 1), (1, 4), (2, 4), (4, 1)])
def test_every_layout_compiles(moves, dims, width):
    operand = Operand(np.dtype("float32"))
    found = traced("mul", [operand, 2.5], {}, [False, True])
    layout = Layout(dims, width, "v", True)
    text = kernel_text("times", found, ["double"], ["float"], ["float"], layout)
    both = traced("add", [operand, operand], {"alpha": 1}, [False] * 3)
    for small in (False, True):
        layout = Layout(dims, width if "s" not in moves else 1, moves, small)
        text += kernel_text(f"add_{small}", both, [], ["float", "float"], ["float"], layout)
    assert nvrtc.problems(beginning() + text) == ""


@compiles
@pytest.mark.parametrize("file", sorted(file.stem for file in FOLDER.glob("*.cu")))
@pytest.mark.parametrize("architecture", nvrtc.ARCHITECTURES)
def test_sources_compile(file, architecture):
    source = text_of() if file == "prelude" else text_of(file)
    assert nvrtc.problems(source, architecture) == ""


@compiles
@pytest.mark.parametrize("real", ["float", "double", "float16", "bfloat16"])
def test_steps_of_recurrent_layers_compile(real):
    wide = "double" if real == "double" else "float"
    definitions = f"#define REAL {real}\n#define WIDE {wide}"
    assert nvrtc.problems(text_of("recurrent", definitions=definitions)) == ""


@compiles
@pytest.mark.parametrize("most", [32, 128])
@pytest.mark.parametrize("real, mask", [("float", "float"), ("float16", "bool"), ("bfloat16",) * 2])
def test_attention_compiles(real, mask, most):
    definitions = f"#define REAL {real}\n#define MASK {mask}\n#define MOST {most}"
    assert nvrtc.problems(text_of("attention", definitions=definitions)) == ""


def test_the_version_that_is_installed_is_the_one_that_is_tested():
    makefile = Path(__file__).parents[2] / "Makefile"
    assert f"nvidia-cuda-nvrtc=={nvrtc.VERSION}" in makefile.read_text("utf-8")
