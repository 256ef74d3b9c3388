"""
Trains a GPT to sort: given a sequence of digits it continues with the same digits in order.
"""

import os
import pickle
import sys

import torch
from torch.utils.data import Dataset
from torch.utils.data.dataloader import DataLoader

from .model import GPT
from .trainer import Trainer
from .utils import CfgNode as CN
from .utils import set_seed, setup_logging


def get_config():
    C = CN()
    C.system = CN()
    C.system.seed = 3407
    C.system.work_dir = "./out/sorter"
    C.model = GPT.get_default_config()
    C.trainer = Trainer.get_default_config()
    C.trainer.learning_rate = 5e-3
    C.trainer.max_iters = 60
    return C


class SortDataset(Dataset):
    """
    Dataset for the Sort problem. E.g. for problem length 6:
    Input: 0 0 2 1 0 1 -> Output: 0 0 0 1 1 2
    Which will feed into the transformer concatenated as:
    input:  0 0 2 1 0 1 0 0 0 1 1
    output: I I I I I 0 0 0 1 1 2
    where I is "ignore", as the transformer is reading the input sequence
    """

    def __init__(self, split, length=5, num_digits=3):
        assert split in {"train", "test"}
        self.split = split
        self.length = length
        self.num_digits = num_digits

    def __len__(self):
        return 10000

    def get_vocab_size(self):
        return self.num_digits

    def get_block_size(self):
        return self.length * 2 - 1

    def __getitem__(self, idx):
        while True:
            inp = torch.randint(self.num_digits, size=(self.length,), dtype=torch.long)
            # half of the time let's try to boost the number of examples that have repeats
            if torch.rand(1).item() < 0.5:
                if inp.unique().nelement() > self.length // 2:
                    continue
            # figure out if this generated example is train or test based on its hash
            h = hash(pickle.dumps(inp.tolist()).hex().__len__() + int(inp.sum()) * 7)
            inp_split = "test" if h % 4 == 0 else "train"
            if inp_split == self.split:
                break

        sol = torch.sort(inp)[0]
        cat = torch.cat((inp, sol), dim=0)
        x = cat[:-1].clone()
        y = cat[1:].clone()
        y[: self.length - 1] = -1
        return x, y


def main():
    config = get_config()
    config.merge_from_args(sys.argv[1:])
    print(config)
    setup_logging(config)
    set_seed(config.system.seed)

    train_dataset = SortDataset("train")
    test_dataset = SortDataset("test")

    config.model.vocab_size = train_dataset.get_vocab_size()
    config.model.block_size = train_dataset.get_block_size()
    model = GPT(config.model)
    trainer = Trainer(config.trainer, model, train_dataset)

    def batch_end_callback(trainer):
        if trainer.iter_num % 10 == 0:
            print(f"iter {trainer.iter_num}: train loss {trainer.loss.item():.5f}")

    def checkpoint_callback(trainer):
        if trainer.iter_num == config.trainer.max_iters - 1:
            ckpt_path = os.path.join(config.system.work_dir, "model.pt")
            torch.save(model.state_dict(), ckpt_path)

    trainer.set_callback("on_batch_end", batch_end_callback)
    trainer.add_callback("on_batch_end", checkpoint_callback)
    trainer.run()

    # a model from the file must sort as well as the one that was trained
    model = GPT(config.model)
    model.load_state_dict(torch.load(os.path.join(config.system.work_dir, "model.pt")))
    model.eval()
    n = test_dataset.length
    results = []
    loader = DataLoader(test_dataset, batch_size=50, num_workers=0, drop_last=False)
    for b, (x, y) in enumerate(loader):
        inp = x[:, :n]
        sol = y[:, -n:]
        cat = model.generate(inp, n, do_sample=False)
        sol_candidate = cat[:, n:]
        correct = (sol == sol_candidate).all(1).cpu()
        results.extend(int(c) for c in correct)
        if b + 1 >= 2:
            break
    print("test: %d/%d = %.2f%% correct" % (sum(results), len(results), 100 * torch.tensor(results, dtype=torch.float).mean()))
    sample = model.generate(torch.tensor([[2, 0, 1, 1, 0]]), n, temperature=0.8, do_sample=True, top_k=2)
    print("sampled:", sample[0, n:].tolist())


if __name__ == "__main__":
    main()
