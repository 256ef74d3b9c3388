"""Building blocks of neural networks."""

from retrograd.namespaces import on_first_use

__all__, __getattr__, __dir__ = on_first_use(
    __name__,
    {
        "activation": """
            CELU ELU GELU GLU SELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU
            LogSigmoid LogSoftmax Mish PReLU ReLU ReLU6 RReLU Sigmoid SiLU Softmax Softmax2d
            Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold
        """,
        "adaptive": "AdaptiveLogSoftmaxWithLoss",
        "attention": "MultiheadAttention",
        "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d",
        "channelshuffle": "ChannelShuffle",
        "container": "Container ModuleDict ModuleList ParameterDict ParameterList Sequential",
        "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
        "cross_map_lrn": "CrossMapLRN2d",
        "distance": "CosineSimilarity PairwiseDistance",
        "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
        "flatten": "Flatten Unflatten",
        "fold": "Fold Unfold",
        "fractional_pooling": "FractionalMaxPool2d FractionalMaxPool3d",
        "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d",
        "lazy": """
            LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d
            LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d
            LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear
        """,
        "linear": "Bilinear Identity Linear",
        "linear_cross_entropy": "LinearCrossEntropyLoss LinearCrossEntropyOptions",
        "loss": """
            BCELoss BCEWithLogitsLoss CosineEmbeddingLoss CrossEntropyLoss CTCLoss
            GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MarginRankingLoss
            MSELoss MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss
            NLLLoss2d PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss
            TripletMarginWithDistanceLoss
        """,
        "module": "Module",
        "normalization": "GroupNorm LayerNorm LocalResponseNorm RMSNorm",
        "padding": """
            CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d
            ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d
            ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d
        """,
        "parallel": "DataParallel",
        "parameter": "Buffer Parameter UninitializedBuffer UninitializedParameter factory_kwargs",
        "pixelshuffle": "PixelShuffle PixelUnshuffle",
        "pooling": """
            AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d
            AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d LPPool1d LPPool2d
            LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d
        """,
        "rnn": "GRU LSTM RNN RNNBase",
        "rnn_cells": "GRUCell LSTMCell RNNCell RNNCellBase",
        "sparse": "Embedding EmbeddingBag",
        "sync_batchnorm": "SyncBatchNorm",
        "transformer": """
            Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder
            TransformerEncoderLayer
        """,
        "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
    },
    modules="attention common_types functional grad init modules parallel utils",
)
