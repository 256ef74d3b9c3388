"""What PyTorch has in ``torch.nn.modules.rnn``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.rnn import GRU as GRU
from retrograd.nn.rnn_cells import GRUCell as GRUCell
from retrograd.nn.rnn import LSTM as LSTM
from retrograd.nn.rnn_cells import LSTMCell as LSTMCell
from retrograd.nn.rnn import RNN as RNN
from retrograd.nn.rnn import RNNBase as RNNBase
from retrograd.nn.rnn_cells import RNNCell as RNNCell
from retrograd.nn.rnn_cells import RNNCellBase as RNNCellBase
