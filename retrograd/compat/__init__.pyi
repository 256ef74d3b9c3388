"""What of PyTorch's public interface is here: supported, different, or not there.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.compat.status import Status as Status
from retrograd.compat.names import Support as Support
from retrograd.marks import differs as differs
from retrograd.compat.names import public_names as public_names
from retrograd.marks import refuses as refuses
from retrograd.compat.status import status_of as status_of
from retrograd.compat.names import support as support
from retrograd.marks import unsupported as unsupported
from retrograd.marks import unsupported_class as unsupported_class
