"""Trains our Transformer and the same network in PyTorch, in turn, with the same shapes, epochs and batches."""

import argparse
import math
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional

HERE = pathlib.Path(__file__).resolve().parent
LOOKBACK, HORIZON, PATCH, WIDTH, HEADS, LAYERS, FEED, BATCH, WINDOWS = 288, 24, 24, 64, 4, 2, 128, 64, 1536
LEVELS = torch.tensor([0.1, 0.5, 0.9, 0.95, 0.99])
FROM_GAPS = torch.tensor(
    [[-1.0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 1]],
)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, FEED), nn.ReLU(), nn.Linear(FEED, WIDTH))

    def forward(self, rows):
        count, tokens, _ = rows.shape
        parts = self.query_key_value(self.attention_norm(rows)).chunk(3, dim=2)
        query, key, value = (part.view(count, tokens, HEADS, -1).transpose(1, 2) for part in parts)
        related = functional.scaled_dot_product_attention(query, key, value)
        rows = rows + self.mix(related.transpose(1, 2).reshape(count, tokens, WIDTH))
        return rows + self.feed(rows)


class Network(nn.Module):
    """As streamline-predict/src/transformer/network.rs has it."""

    def __init__(self):
        super().__init__()
        tokens = LOOKBACK // PATCH + 1
        self.embed = nn.Linear(PATCH, WIDTH)
        self.embed_base = nn.Linear(HORIZON, WIDTH)
        self.position = nn.Parameter(torch.empty(tokens, WIDTH).uniform_(-0.02, 0.02))
        self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(tokens * WIDTH, len(LEVELS) * HORIZON)
        self.linear = nn.Linear(LOOKBACK, HORIZON, bias=False)
        for parameter in [self.head.weight, self.head.bias, self.linear.weight]:
            nn.init.zeros_(parameter)

    def forward(self, windows, bases):
        count = len(windows)
        embedded = self.embed(windows.view(count, -1, PATCH))
        tokens = torch.cat([embedded, self.embed_base(bases).unsqueeze(1)], 1) + self.position
        flat = self.norm(self.layers(tokens)).flatten(1)
        read = self.head(flat).view(count, len(LEVELS), HORIZON)
        median = read[:, :1] + self.linear(windows).unsqueeze(1)
        return median + FROM_GAPS @ functional.softplus(read[:, 1:] - 1)


def train(values, epochs):
    """Seconds, and the training and validation loss of the last epoch."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    begun = time.perf_counter()
    span = LOOKBACK + HORIZON
    cut = np.lib.stride_tricks.sliding_window_view(values, span)
    last, deviation = cut[:, LOOKBACK - 1 : LOOKBACK], cut[:, :LOOKBACK].std(1, keepdims=True)
    cut = torch.tensor((cut - last) / deviation, dtype=torch.float32)
    windows, targets = cut[:, :LOOKBACK].contiguous(), cut[:, LOOKBACK:].clamp(-20, 20).contiguous()
    validating = int(math.ceil(0.15 * len(cut)))
    training = len(cut) - validating - HORIZON
    chosen = torch.arange(len(cut) - validating, len(cut))
    chosen = chosen[:: math.ceil(len(chosen) / 512)]
    bases = torch.zeros(BATCH, HORIZON)

    def loss_of(index):
        error = targets[index].unsqueeze(1) - network(windows[index], bases[: len(index)])
        return torch.maximum(LEVELS[:, None] * error, (LEVELS[:, None] - 1) * error).mean()

    network = Network()
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.001, weight_decay=0.01)
    each = min(training, WINDOWS)
    total = epochs * math.ceil(each / BATCH)
    warm_up = max(total / 20, 1)
    rate = lambda step: min((step + 1) / warm_up, 1) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (step + 1) / total)))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    for _ in range(epochs):
        order = torch.as_tensor(rng.permutation(training)[:each])
        train_loss = 0.0
        for index in order.split(BATCH):
            loss = loss_of(index)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            train_loss += loss.item() / math.ceil(each / BATCH)
        with torch.no_grad():
            validation = sum(loss_of(index).item() * len(index) for index in chosen.split(BATCH)) / len(chosen)
    return time.perf_counter() - begun, train_loss, validation


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="exit with 0 only if ours takes at most as long")
    arguments = parser.parse_args()
    manifest = str(HERE / "rust" / "Cargo.toml")
    subprocess.run(["cargo", "build", "--quiet", "--release", "--manifest-path", manifest], check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE / "rust" / "target"))

    # Two weeks of five minutes, with two peaks a day and noise.
    rng = np.random.default_rng(1)
    day = np.arange(4032) / 288 * 2 * np.pi
    values = 1000 - 400 * np.cos(day) + 150 * np.sin(2 * day) + rng.normal(0, 30, len(day))
    text = "\n".join(map(repr, values.tolist()))
    command = [str(target / "release" / "predict-peers"), str(arguments.epochs)]
    ours, theirs = [], []
    for _ in range(arguments.rounds):
        answer = subprocess.run(command, input=text, text=True, capture_output=True, check=True).stdout
        seconds, train_loss, validation = map(float, answer.split())
        ours.append(seconds)
        print(f"ours    {seconds:7.2f} s, training loss {train_loss:.4f}, validation {validation:.4f}")
        seconds, train_loss, validation = train(values, arguments.epochs)
        theirs.append(seconds)
        print(f"PyTorch {seconds:7.2f} s, training loss {train_loss:.4f}, validation {validation:.4f}", flush=True)
    ratio = float(np.median(ours) / np.median(theirs))
    print(f"\nours takes {ratio:.2f} times as long as PyTorch {torch.__version__} on {torch.get_num_threads()} threads")
    if arguments.check and ratio > 1:
        sys.exit(1)


if __name__ == "__main__":
    main()
