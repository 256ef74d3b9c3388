"""The module of PyTorch's where `torch.jit.script` is written.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.jit import Attribute as Attribute
from retrograd.jit import CompilationUnit as CompilationUnit
from retrograd.jit import RecursiveScriptModule as RecursiveScriptModule
from retrograd.jit import ScriptFunction as ScriptFunction
from retrograd.jit import ScriptModule as ScriptModule
from retrograd.jit import script as script
