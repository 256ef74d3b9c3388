"""What PyTorch has in ``torch.nn.modules.utils``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.tuples import _list_with_default as _list_with_default
from retrograd.nn.tuples import _ntuple as _ntuple
from retrograd.nn.tuples import _pair as _pair
from retrograd.nn.tuples import _quadruple as _quadruple
from retrograd.nn.tuples import _reverse_repeat_tuple as _reverse_repeat_tuple
from retrograd.nn.tuples import _single as _single
from retrograd.nn.tuples import _triple as _triple
from retrograd.nn.tuples import consume_prefix_in_state_dict_if_present as consume_prefix_in_state_dict_if_present
