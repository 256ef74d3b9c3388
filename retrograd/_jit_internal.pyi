"""Marks for scripts, which are never made: functions are left as they are.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.namespaces.as_written import BROADCASTING
from retrograd.namespaces.as_written import itself

from typing import Any as Any
BroadcastingList1 = BROADCASTING
BroadcastingList2 = BROADCASTING
BroadcastingList3 = BROADCASTING
BroadcastingList4 = BROADCASTING
BroadcastingList5 = BROADCASTING
BroadcastingList6 = BROADCASTING
from retrograd.namespaces.as_written import BroadcastingListCls as BroadcastingListCls
from typing import Dict as Dict
from typing import Final as Final
from retrograd.futures import Future as Future
from typing import List as List
from typing import Optional as Optional
from typing import Tuple as Tuple
from typing import Union as Union
_copy_to_script_wrapper = itself
_overload = itself
_overload_method = itself
from retrograd.namespaces.as_written import boolean_dispatch as boolean_dispatch
from retrograd.jit import export as export
from retrograd.jit import ignore as ignore
from retrograd.jit import is_scripting as is_scripting
from retrograd.jit import unused as unused
