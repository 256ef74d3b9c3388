"""A Lightning module that carries both states of an LSTM with their graphs."""

import lightning
import torch


class Recurrent(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(4, 8, batch_first=True)
        self.head = torch.nn.Linear(8, 1)
        self.state = None

    def training_step(self, batch, index):
        x, y = batch
        output, self.state = self.lstm(x, self.state)  # fault
        return (self.head(output[:, -1]) - y).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-2)


torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.randn(24, 3, 4), torch.randn(24, 1))
trainer = lightning.Trainer(
    max_epochs=1,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Recurrent(), torch.utils.data.DataLoader(data, batch_size=4))
