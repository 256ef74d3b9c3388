"""Building blocks of neural networks."""

from retrograd.nn import functional as functional
