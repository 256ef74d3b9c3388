"""Ops that a device refuses, each with the reason; and those that draw numbers of its own."""

CANNOT: dict[str, str] = {}

# The device's generator is another than the CPU's: shapes and types are compared, and the numbers
# with PyTorch's on the device.
DRAWN = set(
    """
    bernoulli nn.functional.alpha_dropout nn.functional.dropout nn.functional.dropout1d
    nn.functional.dropout2d nn.functional.dropout3d nn.functional.feature_alpha_dropout
    nn.functional.gumbel_softmax nn.functional.rrelu torch.multinomial torch.native_dropout
    torch.normal torch.poisson torch.rand torch.rand_like torch.randint torch.randint_like
    torch.randn torch.randn_like torch.randperm
    """.split()
)
