"""`import torch` in a program under `retrograd run`: becomes retrograd while it is imported."""

from retrograd.running.as_torch import install

install()
