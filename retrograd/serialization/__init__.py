"""`save` and `load`, in PyTorch's file format: each library reads what the other has written.

A file is a zip archive. Its member ``data.pkl`` is a pickle in which every tensor names the storage
it lies in, its offset, size and strides; the storages are members of their own, as raw bytes.
Tensors that share memory share it again after loading.

A file may come from anywhere. By default nothing in it is run (`restricted`), no number in it is
believed (`archive`, `rebuild`), and what it takes to load stays in proportion to its size.

>>> import io, retrograd as torch
>>> file = io.BytesIO()
>>> torch.save({"weight": torch.ones(2)}, file)
>>> torch.load(io.BytesIO(file.getvalue()))
{'weight': tensor([1., 1.])}
"""

from __future__ import annotations

from retrograd.namespaces import from_table
from retrograd.serialization.inspection import (
    check_module_version_greater_or_equal as check_module_version_greater_or_equal,
)
from retrograd.serialization.inspection import (
    get_unsafe_globals_in_checkpoint as get_unsafe_globals_in_checkpoint,
)
from retrograd.serialization.inspection import mkdtemp as mkdtemp
from retrograd.serialization.inspection import normalize_storage_type as normalize_storage_type
from retrograd.serialization.inspection import storage_to_tensor_type as storage_to_tensor_type
from retrograd.serialization.loading import load as load
from retrograd.serialization.locations import MAP_LOCATION as MAP_LOCATION
from retrograd.serialization.locations import STORAGE as STORAGE
from retrograd.serialization.locations import default_restore_location as default_restore_location
from retrograd.serialization.locations import location_tag as location_tag
from retrograd.serialization.locations import register_package as register_package
from retrograd.serialization.locations import validate_cuda_device as validate_cuda_device
from retrograd.serialization.locations import validate_hpu_device as validate_hpu_device
from retrograd.serialization.names import StorageType as StorageType
from retrograd.serialization.options import LoadEndianness as LoadEndianness
from retrograd.serialization.options import SourceChangeWarning as SourceChangeWarning
from retrograd.serialization.options import get_crc32_options as get_crc32_options
from retrograd.serialization.options import (
    get_default_load_endianness as get_default_load_endianness,
)
from retrograd.serialization.options import get_default_mmap_options as get_default_mmap_options
from retrograd.serialization.options import set_crc32_options as set_crc32_options
from retrograd.serialization.options import (
    set_default_load_endianness as set_default_load_endianness,
)
from retrograd.serialization.options import set_default_mmap_options as set_default_mmap_options
from retrograd.serialization.options import skip_data as skip_data
from retrograd.serialization.safe_globals import add_safe_globals as add_safe_globals
from retrograd.serialization.safe_globals import clear_safe_globals as clear_safe_globals
from retrograd.serialization.safe_globals import get_safe_globals as get_safe_globals
from retrograd.serialization.safe_globals import safe_globals as safe_globals
from retrograd.serialization.saving import save as save

DEFAULT_PROTOCOL = 2

from_table(__name__)
