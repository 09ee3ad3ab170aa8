"""Fine-tunes a small GPT-2 of Hugging Face transformers on texts of varying length.

The collator pads each batch to its own longest text, which is its default, so that almost every
step has a new shape, for which XLA compiles the training step again.
"""

import torch
import torch_xla
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from torch.utils.data import DataLoader
from transformers import (
    DataCollatorForLanguageModeling,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

BATCH = 16
STEPS = 24
WORDS = 60
LONGEST = 32


def make_tokenizer():
    """Return a tokenizer of numbers as words, made here, so that nothing is downloaded."""
    words = ["[PAD]", "[UNK]", *map(str, range(WORDS))]
    vocabulary = {word: token for token, word in enumerate(words)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")


def make_texts(count):
    """Return texts that count up; most are short, a few are long."""
    lengths = torch.empty(count).exponential_(1 / 8).clamp(2, LONGEST).long().tolist()
    starts = torch.randint(WORDS, (count,)).tolist()
    return [
        " ".join(str(number % WORDS) for number in range(start, start + length))
        for start, length in zip(starts, lengths, strict=True)
    ]


def train(model, loader, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for batch in loader:
        batch = batch.to(device)
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    tokenizer = make_tokenizer()
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=LONGEST,
        n_embd=32,
        n_layer=1,
        n_head=2,
        resid_pdrop=0.0,  # without dropout, it compiles sooner
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=None,
        attn_implementation="eager",  # "sdpa" looks at the mask's values, a read at every step
    )
    model = GPT2LMHeadModel(config).to(device).train()
    collate = DataCollatorForLanguageModeling(tokenizer, mlm=False)
    texts = [tokenizer(text) for text in make_texts(STEPS * BATCH)]
    loader = DataLoader(texts, batch_size=BATCH, collate_fn=collate)
    loss = train(model, loader, device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
