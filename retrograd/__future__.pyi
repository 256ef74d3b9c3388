"""How modules are converted: their parameters stay the same objects.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


def get_overwrite_module_params_on_conversion(*args: object, **options: object) -> bool: 'Whether conversions make new parameters: no.'
def get_swap_module_params_on_conversion(*args: object, **options: object) -> bool: 'Whether conversions swap parameters: no.'
from retrograd.namespaces.build import set_overwrite_module_params_on_conversion as set_overwrite_module_params_on_conversion
from retrograd.namespaces.build import set_swap_module_params_on_conversion as set_swap_module_params_on_conversion
