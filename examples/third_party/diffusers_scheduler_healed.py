"""Fills in the missing half of pictures with a small UNet; the scheduler counts its steps.

`set_begin_index` says where in the schedule the loop starts, so that the scheduler has nothing to
look up, and no step waits for the device.
"""

import torch
import torch_xla
from diffusers import EulerDiscreteScheduler, UNet2DModel

SIZE = 8
PICTURES = 2
STEPS = 12
SETS = 2


def make_unet():
    return UNet2DModel(
        sample_size=SIZE,
        in_channels=1,
        out_channels=1,
        layers_per_block=1,
        block_out_channels=(16, 16),
        norm_num_groups=4,
        down_block_types=("DownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "UpBlock2D"),
        add_attention=False,
    )


def fill_in(unet, pictures, missing, device):
    """Denoise what is missing; what is known is put back, as noisy as the step is."""
    scheduler = EulerDiscreteScheduler()
    scheduler.set_timesteps(STEPS, device=device)
    scheduler.set_begin_index(0)
    noise = torch.randn(pictures.shape).to(device)
    sample = noise * scheduler.init_noise_sigma
    for timestep in scheduler.timesteps:
        known = scheduler.add_noise(pictures, noise, timestep[None])
        sample = torch.where(missing, sample, known)
        inputs = scheduler.scale_model_input(sample, timestep)
        prediction = unet(inputs, timestep).sample
        sample = scheduler.step(prediction, timestep, sample).prev_sample
        torch_xla.sync()
    return sample


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    unet = make_unet().to(device).eval()
    missing = (torch.arange(SIZE) >= SIZE // 2).to(device)
    with torch.no_grad():
        for _ in range(SETS):
            pictures = torch.rand(PICTURES, 1, SIZE, SIZE).to(device)
            filled = fill_in(unet, pictures, missing, device)
    print(f"mean {filled.mean().item():.9g}")


if __name__ == "__main__":
    main()
