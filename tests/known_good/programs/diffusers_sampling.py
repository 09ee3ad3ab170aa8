"""Draws images with diffusers' UNet and DDIM scheduler; a barrier ends each denoising step."""

import torch
import torch_xla
from diffusers import DDIMScheduler, UNet2DModel

STEPS, IMAGES = 25, 2


@torch.no_grad()
def sample(model, scheduler, device):
    images = torch.randn(2, 3, 16, 16).to(device)
    scheduler.set_timesteps(STEPS)
    for timestep in scheduler.timesteps:
        now = timestep.expand(images.shape[0]).to(device)
        noise = model(images, now).sample
        alpha, following = coefficients(scheduler, int(timestep), device)
        clean = (images - (1 - alpha).sqrt() * noise) / alpha.sqrt()
        images = following.sqrt() * clean + (1 - following).sqrt() * noise
        torch_xla.sync()
    return images.cpu()


def coefficients(scheduler, timestep, device):
    before = timestep - scheduler.config.num_train_timesteps // STEPS
    alphas = scheduler.alphas_cumprod
    following = alphas[before] if before >= 0 else scheduler.final_alpha_cumprod
    return torch.stack([alphas[timestep], following]).to(device)


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = UNet2DModel(
        sample_size=16,
        block_out_channels=(32, 64),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        norm_num_groups=8,
    )
    model = model.to(device).eval()
    for _ in range(IMAGES):
        print(f"mean {sample(model, DDIMScheduler(), device).mean():.4f}")


if __name__ == "__main__":
    main()
