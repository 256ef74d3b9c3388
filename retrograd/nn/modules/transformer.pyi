"""What PyTorch has in ``torch.nn.modules.transformer``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.transformer import Transformer as Transformer
from retrograd.nn.transformer import TransformerDecoder as TransformerDecoder
from retrograd.nn.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from retrograd.nn.transformer import TransformerEncoder as TransformerEncoder
from retrograd.nn.transformer import TransformerEncoderLayer as TransformerEncoderLayer
