"""Function transforms: `vmap` and its relatives, which take a function and give another.

>>> import retrograd as torch
>>> torch.func.vmap(lambda x: (x * x).sum())(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([ 5., 25.])
"""

from retrograd.func.vmap import vmap as vmap
