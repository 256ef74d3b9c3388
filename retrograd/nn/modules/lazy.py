"""What PyTorch has in ``torch.nn.modules.lazy``."""

from retrograd.nn.lazy import LazyModuleMixin as LazyModuleMixin
