"""What tensors without elements refuse, each with the reason."""

NUMBER = "the result is a number or a truth, made of elements"
LENGTH = "how long the result is depends on elements"
LOOKS = "the kernel goes by elements, and PyTorch has none for such tensors either"

REFUSED: dict[str, str] = {
    "bincount": LENGTH,
    "masked_select": LENGTH,
    "torch.argwhere": LENGTH,
    "torch.combinations": LENGTH,
    "torch.nonzero": LENGTH,
    "torch.repeat_interleave": LENGTH,
    "torch.unique": LENGTH,
    "torch.unique_consecutive": LENGTH,
    "nn.functional.one_hot": LENGTH,
    "torch.tensor_split": LENGTH,
    "torch.allclose": NUMBER,
    "torch.equal": NUMBER,
    "torch.is_nonzero": NUMBER,
    "linalg.lstsq": LOOKS,
    "torch.histogram": LOOKS,
    "torch.histogramdd": LOOKS,
    "torch.cov": LOOKS,
    "nn.functional.ctc_loss": LOOKS,
    "torch.ctc_loss": LOOKS,
    "nn.functional.embedding_bag": "indices of padding, and those of a maximum, are left out: "
    + LENGTH,
    "torch.index_put": "a gradient is taken by a mask: " + LENGTH,
    "torch.masked_fill": "the gradient of the value is taken by the mask: " + LENGTH,
}
"""By op: some of its samples are refused, on the way forward or back."""

OTHER_GRADIENTS = {
    "torch.prod": "whether there is a second derivative is decided by zeros among the elements",
}
"""Where an element decides how many gradients there are."""

TEXTS = (
    "Tensor.item() cannot be called on meta tensors",
    "attempted to run this operator with Meta tensors",
    "The register_meta function for torch.nonzero() raises",
    "cannot repeat_interleave a meta tensor without output_size",
    "tensor_split expected tensor_indices_or_sections to be on cpu",
    "shape mismatch: indexing tensors could not be broadcast together",
)
"""How a refusal begins, or what it says."""
