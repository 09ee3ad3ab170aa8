"""Generates text with a model of transformers, one token a step, with a cache of fixed size."""

import torch
import torch_xla
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

BATCH, PROMPT, NEW, VOCABULARY = 2, 16, 64, 1000


@torch.no_grad()
def generate(model, prompt, device):
    cache = StaticCache(config=model.config, max_cache_len=PROMPT + NEW)
    position = torch.arange(PROMPT, device=device)
    output = model(
        prompt,
        past_key_values=cache,
        cache_position=position,
        position_ids=position[None],
        use_cache=True,
    )
    token = output.logits[:, -1:].argmax(-1)
    tokens = [token]
    position = position[-1:] + 1
    torch_xla.sync()
    for _ in range(NEW - 1):
        output = model(
            token,
            past_key_values=cache,
            cache_position=position,
            position_ids=position[None],
            use_cache=True,
        )
        token = output.logits[:, -1:].argmax(-1)
        tokens.append(token)
        position = position + 1
        torch_xla.sync()
    return torch.cat(tokens, dim=1).cpu()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=PROMPT + NEW,
    )
    model = LlamaForCausalLM(config).to(device).eval()
    for _ in range(2):
        prompt = torch.randint(0, VOCABULARY, (BATCH, PROMPT)).to(device)
        print(generate(model, prompt, device).shape)


if __name__ == "__main__":
    main()
