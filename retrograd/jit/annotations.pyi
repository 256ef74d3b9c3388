"""Types that only a script could tell from Python's.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.namespaces.as_written import BROADCASTING

from typing import Any as Any
BroadcastingList1 = BROADCASTING
BroadcastingList2 = BROADCASTING
BroadcastingList3 = BROADCASTING
BroadcastingList4 = BROADCASTING
BroadcastingList5 = BROADCASTING
BroadcastingList6 = BROADCASTING
from typing import Dict as Dict
from retrograd.futures import Future as Future
from typing import List as List
from typing import Optional as Optional
from retrograd.tensor import Tensor as Tensor
from typing import Tuple as Tuple
