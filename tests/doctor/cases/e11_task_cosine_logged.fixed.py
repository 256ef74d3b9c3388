"""Two-task text model; a callback logs how well the two gradients agree on the encoder."""
import torch
from torch import nn
from torch.nn.functional import cosine_similarity, cross_entropy, l1_loss


class Callback:
    def on_losses(self, trainer, losses): ...

    def on_step(self, trainer, losses): ...


class AgreementLogger(Callback):
    def __init__(self, every=2):
        self.every, self.seen = every, []

    @staticmethod
    def flat_gradient(loss, parameters):
        grads = torch.autograd.grad(loss, parameters, retain_graph=True)
        return torch.cat([g.flatten() for g in grads])

    def on_losses(self, trainer, losses):
        if trainer.step_number % self.every:
            return
        shared = list(trainer.model.encoder.parameters())
        a, b = (self.flat_gradient(loss, shared) for loss in losses.values())
        self.seen.append(round(cosine_similarity(a, b, dim=0).item(), 3))


class Reader(nn.Module):
    def __init__(self, vocab=40, width=14):
        super().__init__()
        self.encoder = nn.Sequential(nn.EmbeddingBag(vocab, width), nn.Linear(width, width), nn.Tanh())
        self.topic, self.length = nn.Linear(width, 3), nn.Linear(width, 1)

    def forward(self, tokens):
        code = self.encoder(tokens)
        return self.topic(code), self.length(code).squeeze(-1)


class Trainer:
    def __init__(self, model, callbacks):
        self.model, self.callbacks, self.step_number = model, callbacks, 1
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def step(self, tokens, topic, length):
        topic_logits, predicted = self.model(tokens)
        losses = {"topic": cross_entropy(topic_logits, topic), "length": l1_loss(predicted, length)}
        for callback in self.callbacks:
            callback.on_losses(self, losses)
        self.optimizer.zero_grad()
        sum(losses.values()).backward()
        self.optimizer.step()
        self.step_number += 1


torch.manual_seed(8)
logger = AgreementLogger()
trainer = Trainer(Reader(), [logger])
for _ in range(5):
    tokens = torch.randint(0, 40, (10, 7))
    trainer.step(tokens, tokens[:, 0] % 3, tokens.float().mean(1) / 40)
print(logger.seen)
