"""Compare the encoder loop of `postedit.nn.recurrent` with the GRU of PyTorch.

    python benchmarks/recurrent_speed.py [--threads N] [--rounds N]

Our loop can drop the same units of the state at every step, which the fused kernel behind `torch.nn.GRU` cannot;
dropout is off here, so that both compute the same. "both directions at once" is a loop whose steps advance the two
directions by one batched product. The variants take turns, and medians are shown; "training" is forward and backward.
"""

import argparse
import platform
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from postedit.nn.recurrent import BiGRU
from postedit.train.runtime import keep_freed_memory

WIDTH = 256
SHAPES = ((64, 30), (8, 25))  # rows, positions: a training batch, and a few sentences to edit
Encoder = Callable[[Tensor, Tensor], Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    print(f"{platform.processor() or platform.machine()}, torch {torch.__version__}, {options.threads} thread(s)\n")
    print("| rows x positions | precision | | ours, ms | torch.nn.GRU | both directions at once |")
    print("| --- | --- | --- | ---: | ---: | ---: |")
    for rows, positions in SHAPES:
        for precision in ("fp32", "bf16"):
            for training in (True, False):
                seconds = measure(rows, positions, precision == "bf16", training, options.rounds)
                times = " | ".join(f"{1e3 * value:.1f}" for value in seconds)
                print(f"| {rows} x {positions} | {precision} | {'training' if training else 'inference'} | {times} |")


def measure(rows: int, positions: int, bf16: bool, training: bool, rounds: int) -> list[float]:
    """Return the median seconds of each variant: ours, `torch.nn.GRU`, both directions at once."""
    torch.manual_seed(1)
    ours = BiGRU(WIDTH, WIDTH, dropout=0.0)
    x = torch.randn(rows, positions, WIDTH)
    mask = torch.arange(positions) < torch.randint(positions // 2, positions + 1, (rows, 1))
    mask[0] = True
    encoders: list[Encoder] = [ours, packed(ours), at_once(ours)]
    expected = ours(x, mask)
    for encoder in encoders:
        torch.testing.assert_close(encoder(x, mask), expected, rtol=0, atol=1e-5)
    seconds: list[list[float]] = [[] for _ in encoders]
    for _ in range(rounds):
        for taken, encoder in zip(seconds, encoders):
            started = time.perf_counter()
            with torch.inference_mode(not training), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                y = encoder(x, mask)
                if training:
                    y.sum().backward()
            taken.append(time.perf_counter() - started)
    return [statistics.median(taken) for taken in seconds]


def packed(ours: BiGRU) -> Encoder:
    """Return torch.nn.GRU over packed sequences, with the weights of `ours`."""
    gru = nn.GRU(WIDTH, WIDTH, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for suffix, cell in (("", ours.forwards), ("_reverse", ours.backwards)):
            getattr(gru, f"weight_ih_l0{suffix}").copy_(cell.input.weight)
            getattr(gru, f"weight_hh_l0{suffix}").copy_(cell.state.weight)
            getattr(gru, f"bias_ih_l0{suffix}").copy_(cell.input.bias)
            getattr(gru, f"bias_hh_l0{suffix}").copy_(cell.state.bias)

    def run(x: Tensor, mask: Tensor) -> Tensor:
        sequence = pack_padded_sequence(x, mask.sum(1), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(gru(sequence)[0], batch_first=True)[0]

    return run


def at_once(ours: BiGRU) -> Encoder:
    """Return a loop whose steps advance both directions by one batched product."""

    def run(x: Tensor, mask: Tensor) -> Tensor:
        steps = torch.arange(mask.size(1)).expand_as(mask)
        reverse = torch.where(mask, mask.sum(1, keepdim=True) - 1 - steps, steps).unsqueeze(-1)
        mirrored = x.gather(1, reverse.expand_as(x))
        projected = torch.stack([ours.forwards.project(x), ours.backwards.project(mirrored)])
        weight = torch.stack([ours.forwards.state.weight, ours.backwards.state.weight]).transpose(1, 2)
        bias = torch.stack([ours.forwards.state.bias, ours.backwards.state.bias]).unsqueeze(1)
        state = projected.new_zeros(2, x.size(0), WIDTH)
        states = []
        for step in projected.unbind(2):
            x_r, x_z, x_n = step.chunk(3, -1)
            s_r, s_z, s_n = torch.baddbmm(bias, state, weight).chunk(3, -1)
            r, z = torch.sigmoid(x_r + s_r), torch.sigmoid(x_z + s_z)
            n = torch.tanh(x_n + r * s_n)
            state = n + z * (state - n)
            states.append(state)
        forwards, backwards = torch.stack(states, 2)
        backwards = backwards.gather(1, reverse.expand_as(backwards))
        return torch.cat([forwards, backwards], -1) * mask.unsqueeze(-1)

    return run


if __name__ == "__main__":
    main()
