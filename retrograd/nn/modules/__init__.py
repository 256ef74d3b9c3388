"""Layers under PyTorch's longer paths: ``torch.nn.modules.linear.Linear`` is ``torch.nn.Linear``.

One small file for every file that PyTorch has here; they only import.
"""

# ruff: noqa: F403

from retrograd.nn.modules import activation as activation
from retrograd.nn.modules import adaptive as adaptive
from retrograd.nn.modules import batchnorm as batchnorm
from retrograd.nn.modules import channelshuffle as channelshuffle
from retrograd.nn.modules import container as container
from retrograd.nn.modules import conv as conv
from retrograd.nn.modules import distance as distance
from retrograd.nn.modules import dropout as dropout
from retrograd.nn.modules import flatten as flatten
from retrograd.nn.modules import fold as fold
from retrograd.nn.modules import instancenorm as instancenorm
from retrograd.nn.modules import lazy as lazy
from retrograd.nn.modules import linear as linear
from retrograd.nn.modules import linear_cross_entropy_options as linear_cross_entropy_options
from retrograd.nn.modules import loss as loss
from retrograd.nn.modules import module as module
from retrograd.nn.modules import normalization as normalization
from retrograd.nn.modules import padding as padding
from retrograd.nn.modules import pixelshuffle as pixelshuffle
from retrograd.nn.modules import pooling as pooling
from retrograd.nn.modules import rnn as rnn
from retrograd.nn.modules import sparse as sparse
from retrograd.nn.modules import transformer as transformer
from retrograd.nn.modules import upsampling as upsampling
from retrograd.nn.modules import utils as utils
from retrograd.nn.modules.activation import *
from retrograd.nn.modules.adaptive import *
from retrograd.nn.modules.batchnorm import *
from retrograd.nn.modules.channelshuffle import *
from retrograd.nn.modules.container import *
from retrograd.nn.modules.conv import *
from retrograd.nn.modules.distance import *
from retrograd.nn.modules.dropout import *
from retrograd.nn.modules.flatten import *
from retrograd.nn.modules.fold import *
from retrograd.nn.modules.instancenorm import *
from retrograd.nn.modules.lazy import *
from retrograd.nn.modules.linear import *
from retrograd.nn.modules.linear_cross_entropy_options import *
from retrograd.nn.modules.loss import *
from retrograd.nn.modules.module import *
from retrograd.nn.modules.normalization import *
from retrograd.nn.modules.padding import *
from retrograd.nn.modules.pixelshuffle import *
from retrograd.nn.modules.pooling import *
from retrograd.nn.modules.rnn import *
from retrograd.nn.modules.sparse import *
from retrograd.nn.modules.transformer import *
from retrograd.nn.modules.upsampling import *
