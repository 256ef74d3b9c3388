"""pytorch-lightning: a Trainer fits a module with validation, accumulation and a checkpoint, and loads it."""

import logging
import tempfile
import warnings

import pytorch_lightning as pl
import torch
import torch.nn as nn
import torch.nn.functional as F
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)


class Classifier(pl.LightningModule):
    def __init__(self, width: int = 16):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Linear(6, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 3)
        )

    def training_step(self, batch, index):
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        print(index, f"{loss.item():.6f}")
        return loss

    def validation_step(self, batch, index):
        self.log("validation", F.cross_entropy(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


pl.seed_everything(0, verbose=False)
data = TensorDataset(torch.randn(32, 6), torch.randint(3, (32,)))
model = Classifier()
with tempfile.TemporaryDirectory() as folder:
    best = ModelCheckpoint(dirpath=folder, monitor="validation")
    trainer = pl.Trainer(
        max_epochs=3,
        accelerator="cpu",
        accumulate_grad_batches=2,
        gradient_clip_val=1.0,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        callbacks=[best, EarlyStopping("validation", patience=5)],
    )
    trainer.fit(
        model, DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=16)
    )
    print("best", f"{best.best_model_score.item():.6f}")
    again = Classifier.load_from_checkpoint(best.best_model_path)
    result = trainer.validate(again, DataLoader(data, batch_size=16), verbose=False)
    print(again.hparams.width, f"{result[0]['validation']:.6f}")
