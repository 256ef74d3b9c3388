"""What is known of PyTorch's names: which functions cut the graph, save values, have parameters."""

from __future__ import annotations

CUTTING_METHODS = frozenset(
    """
    item detach numpy tolist size dim numel nelement ndimension element_size argmax argmin argsort
    eq ne lt le gt ge isnan isinf isfinite bool int long short byte char type_as_int nonzero
    data_ptr stride storage_offset is_contiguous new_zeros new_ones new_full new_empty new_tensor
    any all equal allclose is_floating_point get_device __len__ sign round floor ceil
    """.split()
)
"""Methods whose result has no graph, whatever they are called on."""

PASSING_METHODS = frozenset(
    """
    abs add addmm amax amin bmm clamp clip clone contiguous cos cosh cpu cuda cumsum cumprod
    diagonal div double exp expand expand_as flatten float gather half index_select log log1p
    log_softmax logsumexp masked_fill masked_select matmul max mean median min mm mul narrow neg
    norm permute pow prod reciprocal relu repeat reshape rsqrt select sigmoid sin softmax split
    chunk sqrt square squeeze std sub sum t take tan tanh to transpose tril triu type unbind unfold
    unsqueeze var view view_as where movedim swapaxes bfloat16 type_as sinh
    """.split()
)
"""Methods whose result depends on what they are called on, with a graph."""

CUTTING_FUNCTIONS = frozenset(
    "torch." + name
    for name in """
    tensor as_tensor from_numpy zeros ones rand randn randint randperm arange linspace logspace eye
    full empty zeros_like ones_like rand_like randn_like randint_like full_like empty_like normal
    bernoulli multinomial argmax argmin argsort eq ne lt le gt ge isnan isinf isfinite one_hot
    manual_seed is_tensor numel sign round floor ceil equal allclose nonzero load device Size
    tril_indices triu_indices hann_window
    """.split()
) | {"torch.nn.functional.one_hot"}
"""Functions that make new tensors, or whose result has no graph."""

CREATING_FUNCTIONS = frozenset(
    "torch." + name
    for name in """
    tensor zeros ones rand randn randint arange linspace logspace eye full empty zeros_like
    ones_like rand_like randn_like full_like empty_like normal
    """.split()
)
"""Functions that make a new leaf; they take `requires_grad`."""

SAVING_METHODS = frozenset(
    """
    exp log log1p log_softmax logsumexp matmul mm bmm addmm norm pow sigmoid softmax sqrt square
    tanh abs cos sin prod std var rsqrt reciprocal relu amax amin clamp max min
    """.split()
)
"""Methods and functions that keep a value for the backward pass."""

MODULES_WITHOUT_PARAMETERS = frozenset(
    """
    ReLU ReLU6 LeakyReLU ELU SELU CELU GELU SiLU Mish Sigmoid Tanh Softplus Softsign Softmax
    LogSoftmax Softmin Softshrink Hardshrink Tanhshrink Hardtanh Hardswish Hardsigmoid Threshold
    LogSigmoid GLU Softmax2d Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout
    Identity Flatten Unflatten MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AvgPool3d
    AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
    AdaptiveMaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d LPPool1d LPPool2d FractionalMaxPool2d
    Upsample UpsamplingNearest2d UpsamplingBilinear2d PixelShuffle PixelUnshuffle ChannelShuffle
    ZeroPad1d ZeroPad2d ZeroPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d
    ReflectionPad2d ReplicationPad1d ReplicationPad2d CircularPad1d CircularPad2d Fold Unfold
    CosineSimilarity PairwiseDistance LocalResponseNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d
    RReLU
    """.split()
)
"""Layers in which there is nothing to train (instance norms: as they are made by default)."""

CONTAINERS = frozenset(
    "Module Sequential ModuleList ModuleDict ParameterList ParameterDict DataParallel".split()
)

NOT_MODULES = frozenset("Parameter UninitializedParameter Buffer".split())

RECURRENT = frozenset("RNN GRU LSTM RNNCell GRUCell LSTMCell".split())


def is_layer(path: str) -> bool:
    """Whether `torch.nn.X` is a module class.

    >>> is_layer("torch.nn.Linear"), is_layer("torch.nn.functional.relu")
    (True, False)
    """
    head, _, last = path.rpartition(".")
    in_nn = head == "torch.nn" or head.startswith("torch.nn.modules")
    return in_nn and last[:1].isupper() and last not in NOT_MODULES


def is_loss(path: str) -> bool:
    """Whether `torch.nn.X` is a loss.

    >>> is_loss("torch.nn.MSELoss")
    True
    """
    return is_layer(path) and path.endswith("Loss") and "Adaptive" not in path


def has_parameters(path: str) -> bool:
    """Whether a layer of `torch.nn` has something to train, as it is made by default."""
    last = path.rpartition(".")[2]
    return is_layer(path) and not is_loss(path) and last not in MODULES_WITHOUT_PARAMETERS


def is_optimizer(path: str) -> bool:
    """Whether `torch.optim.X` is an optimizer class.

    >>> is_optimizer("torch.optim.Adam"), is_optimizer("torch.optim.lr_scheduler.StepLR")
    (True, False)
    """
    head, _, last = path.rpartition(".")
    return head == "torch.optim" and last[:1].isupper() and last != "Optimizer"
