"""Layers and optimizers under PyTorch's longer paths: `nn.modules.linear.Linear` is `nn.Linear`.

>>> import retrograd as torch
>>> torch.nn.modules.linear.Linear is torch.nn.Linear
True
"""

from __future__ import annotations

from retrograd.namespaces.rows import Rows, aliases, module, refusals, same, settings

# PyTorch's files, and where the names are defined here: by module inside `nn`.
_FILES = {
    "activation": {
        "activation": """
            CELU ELU GELU GLU SELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU
            LogSigmoid LogSoftmax Mish PReLU ReLU ReLU6 RReLU Sigmoid SiLU Softmax Softmax2d
            Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold
        """,
        "attention": "MultiheadAttention",
    },
    "adaptive": {"adaptive": "AdaptiveLogSoftmaxWithLoss _ASMoutput"},
    "batchnorm": {
        "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d _BatchNorm _NormBase",
        "sync_batchnorm": "SyncBatchNorm",
        "lazy": "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d _LazyNormBase",
    },
    "channelshuffle": {"channelshuffle": "ChannelShuffle"},
    "container": {
        "container": "Container ModuleDict ModuleList Sequential",
        "parameter_container": "ParameterDict ParameterList",
    },
    "conv": {
        "conv": """
            Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d _ConvNd
            _ConvTransposeNd
        """,
        "lazy": """
            LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d
            LazyConvTranspose3d _LazyConvXdMixin
        """,
    },
    "distance": {"distance": "CosineSimilarity PairwiseDistance"},
    "dropout": {
        "dropout": """
            AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout _DropoutNd
        """
    },
    "flatten": {"flatten": "Flatten Unflatten"},
    "fold": {"fold": "Fold Unfold"},
    "instancenorm": {
        "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d _InstanceNorm",
        "lazy": "LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d",
    },
    "lazy": {"lazy": "LazyModuleMixin"},
    "linear": {
        "attention": "NonDynamicallyQuantizableLinear",
        "lazy": "LazyLinear",
        "linear": "Bilinear Identity Linear",
    },
    "linear_cross_entropy": {"retrograd.ops.neural.linear_cross_entropy": "linear_cross_entropy"},
    "linear_cross_entropy_options": {"linear_cross_entropy": "LinearCrossEntropyOptions"},
    "loss": {
        "linear_cross_entropy": "LinearCrossEntropyLoss",
        "loss": """
            BCELoss BCEWithLogitsLoss CosineEmbeddingLoss CrossEntropyLoss CTCLoss
            GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MarginRankingLoss
            MSELoss MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss
            NLLLoss2d PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss
            TripletMarginWithDistanceLoss _Loss _WeightedLoss
        """,
    },
    "module": {
        "module": "Module",
        "module_hooks": """
            _WrappedHook=WrappedHook register_module_backward_hook
            register_module_buffer_registration_hook register_module_forward_hook
            register_module_forward_pre_hook register_module_full_backward_hook
            register_module_full_backward_pre_hook register_module_module_registration_hook
            register_module_parameter_registration_hook
        """,
        "module_state": "_EXTRA_STATE_KEY_SUFFIX _IncompatibleKeys=IncompatibleKeys",
    },
    "normalization": {
        "cross_map_lrn": "CrossMapLRN2d",
        "normalization": "GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    },
    "padding": {
        "padding": """
            CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d
            ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d
            ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d _CircularPadNd _ConstantPadNd
            _ReflectionPadNd _ReplicationPadNd
        """
    },
    "pixelshuffle": {"pixelshuffle": "PixelShuffle PixelUnshuffle"},
    "pooling": {
        "fractional_pooling": "FractionalMaxPool2d FractionalMaxPool3d",
        "pooling": """
            AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d
            AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d LPPool1d LPPool2d
            LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d
            _AdaptiveAvgPoolNd _AdaptiveMaxPoolNd _AvgPoolNd _LPPoolNd _MaxPoolNd _MaxUnpoolNd
        """,
    },
    "rnn": {"rnn": "GRU LSTM RNN RNNBase", "rnn_cells": "GRUCell LSTMCell RNNCell RNNCellBase"},
    "sparse": {"sparse": "Embedding EmbeddingBag"},
    "transformer": {
        "transformer": """
            Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder
            TransformerEncoderLayer
        """
    },
    "upsampling": {"upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d"},
    "utils": {
        "tuples": """
            _list_with_default _ntuple _pair _quadruple _reverse_repeat_tuple _single _triple
            consume_prefix_in_state_dict_if_present
        """
    },
}


def _from_all(room: str, places: dict[str, str]) -> Rows:
    rows: Rows = {}
    for place, names in places.items():
        rows |= aliases(place if place.startswith("retrograd.") else f"{room}.{place}", names)
    return rows


for _file, _places in _FILES.items():
    module(
        f"nn.modules.{_file}",
        f"What PyTorch has in ``torch.nn.modules.{_file}``.",
        _from_all("retrograd.nn", _places),
    )
module(
    "nn.modules",
    "Layers under PyTorch's longer paths: ``torch.nn.modules.linear.Linear`` is `torch.nn.Linear`.",
    *(
        same(f"nn.modules.{file}")
        for file in _FILES
        if file not in ("linear_cross_entropy", "utils")
    ),
)

module(
    "optim._adafactor",
    "Adafactor, under the name of PyTorch's module.",
    aliases("retrograd.optim.adafactor", "Adafactor adafactor"),
)
module(
    "optim._functional",
    "All optimizers as functions of lists, under the name of PyTorch's module.",
    *(
        aliases(f"retrograd.optim.{name}", name)
        for name in "adadelta adagrad adam adamax adamw asgd nadam radam rmsprop rprop sgd".split()
    ),
)
module(
    "optim._muon",
    "Muon, under the name of PyTorch's module.",
    aliases("retrograd.optim.muon", "Muon muon"),
)
module(
    "optim._stateless",
    "Swapping an optimizer's parameters, under the name of PyTorch's module.",
    aliases("retrograd.optim.stateless", "swap_in_optimizer_params_and_state"),
)
module(
    "nn.attention.flex_attention",
    "Attention whose scores a function changes: refused.",
    settings(_DEFAULT_SPARSE_BLOCK_SIZE=128),
    refusals(
        "scores are not changed by a function; give nn.functional.scaled_dot_product_attention "
        "a mask, or a tensor that is added to the scores",
        functions="""
        and_masks create_block_mask create_mask create_nested_block_mask flex_attention noop_mask
        or_masks
        """,
        classes="AuxOutput AuxRequest BlockMask FlexKernelOptions",
    ),
)
module(
    "autograd.variable",
    "`Variable`, the old name of a tensor with history.",
    aliases("retrograd.ops.making.legacy", "Variable VariableMeta"),
)
