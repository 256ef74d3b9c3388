"""What a program runs on, as text for a report: ``python -m torch.utils.collect_env``."""

from __future__ import annotations

import platform
import sys
from importlib import metadata

_PACKAGES = ("numpy", "ml_dtypes", "rich", "scipy")


def get_env_info() -> dict[str, str]:
    """The versions of Python, the system and the packages in use."""
    from retrograd.torch_version import TORCH_VERSION

    found = {
        "PyTorch version": f"{TORCH_VERSION} (this is retrograd)",
        "Is debug build": "False",
        "CUDA used to build PyTorch": "None",
        "OS": platform.platform(),
        "Python version": sys.version.replace("\n", " "),
        "Python platform": platform.machine(),
        "Is CUDA available": "False",
    }
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def get_pretty_env_info() -> str:
    """The same as lines of text.

    >>> import retrograd.utils.collect_env as collect_env
    >>> "Is CUDA available: False" in collect_env.get_pretty_env_info()
    True
    """
    return "\n".join(f"{name}: {value}" for name, value in get_env_info().items())


def main() -> None:
    """Print them."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
