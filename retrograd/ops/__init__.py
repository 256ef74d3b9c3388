"""All operations, by topic. Importing this package registers them."""

from retrograd.ops import activation as activation
from retrograd.ops import arithmetic as arithmetic
from retrograd.ops import bitwise as bitwise
from retrograd.ops import comparison as comparison
from retrograd.ops import complexes as complexes
from retrograd.ops import copying as copying
from retrograd.ops import extremes as extremes
from retrograd.ops import flat_indexing as flat_indexing
from retrograd.ops import gathering as gathering
from retrograd.ops import index_reduction as index_reduction
from retrograd.ops import index_vectors as index_vectors
from retrograd.ops import advanced_indexing as advanced_indexing
from retrograd.ops import indexing as indexing
from retrograd.ops import division as division
from retrograd.ops import masking as masking
from retrograd.ops import norms as norms
from retrograd.ops import matmul as matmul
from retrograd.ops import einsum as einsum
from retrograd.ops import tensor_products as tensor_products
from retrograd.ops import products as products
from retrograd.ops import polynomials as polynomials
from retrograd.ops import power as power
from retrograd.ops import reduce as reduce
from retrograd.ops import replay as replay
from retrograd.ops import rounding as rounding
from retrograd.ops import scan as scan
from retrograd.ops import softmax as softmax
from retrograd.ops import sorting as sorting
from retrograd.ops import order_statistics as order_statistics
from retrograd.ops import counting as counting
from retrograd.ops import selection as selection
from retrograd.ops import broadcasting as broadcasting
from retrograd.ops import joining as joining
from retrograd.ops import rearranging as rearranging
from retrograd.ops import regions as regions
from retrograd.ops import splitting as splitting
from retrograd.ops import dimensions as dimensions
from retrograd.ops import striding as striding
from retrograd.ops import shape as shape
from retrograd.ops import signs as signs
from retrograd.ops import special as special
from retrograd.ops import special_bessel as special_bessel
from retrograd.ops import special_gamma as special_gamma
from retrograd.ops import statistics as statistics
from retrograd.ops import ternary as ternary
from retrograd.ops import trigonometry as trigonometry
from retrograd.ops import unary as unary
from retrograd.ops import view_inplace as view_inplace
from retrograd.ops import loss as loss
from retrograd.ops import classification as classification
from retrograd.ops import dropout as dropout

# last: it renames what the others declare
from retrograd.ops import second_names as second_names  # isort: skip
