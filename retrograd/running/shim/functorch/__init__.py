"""`import functorch` in a program under `retrograd run`: retrograd's `func`."""

import importlib
import sys

from retrograd.running.as_torch import install

install()
sys.modules["functorch"] = importlib.import_module("retrograd.func")
