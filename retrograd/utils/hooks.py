"""Handles that remove hooks, hooks that pickles leave out, and the backward hooks of modules."""

from retrograd.engine.hooks import RemovableHandle as RemovableHandle
from retrograd.engine.hooks import unserializable_hook as unserializable_hook
from retrograd.engine.hooks import warn_if_has_hooks as warn_if_has_hooks
from retrograd.nn.backward_hook import BackwardHook as BackwardHook
from retrograd.nn.backward_hook import BackwardHookFunction as BackwardHookFunction
