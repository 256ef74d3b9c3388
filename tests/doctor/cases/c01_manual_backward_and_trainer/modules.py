import torch
import torch.nn as nn
import torch.nn.functional as F


class LitModule(nn.Module):
    trainer = None

    def on_epoch_start(self, epoch):
        pass

    def manual_backward(self, loss):
        loss.backward()

    def log(self, name, value):
        self.trainer.log(name, value)


class LitSequenceTagger(LitModule):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.rnn = nn.LSTM(inputs, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 2)

    def forward(self, x):
        return self.head(self.rnn(x)[0])

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x).flatten(0, 1), y.flatten())
        self.manual_backward(loss)
        self.log("train_loss", loss.detach())
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=3e-3)
        return optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
