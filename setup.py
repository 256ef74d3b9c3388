"""Declares the optional compiled kernels; everything else is in pyproject.toml."""

import os
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNEL_SOURCE = os.path.join("retrograd", "backend", "kernels", "tiny.c")


def say_missing(reason: object) -> None:
    print(
        f"retrograd: the compiled kernels were NOT built ({reason}). retrograd works without "
        "them: every kernel has a NumPy twin that gives the same results, more slowly.",
        file=sys.stderr,
    )


class BuildKernels(build_ext):
    """Build the extension if this machine can, and say so in plain words if it cannot."""

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:
            say_missing(error)

    def build_extension(self, extension: Extension) -> None:
        # Extension(optional=True) alone would go on without saying what that means.
        try:
            super().build_extension(extension)
        except Exception:
            say_missing("the C compiler failed, see its messages above")


def kernels() -> list[Extension]:
    if not os.path.exists(KERNEL_SOURCE):
        say_missing(f"{KERNEL_SOURCE} is not part of this source tree")
        return []
    try:
        import numpy
    except ImportError as error:
        say_missing(error)
        return []
    return [
        Extension(
            "retrograd.backend.kernels._tiny",
            sources=[KERNEL_SOURCE],
            depends=[os.path.join("retrograd", "backend", "kernels", "tiny_loops.h")],
            include_dirs=[numpy.get_include()],
            # The results are NumPy's, bit for bit: no fused multiply-add, and never -ffast-math,
            # which changes the handling of nan for the whole process.
            extra_compile_args=[] if os.name == "nt" else ["-O3", "-ffp-contract=off"],
            optional=True,
        )
    ]


setup(ext_modules=kernels(), cmdclass={"build_ext": BuildKernels})
