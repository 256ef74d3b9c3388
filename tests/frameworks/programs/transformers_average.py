"""A Hugging Face Trainer whose loss carries an average with its graph."""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        ids = torch.randint(0, 40, (6,), generator=generator)
        return {"input_ids": ids, "attention_mask": torch.ones(6), "labels": index % 2}


class Smoothed(Trainer):
    average = 0.0

    def compute_loss(self, model, inputs, return_outputs=False, **others):
        outputs = model(**inputs)
        loss = outputs.loss
        self.average = 0.9 * self.average + 0.1 * loss  # fault
        loss = loss + 0.1 * (loss - self.average).pow(2)
        return (loss, outputs) if return_outputs else loss


torch.manual_seed(0)
config = BertConfig(
    vocab_size=40,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=16,
    max_position_embeddings=16,
)
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        num_train_epochs=2,
        per_device_train_batch_size=4,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    Smoothed(BertForSequenceClassification(config), arguments, train_dataset=Data()).train()
