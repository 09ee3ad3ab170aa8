"""Trains a small GPT-2 with transformers' Trainer, which logs every twenty steps."""

import tempfile

import torch
import torch.utils.data
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

LENGTH, SENTENCES, STEPS = 32, 256, 60


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return SENTENCES

    def __getitem__(self, index):
        tokens = torch.randint(0, 500, (LENGTH,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": tokens, "labels": tokens}


def main():
    config = GPT2Config(vocab_size=500, n_positions=LENGTH, n_embd=64, n_layer=2, n_head=2)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=STEPS,
            per_device_train_batch_size=8,
            logging_steps=20,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            dataloader_drop_last=True,
            logging_nan_inf_filter=False,
            optim="adamw_torch",
        )
        Trainer(GPT2LMHeadModel(config), arguments, train_dataset=Tokens()).train()


if __name__ == "__main__":
    main()
