"""Tools for modules and their parameters."""

from retrograd.nn.utils import stateless as stateless
