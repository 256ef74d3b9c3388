"""The older name of `torch.hub.load_state_dict_from_url`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import NoReturn
from typing_extensions import deprecated

@deprecated('Not supported: nothing is downloaded; fetch the file yourself and read it with torch.load.')
def load_url(*args: object, **options: object) -> NoReturn: ...
from retrograd.hub import tqdm as tqdm
