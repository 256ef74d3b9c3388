"""The type of arrays, as annotations name it.

Arrays of other libraries have NumPy's attributes and NumPy's dtype objects, so its type stands for
all of them where a type checker reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
