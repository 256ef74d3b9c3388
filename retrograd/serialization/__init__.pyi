"""`save` and `load`, in PyTorch's file format: each library reads what the other has written.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.serialization.inspection import check_module_version_greater_or_equal as check_module_version_greater_or_equal
from retrograd.serialization.inspection import get_unsafe_globals_in_checkpoint as get_unsafe_globals_in_checkpoint
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
from retrograd.serialization.options import get_default_load_endianness as get_default_load_endianness
from retrograd.serialization.options import get_default_mmap_options as get_default_mmap_options
from retrograd.serialization.options import set_crc32_options as set_crc32_options
from retrograd.serialization.options import set_default_load_endianness as set_default_load_endianness
from retrograd.serialization.options import set_default_mmap_options as set_default_mmap_options
from retrograd.serialization.options import skip_data as skip_data
from retrograd.serialization.safe_globals import add_safe_globals as add_safe_globals
from retrograd.serialization.safe_globals import clear_safe_globals as clear_safe_globals
from retrograd.serialization.safe_globals import get_safe_globals as get_safe_globals
from retrograd.serialization.safe_globals import safe_globals as safe_globals
from retrograd.serialization.saving import save as save

DEFAULT_PROTOCOL: int
