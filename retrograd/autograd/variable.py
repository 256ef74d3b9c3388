"""`Variable`, the old name of a tensor with history."""

from retrograd.tensors.legacy import Variable as Variable
from retrograd.tensors.legacy import VariableMeta as VariableMeta
