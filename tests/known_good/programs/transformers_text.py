"""Fine-tunes a small BERT of transformers on sentences padded to one length."""

import torch
import torch.utils.data
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
from transformers import BertConfig, BertForSequenceClassification

BATCH, BATCHES, LENGTH = 8, 40, 64


class Sentences(torch.utils.data.Dataset):
    def __init__(self):
        self.random = torch.Generator().manual_seed(0)
        self.lengths = torch.randint(5, LENGTH, (BATCH * BATCHES,), generator=self.random)

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        length = int(self.lengths[index])
        tokens = torch.zeros(LENGTH, dtype=torch.long)
        tokens[:length] = torch.randint(1, 1000, (length,), generator=self.random)
        # A mask of all pairs is taken as it is; whether a flat one is full is read in each step.
        pairs = (tokens > 0).expand(1, LENGTH, LENGTH)
        return {"input_ids": tokens, "attention_mask": pairs, "labels": torch.tensor(index % 2)}


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    config = BertConfig(
        vocab_size=1000,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        max_position_embeddings=LENGTH,
    )
    model = BertForSequenceClassification(config).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=10)
    loader = torch.utils.data.DataLoader(Sentences(), BATCH, drop_last=True)
    losses = []
    for batch in pl.MpDeviceLoader(loader, device):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        xm.optimizer_step(optimizer)
        scheduler.step()
        losses.append(loss.detach())
    torch_xla.sync()
    print(f"mean loss {torch.stack(losses).mean().item():.4f}")


if __name__ == "__main__":
    main()
