"""The device `meta`: arrays with a shape, a dtype and strides, and no elements.

Its backend is made when a program first asks for the device. `arrays` has the arrays, `elementwise`
and `library` the functions on them, `overrides` kernels in the place of
those that look at elements, `backend` what the library asks of a device.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retrograd.backend.meta.backend import MetaBackend


@functools.cache
def meta_backend() -> MetaBackend:
    """The backend of the device."""
    from retrograd.backend.device import register
    from retrograd.backend.meta import overrides
    from retrograd.backend.meta.backend import MetaBackend

    backend = register(MetaBackend())
    overrides.install(backend)
    return backend
