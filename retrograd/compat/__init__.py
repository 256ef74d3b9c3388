"""What of PyTorch's public interface is here: supported, different, or not there.

The names are PyTorch's own (`torch_names.txt` for autograd, `api_names.txt` for everything else,
checked against the real thing by the tests). What is said of each comes from the code: `differs`,
`refuses` and `unsupported` mark a definition where it stands, everything else that can be imported
is supported. What is absent on purpose is in `absent.txt`, by group, with the reason.

>>> from retrograd.compat import status_of
>>> status_of("torch.autograd.grad").status
'works'
>>> status_of("torch.quantize_per_tensor").status
'absent'
"""

from retrograd.compat.marks import differs as differs
from retrograd.compat.marks import refuses as refuses
from retrograd.compat.marks import unsupported as unsupported
from retrograd.compat.marks import unsupported_class as unsupported_class
from retrograd.compat.names import Support as Support
from retrograd.compat.names import public_names as public_names
from retrograd.compat.names import support as support
from retrograd.compat.status import Status as Status
from retrograd.compat.status import status_of as status_of
