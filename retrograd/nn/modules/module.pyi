"""What PyTorch has in ``torch.nn.modules.module``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.nn.module_hooks import WrappedHook
from retrograd.nn.module_state import IncompatibleKeys

from retrograd.nn.module import Module as Module
from retrograd.nn.module_state import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX
_IncompatibleKeys = IncompatibleKeys
_WrappedHook = WrappedHook
from retrograd.nn.module_hooks import register_module_backward_hook as register_module_backward_hook
from retrograd.nn.module_hooks import register_module_buffer_registration_hook as register_module_buffer_registration_hook
from retrograd.nn.module_hooks import register_module_forward_hook as register_module_forward_hook
from retrograd.nn.module_hooks import register_module_forward_pre_hook as register_module_forward_pre_hook
from retrograd.nn.module_hooks import register_module_full_backward_hook as register_module_full_backward_hook
from retrograd.nn.module_hooks import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
from retrograd.nn.module_hooks import register_module_module_registration_hook as register_module_module_registration_hook
from retrograd.nn.module_hooks import register_module_parameter_registration_hook as register_module_parameter_registration_hook
