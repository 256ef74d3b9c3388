"""What of PyTorch's public interface is here: supported, different, or not there.

The names are PyTorch's own (`torch_names.txt`, checked against the real thing by the tests). What
is said of each comes from the code: `differs`, `refuses` and `unsupported` mark a definition where
it stands, everything else that can be imported is supported.

>>> from retrograd.compat import support
>>> support("torch.autograd", "grad").status
'supported'
"""

from retrograd.compat.marks import differs as differs
from retrograd.compat.marks import refuses as refuses
from retrograd.compat.marks import unsupported as unsupported
from retrograd.compat.names import Support as Support
from retrograd.compat.names import public_names as public_names
from retrograd.compat.names import support as support
