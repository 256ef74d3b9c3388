"""Functions of layers as PyTorch's kernels are called, the ops of `torch.ops.aten`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.ops.calling.overloads import OpOverloadPacket
from retrograd.ops.making.conversion import parse_to

_parse_to = parse_to
adaptive_avg_pool2d: OpOverloadPacket
adaptive_avg_pool3d: OpOverloadPacket
adaptive_max_pool2d: OpOverloadPacket
adaptive_max_pool3d: OpOverloadPacket
avg_pool2d: OpOverloadPacket
avg_pool3d: OpOverloadPacket
binary_cross_entropy: OpOverloadPacket
col2im: OpOverloadPacket
conv_depthwise3d: OpOverloadPacket
cross_entropy_loss: OpOverloadPacket
elu: OpOverloadPacket
elu_: OpOverloadPacket
flatten_dense_tensors: OpOverloadPacket
fractional_max_pool2d: OpOverloadPacket
fractional_max_pool3d: OpOverloadPacket
gelu: OpOverloadPacket
gelu_: OpOverloadPacket
glu: OpOverloadPacket
hardsigmoid: OpOverloadPacket
hardsigmoid_: OpOverloadPacket
hardswish: OpOverloadPacket
hardswish_: OpOverloadPacket
hardtanh: OpOverloadPacket
hardtanh_: OpOverloadPacket
huber_loss: OpOverloadPacket
im2col: OpOverloadPacket
l1_loss: OpOverloadPacket
leaky_relu: OpOverloadPacket
leaky_relu_: OpOverloadPacket
linear: OpOverloadPacket
log_sigmoid: OpOverloadPacket
max_pool2d_with_indices: OpOverloadPacket
max_pool3d_with_indices: OpOverloadPacket
max_unpool2d: OpOverloadPacket
max_unpool3d: OpOverloadPacket
mish: OpOverloadPacket
mish_: OpOverloadPacket
mse_loss: OpOverloadPacket
multi_margin_loss: OpOverloadPacket
multilabel_margin_loss: OpOverloadPacket
nll_loss: OpOverloadPacket
nll_loss2d: OpOverloadPacket
nll_loss_nd: OpOverloadPacket
one_hot: OpOverloadPacket
pad: OpOverloadPacket
pad_sequence: OpOverloadPacket
reflection_pad1d: OpOverloadPacket
reflection_pad2d: OpOverloadPacket
reflection_pad3d: OpOverloadPacket
relu6: OpOverloadPacket
relu6_: OpOverloadPacket
replication_pad1d: OpOverloadPacket
replication_pad2d: OpOverloadPacket
replication_pad3d: OpOverloadPacket
rrelu_with_noise: OpOverloadPacket
rrelu_with_noise_: OpOverloadPacket
scaled_dot_product_attention: OpOverloadPacket
silu: OpOverloadPacket
silu_: OpOverloadPacket
slow_conv3d: OpOverloadPacket
slow_conv_dilated2d: OpOverloadPacket
slow_conv_dilated3d: OpOverloadPacket
slow_conv_transpose2d: OpOverloadPacket
slow_conv_transpose3d: OpOverloadPacket
smooth_l1_loss: OpOverloadPacket
soft_margin_loss: OpOverloadPacket
softplus: OpOverloadPacket
softshrink: OpOverloadPacket
thnn_conv2d: OpOverloadPacket
unflatten_dense_tensors: OpOverloadPacket
upsample_bicubic2d: OpOverloadPacket
upsample_bilinear2d: OpOverloadPacket
upsample_linear1d: OpOverloadPacket
upsample_nearest1d: OpOverloadPacket
upsample_nearest2d: OpOverloadPacket
upsample_nearest3d: OpOverloadPacket
upsample_trilinear3d: OpOverloadPacket
