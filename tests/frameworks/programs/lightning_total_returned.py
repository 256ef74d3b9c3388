"""A Lightning module that adds its loss to a sum that is never cleared."""

import lightning
import torch


class Recurrent(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(4, 8)
        self.head = torch.nn.Linear(8, 1)
        self.state = None

    def training_step(self, batch, index):
        x, y = batch
        if self.state is None:
            self.state = torch.zeros(len(x), 8)
        self.state = self.cell(x, self.state.detach())
        loss = (self.head(self.state) - y).pow(2).mean()
        self.total = getattr(self, "total", 0.0) + loss  # fault
        return self.total

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.randn(48, 4), torch.randn(48, 1))
trainer = lightning.Trainer(
    max_epochs=2,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
model = Recurrent()
trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=4))
