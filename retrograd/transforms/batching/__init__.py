"""Batching rules of all ops, by topic. Importing this package registers them."""

from retrograd.transforms.batching import duals as duals
from retrograd.transforms.batching import elementwise as elementwise
from retrograd.transforms.batching import images as images
from retrograd.transforms.batching import indexing as indexing
from retrograd.transforms.batching import joining as joining
from retrograd.transforms.batching import linear_algebra as linear_algebra
from retrograd.transforms.batching import losses as losses
from retrograd.transforms.batching import neural as neural
from retrograd.transforms.batching import reductions as reductions
from retrograd.transforms.batching import views as views
from retrograd.transforms.batching.rules import RULES as RULES
from retrograd.transforms.batching.rules import BatchedCall as BatchedCall
from retrograd.transforms.batching.rules import batching as batching
from retrograd.transforms.batching.rules import rule_for as rule_for
