"""The types of arrays and of their dtypes, as annotations name it.

Arrays of other libraries have NumPy's attributes and NumPy's dtype objects, so its type stands for
all of them where a type checker reads.
"""

from __future__ import annotations

from types import EllipsisType
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
DType = np.dtype[np.generic]
Index = tuple[int | slice | EllipsisType | Array | None, ...]
