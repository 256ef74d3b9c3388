"""Random numbers: for a given seed, the values of PyTorch's CPU generator, bit for bit.

>>> import retrograd as torch
>>> _ = torch.manual_seed(0)
>>> torch.randn(2)
tensor([ 1.5410, -0.2934])
"""

from retrograd.random.state import Generator as Generator
from retrograd.random.state import default_generator as default_generator
from retrograd.random.state import fork_rng as fork_rng
from retrograd.random.state import get_rng_state as get_rng_state
from retrograd.random.state import initial_seed as initial_seed
from retrograd.random.state import manual_seed as manual_seed
from retrograd.random.state import seed as seed
from retrograd.random.state import set_rng_state as set_rng_state
from retrograd.random.state import thread_safe_generator as thread_safe_generator
