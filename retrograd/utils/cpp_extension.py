"""Extensions in C++: refused, everything is Python."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.utils.cpp_extension",
        "there is no C++ library to link with; write the operation in Python, with "
        "torch.autograd.Function for its gradient",
        functions="""
        CUDAExtension CppExtension SyclExtension check_compiler_is_gcc
        check_compiler_ok_for_platform get_compiler_abi_compatibility_and_version
        get_cxx_compiler get_default_build_root include_paths library_paths load load_inline
        remove_extension_h_precompiler_headers verify_ninja_availability
        """,
        classes="BuildExtension",
    )
)

CUDA_HOME: str | None = None
ROCM_HOME: str | None = None


def is_ninja_available() -> bool:
    """Whether extensions can be built: no."""
    return False


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
