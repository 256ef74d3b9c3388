"""Tools for modules and their parameters."""

from retrograd.nn.utils import rnn as rnn
from retrograd.nn.utils import stateless as stateless
from retrograd.nn.utils.clip_grad import clip_grad_norm as clip_grad_norm
from retrograd.nn.utils.clip_grad import clip_grad_norm_ as clip_grad_norm_
from retrograd.nn.utils.clip_grad import clip_grad_value_ as clip_grad_value_
from retrograd.nn.utils.clip_grad import clip_grads_with_norm_ as clip_grads_with_norm_
from retrograd.nn.utils.clip_grad import get_total_norm as get_total_norm
from retrograd.nn.utils.convert_parameters import parameters_to_vector as parameters_to_vector
from retrograd.nn.utils.convert_parameters import vector_to_parameters as vector_to_parameters
