"""Lookup tables: vectors by index, alone or in bags."""

from __future__ import annotations

from retrograd.dtypes import dtype
from retrograd.engine.grad_mode import no_grad
from retrograd.nn import functional, init
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.ops.making.creation import empty
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device


class _LookupTable(Module):
    """What Embedding and EmbeddingBag share: the table and its initial values."""

    weight: Parameter
    padding_idx: int | None

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        max_norm: float | None,
        norm_type: float,
        scale_grad_by_freq: bool,
        sparse: bool,
        weight: Tensor | None,
        freeze: bool,
        device: Device,
        dtype: dtype | None,
        padding_name: str,
    ) -> None:
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < max(num_embeddings, 1):
                raise AssertionError(f"{padding_name} must be within num_embeddings")
            if padding_idx < 0:
                padding_idx += num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if weight is None:
            made = empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
            self.weight = Parameter(made, requires_grad=not freeze)
            self.reset_parameters()
        else:
            if list(weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError(
                    "Shape of weight does not match num_embeddings and embedding_dim"
                )
            self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw new vectors from the standard normal distribution; padding's vector is zero."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


def _rows_and_columns(embeddings: Tensor) -> tuple[int, int]:
    if embeddings.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
    rows, columns = embeddings.shape
    return rows, columns


class Embedding(_LookupTable):
    """A table of `num_embeddings` vectors of size `embedding_dim`, looked up by index.

    >>> torch.nn.Embedding(10, 3)(torch.tensor([[1, 2], [4, 3]])).shape
    torch.Size([2, 2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            _freeze,
            device,
            dtype,
            "Padding_idx",
        )

    def forward(self, input: Tensor) -> Tensor:
        return functional.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        if self.sparse is not False:
            text += ", sparse=True"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A layer around an existing table, which it shares; not trained unless told.

        >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> torch.nn.Embedding.from_pretrained(table)(torch.tensor([1]))
        tensor([[3., 4.]])
        """
        return cls(
            *_rows_and_columns(embeddings),
            _weight=embeddings,
            _freeze=freeze,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )


class EmbeddingBag(_LookupTable):
    """Sums, means or maxima of bags of vectors, without the vectors in between.

    >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.nn.EmbeddingBag.from_pretrained(table, mode="sum")(torch.tensor([[0, 1]]))
    tensor([[4., 6.]])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            False,
            device,
            dtype,
            "padding_idx",
        )
        self.mode = mode
        self.include_last_offset = include_last_offset

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        return functional.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings!r}, {self.embedding_dim!r}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm!r}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type!r}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq!r}"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx!r}"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """A layer around an existing table, which it shares; not trained unless told."""
        made = cls(
            *_rows_and_columns(embeddings),
            _weight=embeddings,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        made.weight.requires_grad = not freeze
        return made
