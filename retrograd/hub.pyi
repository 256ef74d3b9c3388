"""Models from the network: nothing is downloaded here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.tensor import Tensor
from typing import NoReturn
from typing_extensions import deprecated

ENV_TORCH_HOME: str
from retrograd.namespaces.told import HASH_REGEX as HASH_REGEX
READ_DATA_CHUNK: int
from retrograd.namespaces.told import _get_torch_home as _get_torch_home
@deprecated('Not supported: nothing is downloaded; fetch the file yourself and read it with torch.load.')
def download_url_to_file(*args: object, **options: object) -> NoReturn: ...
from retrograd.namespaces.told import get_dir as get_dir
@deprecated('Not supported: nothing is downloaded; fetch the file yourself and read it with torch.load.')
def help(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: nothing is downloaded; fetch the file yourself and read it with torch.load.')
def list(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: nothing is downloaded; fetch the file yourself and read it with torch.load.')
def load(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: nothing is downloaded; fetch the file yourself and read it with torch.load.')
def load_state_dict_from_url(*args: object, **options: object) -> NoReturn: ...
from retrograd.namespaces.told import set_dir as set_dir
class tqdm(Tensor): ...
from urllib.parse import urlparse as urlparse
