"""The Transformer: encoder and decoder, their layers, and both together."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

from retrograd import dtypes
from retrograd.engine.grad_mode import is_grad_enabled
from retrograd.lifecycle.site import user_level
from retrograd.nn import functional, init
from retrograd.nn.activation import ReLU
from retrograd.nn.attention import MultiheadAttention, additive_mask
from retrograd.nn.container import ModuleList
from retrograd.nn.dropout import Dropout
from retrograd.nn.linear import Linear
from retrograd.nn.module import Module
from retrograd.nn.normalization import LayerNorm
from retrograd.ops.making.creation import full
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device

Activation = str | Callable[[Tensor], Tensor]


# ----------------------------------------------------------------------------------------- parts


def _causal_mask(size: int, device: Device = None, dtype: dtypes.dtype | None = None) -> Tensor:
    """Zero on and below the diagonal, -inf above: no position sees a later one."""
    return full((size, size), float("-inf"), dtype=dtype, device=device).triu(1)


def _is_causal(mask: Tensor | None, given: bool | None, size: int) -> bool:
    """What the caller says of a mask; where nothing is said, the mask is looked at."""
    if given is not None or mask is None:
        return bool(given)
    if tuple(mask.shape) != (size, size):
        return False
    return bool((mask == _causal_mask(size, mask.device, mask.dtype)).all())


def _length(input: Tensor, batch_first: bool) -> int:
    return input.shape[1 if batch_first and input.ndim == 3 else 0]


def _clones(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _activation(wanted: Any) -> Any:
    """A function by its name, or as it is given."""
    if not isinstance(wanted, str):
        return wanted
    if wanted not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {wanted}")
    return getattr(functional, wanted)


class _Layer(Module):
    """What layers of both kinds share: the step that works on every position by itself."""

    linear1: Linear
    linear2: Linear
    dropout: Dropout
    activation: Any

    def _positions(self, x: Tensor) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def __getstate__(self) -> dict[str, object]:
        """The two usual functions are pickled by their names."""
        state = super().__getstate__()
        for name in ("relu", "gelu"):
            if state.get("activation") is getattr(functional, name):
                state["activation"] = name
        return state

    def __setstate__(self, state: dict[str, object]) -> None:
        if "activation" in state:
            state = {**state, "activation": _activation(state["activation"])}
        super().__setstate__(state)


# ---------------------------------------------------------------------------------------- layers


class TransformerEncoderLayer(_Layer):
    """Self-attention, then two linear layers; each step is added to its input and normalized.

    >>> layer = torch.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> layer(torch.zeros(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **place
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _activation(activation)
        self.activation_relu_or_gelu = _kind_of_activation(self.activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        name, kind = "src_key_padding_mask", src.dtype
        padding = additive_mask(src_key_padding_mask, name, kind, src_mask, "src_mask")
        mask = additive_mask(src_mask, "src_mask", kind)

        def attended(x: Tensor) -> Any:
            options = {"attn_mask": mask, "key_padding_mask": padding, "is_causal": is_causal}
            return self.dropout1(self.self_attn(x, x, x, need_weights=False, **options)[0])

        x = src
        if self.norm_first:
            x = x + attended(self.norm1(x))
            x = x + self.dropout2(self._positions(self.norm2(x)))
        else:
            x = self.norm1(x + attended(x))
            x = self.norm2(x + self.dropout2(self._positions(x)))
        result: Tensor = x
        return result


def _kind_of_activation(function: Activation) -> int:
    """PyTorch's number for what its fused layer can do: 1 relu, 2 gelu, 0 anything else."""
    if function is functional.relu or isinstance(function, ReLU):
        return 1
    return 2 if function is functional.gelu or type(function).__name__ == "GELU" else 0


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, then two linear layers.

    >>> layer = torch.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> layer(torch.zeros(5, 3, 8), torch.zeros(7, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        heads: dict[str, Any] = {"dropout": dropout, "bias": bias, "batch_first": batch_first}
        self.self_attn = MultiheadAttention(d_model, nhead, **heads, **place)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **heads, **place)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def to_itself(x: Tensor) -> Any:
            masks = {"attn_mask": tgt_mask, "key_padding_mask": tgt_key_padding_mask}
            options = {**masks, "is_causal": tgt_is_causal, "need_weights": False}
            return self.dropout1(self.self_attn(x, x, x, **options)[0])

        def to_memory(x: Tensor) -> Any:
            masks = {"attn_mask": memory_mask, "key_padding_mask": memory_key_padding_mask}
            options = {**masks, "is_causal": memory_is_causal, "need_weights": False}
            return self.dropout2(self.multihead_attn(x, memory, memory, **options)[0])

        x = tgt
        if self.norm_first:
            x = x + to_itself(self.norm1(x))
            x = x + to_memory(self.norm2(x))
            x = x + self.dropout3(self._positions(self.norm3(x)))
        else:
            x = self.norm1(x + to_itself(x))
            x = self.norm2(x + to_memory(x))
            x = self.norm3(x + self.dropout3(self._positions(x)))
        result: Tensor = x
        return result


# --------------------------------------------------------------------------------------- stacks


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after the other.

    In evaluation without gradients PyTorch drops padded positions where it can; they come out as
    zeros then, here as there.

    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> torch.nn.TransformerEncoder(layer, num_layers=2)(torch.zeros(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        obstacle = _obstacle(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not obstacle
        if enable_nested_tensor and obstacle:
            warnings.warn(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because "
                f"{obstacle}",
                UserWarning,
                stacklevel=user_level(),
            )

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        name, kind = "src_key_padding_mask", src.dtype
        padding = additive_mask(src_key_padding_mask, name, kind, mask, "mask")
        mask = additive_mask(mask, "mask", kind)
        first: Any = self.layers[0]
        causal = _is_causal(mask, is_causal, _length(src, first.self_attn.batch_first))
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if mask is None and padding is not None and self._drops_padding(src, padding):
            x = x.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        result: Tensor = x if self.norm is None else self.norm(x)
        return result

    def _drops_padding(self, src: Tensor, padding: Tensor | None) -> bool:
        """Whether PyTorch leaves padded positions out: at the end of rows, with no gradients."""
        first: Any = self.layers[0]
        if padding is None or src.ndim != 3 or not self.use_nested_tensor or first.training:
            return False
        if is_grad_enabled() and (src.requires_grad or _any_requires_grad(first)):
            return False
        hidden = (padding != 0).to(dtypes.int64)
        return not self.mask_check or bool((hidden[:, 1:] >= hidden[:, :-1]).all())


def _any_requires_grad(layer: Module) -> bool:
    return any(parameter.requires_grad for parameter in layer.parameters())


def _obstacle(layer: Module) -> str:
    """Why PyTorch would not leave padded positions out with such layers; empty if it would."""
    name = "encoder_layer"
    if not isinstance(layer, TransformerEncoderLayer):
        return f"{name} was not TransformerEncoderLayer"
    attention = layer.self_attn
    if layer.norm_first:
        return f"{name}.norm_first was True"
    if not attention.batch_first:
        return (
            f"{name}.self_attn.batch_first was not True"
            "(use batch_first for better inference performance)"
        )
    if not attention._qkv_same_embed_dim:
        return f"{name}.self_attn._qkv_same_embed_dim was not True"
    if attention.in_proj_bias is None:
        return f"{name}.self_attn was passed bias=False"
    if not layer.activation_relu_or_gelu:
        return f"{name}.activation_relu_or_gelu was not True"
    if layer.norm1.eps != layer.norm2.eps:
        return f"{name}.norm1.eps was not equal to {name}.norm2.eps"
    return f"{name}.self_attn.num_heads is odd" if attention.num_heads % 2 else ""


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after the other.

    >>> decoder = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(8, 2, 16), 2)
    >>> decoder(torch.zeros(5, 3, 8), torch.zeros(7, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        first: Any = self.layers[0]
        causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, first.self_attn.batch_first))
        x = tgt
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        result: Tensor = x if self.norm is None else self.norm(x)
        return result


class Transformer(Module):
    """An encoder and a decoder that attends to its output.

    >>> model = torch.nn.Transformer(8, 2, 1, 1, dim_feedforward=16)
    >>> model(torch.zeros(7, 3, 8), torch.zeros(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        custom_encoder: object = None,
        custom_decoder: object = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        shape = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        order = (batch_first, norm_first, bias)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)

        self.encoder: Any = custom_encoder
        if custom_encoder is None:
            encoder_layer = TransformerEncoderLayer(*shape, *order, **place)
            self.encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm())
        self.decoder: Any = custom_decoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*shape, *order, **place)
            self.decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        """Draw new values for all matrices."""
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Device = None, dtype: dtypes.dtype | None = None
    ) -> Tensor:
        """A mask for sequences in which no position may see a later one.

        >>> torch.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _causal_mask(sz, device, dtype)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        result: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return result
