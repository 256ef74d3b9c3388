import torch
import torch.nn.functional as F

from stream import sentences
from tagger import Tagger

torch.manual_seed(0)

model = Tagger(words=20, tags=3)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
for step, (words, tags) in enumerate(sentences(60)):
    highest = int(words.max())
    if highest >= model.vocabulary:
        model.grow(highest + 1)
        print(f"step {step}: vocabulary is now {model.vocabulary}")
    loss = F.cross_entropy(model(words).flatten(0, 1), tags.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 14:
        print(f"step {step}: loss {loss.item():.4f}")
