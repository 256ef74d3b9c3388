"""An LSTM that learns a text word by word, its hidden state carried over and detached.

Without the `detach`, the second batch's backward would run into the graph of the first, which the
first backward has freed: "Trying to backward through the graph a second time".
"""

import torch
from torch import nn

TEXT = """
the cat sat on the mat and the dog sat on the log
the cat saw the dog and the dog saw the cat
the mat lay on the log and the log lay in the fog
when the fog rose the cat ran and when the cat ran the dog ran
"""


class WordModel(nn.Module):
    """Words to vectors, an LSTM over them, and a score for every word that may come next."""

    def __init__(self, words: int, width: int = 32):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.recurrent = nn.LSTM(width, width, batch_first=True)
        self.scores = nn.Linear(width, words)

    def forward(self, tokens, hidden):
        output, hidden = self.recurrent(self.embedding(tokens), hidden)
        return self.scores(output), hidden


def main() -> None:
    torch.manual_seed(2)
    words = TEXT.split()
    vocabulary = sorted(set(words))
    index = {word: number for number, word in enumerate(vocabulary)}
    # two streams of text, side by side
    tokens = torch.tensor([index[word] for word in words])
    length = (len(tokens) - 1) // 2
    inputs, targets = (
        tokens[: 2 * length].view(2, length),
        tokens[1 : 2 * length + 1].view(2, length),
    )

    model = WordModel(len(vocabulary))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, 31):
        hidden = None
        total = 0.0
        for start in range(0, length, 8):
            scores, hidden = model(inputs[:, start : start + 8], hidden)
            hidden = tuple(state.detach() for state in hidden)  # the values stay, the graph ends
            loss = criterion(scores.flatten(0, 1), targets[:, start : start + 8].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        if epoch % 6 == 0:
            print(f"epoch {epoch:2d}  loss {total:.4f}")

    word, hidden, said = "the", None, ["the"]
    with torch.no_grad():
        for _ in range(10):
            scores, hidden = model(torch.tensor([[index[word]]]), hidden)
            word = vocabulary[int(scores.argmax())]
            said.append(word)
    print(" ".join(said))


if __name__ == "__main__":
    main()
