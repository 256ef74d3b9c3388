"""`Variable`, the old name of a tensor with history."""

from retrograd.legacy import Variable as Variable
from retrograd.legacy import VariableMeta as VariableMeta
