import torch
from torch.utils.data import DataLoader, TensorDataset
from modules import LitSequenceTagger
from trainer import Trainer


def make_loader():
    gen = torch.Generator().manual_seed(3)
    x = torch.randn(48, 6, 5, generator=gen)
    y = (x.cumsum(1)[..., 0] > 0).long()
    return DataLoader(TensorDataset(x, y), batch_size=12, shuffle=False)


def main():
    torch.manual_seed(0)
    module = LitSequenceTagger(5, 16)
    trainer = Trainer(max_epochs=2, clip=1.0)
    trainer.fit(module, make_loader())
    print({k: round(v, 4) for k, v in trainer.logged.items()})


if __name__ == "__main__":
    main()
