"""Handles that remove hooks, and hooks that pickles leave out."""

from retrograd.autograd.hooks import RemovableHandle as RemovableHandle
from retrograd.autograd.hooks import unserializable_hook as unserializable_hook
from retrograd.autograd.hooks import warn_if_has_hooks as warn_if_has_hooks
