import argparse
import torch
from lm import TiedLanguageModel
from corpus import sentences


def train_batch(model, optimizer, batch):
    """Sentences differ in length, so they go one at a time; one update for the batch."""
    optimizer.zero_grad()
    table = model.table()
    losses = []
    for sentence in batch:
        loss = model.sentence_loss(sentence, table) / len(batch)
        loss.backward()
        losses.append(loss.item())
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return sum(losses)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", type=int, default=30)
    parser.add_argument("--steps", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = TiedLanguageModel(args.vocab, 16)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(args.steps):
        print(step, round(train_batch(model, optimizer, sentences(args.vocab, seed=step)), 4))


if __name__ == "__main__":
    main()
