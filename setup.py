"""Declares the optional compiled parts; everything else is in pyproject.toml."""

import os
import sys
import sysconfig
from glob import glob
from runpy import run_path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNELS = os.path.join("retrograd", "backend", "kernels")
ROWS = os.path.join(KERNELS, "rows")
WINDOWS = os.path.join(KERNELS, "windows")
CORE = os.path.join("retrograd", "core")
MACHINE = os.path.join("retrograd", "replay", "machine")
LAUNCHING = os.path.join("retrograd", "backend", "cuda", "launching")
BUILT = run_path(os.path.join(KERNELS, "built.py"))

# What the results promise: they are NumPy's, bit for bit. So no fused multiply-add, and never
# -ffast-math, which changes the handling of nan for the whole process. The last two change no
# result: nobody reads errno or the processor's flags, and a loop with sqrt needs them to be fast.
FLAGS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
if os.name == "nt":
    FLAGS = []

# The fused kernels promise a small error, not NumPy's bits: there a product and a sum are rounded
# at once where the processor can.
FUSED = [flag.replace("contract=off", "contract=fast") for flag in FLAGS]

# What is missed without an extension, in the words of the message that says so.
MISSED = {
    "retrograd.backend.kernels._tiny": (
        "the compiled kernels",
        "every kernel has a NumPy twin that gives the same results, more slowly",
    ),
    "retrograd.backend.kernels._rows": (
        "the compiled kernels for whole rows",
        "NumPy does what they do, to rounding, more slowly",
    ),
    "retrograd.backend.kernels._windows": (
        "the compiled kernels for convolution, pooling and normalization of images",
        "NumPy does what they do, to rounding, more slowly",
    ),
    "retrograd.replay._machine": (
        "the compiled machine of replay",
        "the kernels run one by one, with the same results to rounding, more slowly",
    ),
    "retrograd.backend.cuda._launch": (
        "the compiled launcher of CUDA kernels",
        "CuPy launches them, more slowly",
    ),
    "retrograd.core._core": (
        "the compiled core",
        "it does what the Python code does, which is slower with small tensors",
    ),
}


def say_missing(name: str, reason: object) -> None:
    part, instead = MISSED[name]
    print(
        f"retrograd: {part} was NOT built ({reason}). retrograd works without it: {instead}.",
        file=sys.stderr,
    )


class BuildParts(build_ext):
    """Build the extensions if this machine can, and say so in plain words if it cannot."""

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:
            for extension in self.extensions:
                say_missing(extension.name, error)

    def build_extension(self, extension: Extension) -> None:
        # A source that is gone, or came back with its old date, is newer than nothing.
        forced, built = self.force, self.get_ext_fullpath(extension.name)
        if os.path.exists(built):
            with open(built, "rb") as file:
                self.force = forced or extension.sources_now.encode() not in file.read()
        # Extension(optional=True) alone would go on without saying what that means.
        try:
            super().build_extension(extension)
        except Exception:
            say_missing(extension.name, "the C compiler failed, see its messages above")
        self.force = forced


def declared(name: str, folder: str, include: str) -> Extension | None:
    """The extension of all C sources of a folder, None where they are not part of the tree."""
    sources = sorted(glob(os.path.join(folder, "*.c")))
    if not sources:
        say_missing(name, f"{folder} has no C source in this tree")
        return None
    extension = Extension(
        name,
        sources=sources,
        depends=sorted({*glob(os.path.join(folder, "*.h")), *glob(os.path.join(KERNELS, "*.h"))}),
        include_dirs=[include],
        extra_compile_args=FUSED if folder in (ROWS, WINDOWS, MACHINE) else FLAGS,
        optional=True,
    )
    extension.sources_now = BUILT["sources_of"](folder, KERNELS)
    extension.define_macros.append(("SOURCES", f'"{extension.sources_now}"'))
    return extension


def extensions() -> list[Extension]:
    names = dict(zip(MISSED, (KERNELS, ROWS, WINDOWS, MACHINE, LAUNCHING, CORE), strict=True))
    try:
        import numpy
    except ImportError as error:
        for name in names:
            say_missing(name, error)
        return []
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        # A stretch of C is one step only under the global lock.
        say_missing("retrograd.core._core", "this Python has no global interpreter lock")
        del names["retrograd.core._core"]
    include = numpy.get_include()
    found = [declared(name, folder, include) for name, folder in names.items()]
    return [extension for extension in found if extension is not None]


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildParts})
