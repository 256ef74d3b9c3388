import torch


class Trainer:
    def __init__(self, max_epochs, clip=None):
        self.max_epochs = max_epochs
        self.clip = clip
        self.logged = {}

    def fit(self, module, loader):
        module.trainer = self
        optimizer, scheduler = module.configure_optimizers()
        for epoch in range(self.max_epochs):
            module.on_epoch_start(epoch)
            for batch_idx, batch in enumerate(loader):
                loss = module.training_step(batch, batch_idx)
                self._optimize(module, optimizer, loss)
            scheduler.step()

    def _optimize(self, module, optimizer, loss):
        optimizer.zero_grad()
        loss.backward()
        if self.clip is not None:
            torch.nn.utils.clip_grad_norm_(module.parameters(), self.clip)
        optimizer.step()

    def log(self, name, value):
        self.logged[name] = float(value)
