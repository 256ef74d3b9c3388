"""The older name of `torch.hub.load_state_dict_from_url`."""

from retrograd.compat.marks import unsupported
from retrograd.hub import _WHY

load_url = unsupported("torch.utils.model_zoo.load_url", _WHY)
