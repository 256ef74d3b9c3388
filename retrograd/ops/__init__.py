"""All operations, by topic. Importing this package registers them."""

from retrograd.ops import arithmetic as arithmetic
from retrograd.ops import copying as copying
from retrograd.ops import reduce as reduce
from retrograd.ops import replay as replay
from retrograd.ops import shape as shape
from retrograd.ops import unary as unary
