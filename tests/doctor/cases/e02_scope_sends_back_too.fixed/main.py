import torch
from tagger import Tagger, sentences
from scope import optimization_step


def run():
    torch.manual_seed(11)
    tagger = Tagger(words=50, tags=5)
    optimizer = torch.optim.AdamW(tagger.parameters(), lr=3e-3)
    for epoch in range(2):
        seen, total = 0, 0.0
        for words, tags in sentences(6):
            with optimization_step(optimizer, max_norm=1.0) as step:
                step.loss = tagger.loss(words, tags)
            total += step.loss.item()
            seen += tags.numel()
        print(f"epoch {epoch}: {total / seen:.4f}")


run()
