"""Functions that are added to a moved program, where PyTorch has none for what torch_xla's did.

Read as text, never imported. Each stands for itself, apart from others here that it names; BACKEND
becomes the name of the target's process groups.
"""

from __future__ import annotations

import copy
import os
import time

import torch

BACKEND = ""


def rank():
    """The number of this process among all."""
    grouped = torch.distributed.is_available() and torch.distributed.is_initialized()
    return torch.distributed.get_rank() if grouped else 0


def local_rank():
    """The number of this process among those of its machine."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def world_size():
    """The number of processes."""
    grouped = torch.distributed.is_available() and torch.distributed.is_initialized()
    return torch.distributed.get_world_size() if grouped else 1


def barrier():
    """Waits for all processes."""
    if world_size() > 1:
        torch.distributed.barrier()


def print_on_first(*values, **options):
    """Prints in the first process alone."""
    if rank() == 0:
        print(*values, **options)


def on_device(value, device):
    """A batch with its tensors on a device."""
    if hasattr(value, "to"):
        return value.to(device)
    if isinstance(value, dict):
        moved = copy.copy(value)
        moved.update((key, on_device(each, device)) for key, each in value.items())
        return moved
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(on_device(each, device) for each in value))
    if isinstance(value, (list, tuple)):
        return type(value)(on_device(each, device) for each in value)
    return value


class DeviceLoader:
    """The batches of a loader, on a device."""

    def __init__(self, loader, device):
        self.loader, self.device = loader, device

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        for batch in self.loader:
            yield on_device(batch, self.device)


class SampleGenerator:
    """The same data as each of a number of batches."""

    def __init__(self, data, sample_count):
        self.data, self.sample_count = data, sample_count

    def __len__(self):
        return self.sample_count

    def __iter__(self):
        return iter([self.data] * self.sample_count)


class RateTracker:
    """Counts what is added, per second: since the last question, smoothed, and since the start."""

    def __init__(self, smooth_factor=0.4):
        self.smooth_factor, self.last = smooth_factor, None
        self.began = self.asked = time.time()
        self.count = self.total = 0.0

    def add(self, count):
        self.count += count
        self.total += count

    def rate(self):
        now = time.time()
        recent = self.count / max(now - self.asked, 1e-9)
        if self.last is not None:
            recent = (1 - self.smooth_factor) * recent + self.smooth_factor * self.last
        self.count, self.asked, self.last = 0.0, now, recent
        return recent

    def global_rate(self):
        return self.total / max(time.time() - self.began, 1e-9)


def print_training_update(device, step, loss, rate, global_rate, epoch=None, summary_writer=None):
    """Prints what a step of training shows."""
    text = f"| Training Device={device}/{rank()}" + (f" Epoch={epoch}" if epoch is not None else "")
    text += f" Step={step} Loss={loss:.5f} Rate={rate:.2f} GlobalRate={global_rate:.2f}"
    print(text, f"Time={time.strftime('%H:%M:%S')}", flush=True)
    rates = {"examples/sec": rate, "average_examples/sec": global_rate}
    write_to_summary(summary_writer, dict_to_write=rates)


def print_test_update(device, accuracy, epoch=None, step=None):
    """Prints what a test shows."""
    values = {"Step": step, "Epoch": epoch}
    text = "".join(f" {name}={value}" for name, value in values.items() if value is not None)
    text += f" Accuracy={accuracy:.2f}" if accuracy is not None else ""
    print(f"| Test Device={device}/{rank()}{text} Time={time.strftime('%H:%M:%S')}", flush=True)


def get_summary_writer(logdir):
    """A writer for TensorBoard, where a folder is named."""
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(logdir) if logdir else None


def write_to_summary(summary_writer, global_step=None, dict_to_write=()):
    """Writes numbers for TensorBoard."""
    for name, value in dict(dict_to_write).items() if summary_writer else ():
        summary_writer.add_scalar(name, value, global_step)


def close_summary_writer(summary_writer):
    """Writes out what TensorBoard shows."""
    if summary_writer is not None:
        summary_writer.close()


def apply_layers(layers, value):
    """What layers make of a value, one after the other."""
    for layer in layers:
        value = layer(value)
    return value


def all_reduce(reduce_type, inputs, scale=1.0):
    """A tensor reduced over all processes, or a list of them, in place."""
    tensors = [inputs.clone()] if isinstance(inputs, torch.Tensor) else inputs
    operation = {"sum": "SUM", "mul": "PRODUCT", "min": "MIN", "max": "MAX"}[reduce_type]
    if world_size() > 1:
        for tensor in tensors:
            torch.distributed.all_reduce(tensor, getattr(torch.distributed.ReduceOp, operation))
            tensor.mul_(scale)
    return tensors[0] if isinstance(inputs, torch.Tensor) else inputs


def all_gather(value, dim=0):
    """The tensors of all processes, one behind the other."""
    parts = [torch.empty_like(value) for _ in range(world_size())]
    if len(parts) == 1:
        return value.clone()
    torch.distributed.all_gather(parts, value.contiguous())
    return torch.cat(parts, dim)


def mesh_reduce(data, reduce_fn):
    """What a function makes of the values of all processes."""
    values = [data] * world_size()
    if len(values) > 1:
        torch.distributed.all_gather_object(values, data)
    return reduce_fn(values)


def reduce_gradients(optimizer):
    """Averages the gradients over all processes."""
    for group in optimizer.param_groups if world_size() > 1 else ():
        for parameter in group["params"]:
            if parameter.grad is not None:
                torch.distributed.all_reduce(parameter.grad)
                parameter.grad.div_(world_size())


def optimizer_step(optimizer, **options):
    """Averages the gradients over all processes, and takes a step."""
    reduce_gradients(optimizer)
    return optimizer.step(**options)


def broadcast_parameters(model):
    """Gives all processes the parameters and buffers of the first."""
    for group in (model.parameters(), model.buffers()) if world_size() > 1 else ():
        for tensor in group:
            torch.distributed.broadcast(tensor.data, 0)


def save(data, file_or_path, master_only=True, global_master=False):
    """Saves data with its tensors on the CPU: in the first process of each machine, or in all."""
    number = rank() if global_master else local_rank()
    if number == 0 or not master_only:
        torch.save(on_device(data, "cpu"), file_or_path)


def init_process_group():
    """Joins the group of all processes, once; without a launcher, one of this process alone."""
    if torch.distributed.is_initialized():
        return
    if "RANK" in os.environ:
        torch.distributed.init_process_group(BACKEND)
    else:
        alone = {"store": torch.distributed.HashStore(), "rank": 0, "world_size": 1}
        torch.distributed.init_process_group(BACKEND, **alone)


class SerialExecutor:
    """Runs functions as they come."""

    def run(self, fn):
        return fn()


def run_process(index, function, args, count):
    """Calls a function in one of the processes of this machine."""
    number = int(os.environ.get("NODE_RANK", "0")) * count + index
    os.environ.update(RANK=str(number), LOCAL_RANK=str(index))
    torch.accelerator.set_device_index(index)
    init_process_group()
    function(index, *args)


def launch(fn, args=(), debug_single_process=False):
    """Calls fn(index, *args) in a process for each device; in this one, if that is the only one."""
    if "RANK" in os.environ:  # torchrun has started the processes
        init_process_group()
        fn(local_rank(), *args)
        return
    count = 1 if debug_single_process else max(1, torch.accelerator.device_count())
    if count == 1:
        fn(0, *args)
        return
    torch.tpu.distributed.set_tpu_launch_env(nproc_per_node=count)
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29500")
    os.environ["WORLD_SIZE"] = str(int(os.environ.get("NNODES", "1")) * count)
    torch.multiprocessing.spawn(run_process, (fn, args, count), count)
