"""sentence-transformers: a small BERT learns that pairs of sentences belong together."""

import tempfile
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer, losses, models, util
from transformers import BertConfig, BertModel, BertTokenizer

WORDS = "the a cat dog sat ran on in mat park big small".split()
PAIRS = [("the cat sat on the mat", "a cat sat"), ("the big dog ran", "a dog in the park")]

torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    words = Path(folder) / "vocab.txt"
    words.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    BertTokenizer(str(words)).save_pretrained(folder)
    BertModel(
        BertConfig(
            vocab_size=17,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=32,
        )
    ).save_pretrained(folder)
    encoder = models.Transformer(folder, max_seq_length=16)
pooling = models.Pooling(32, pooling_mode="mean")
model = SentenceTransformer(modules=[encoder, pooling, models.Normalize()], device="cpu")
ranking = losses.MultipleNegativesRankingLoss(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model.train()
for step in range(4):
    features = [model.tokenize([pair[side] for pair in PAIRS]) for side in (0, 1)]
    loss = ranking(features, labels=None)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.6f}")
model.eval()
found = model.encode([first for first, _ in PAIRS], convert_to_tensor=True)
print(tuple(found.shape), [f"{value:.5f}" for value in util.cos_sim(found, found)[0].tolist()])
