"""All operations, by topic. Importing this package registers them."""

from retrograd.ops import arithmetic as arithmetic
from retrograd.ops import comparison as comparison
from retrograd.ops import complexes as complexes
from retrograd.ops import copying as copying
from retrograd.ops import masking as masking
from retrograd.ops import power as power
from retrograd.ops import reduce as reduce
from retrograd.ops import replay as replay
from retrograd.ops import selection as selection
from retrograd.ops import shape as shape
from retrograd.ops import signs as signs
from retrograd.ops import unary as unary
