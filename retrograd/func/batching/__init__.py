"""Batching rules of all ops, by topic. Importing this package registers them."""

from retrograd.func.batching import duals as duals
from retrograd.func.batching import elementwise as elementwise
from retrograd.func.batching import images as images
from retrograd.func.batching import indexing as indexing
from retrograd.func.batching import joining as joining
from retrograd.func.batching import linear_algebra as linear_algebra
from retrograd.func.batching import losses as losses
from retrograd.func.batching import neural as neural
from retrograd.func.batching import reductions as reductions
from retrograd.func.batching import views as views
from retrograd.func.batching.rules import RULES as RULES
from retrograd.func.batching.rules import BatchedCall as BatchedCall
from retrograd.func.batching.rules import batching as batching
from retrograd.func.batching.rules import rule_for as rule_for
