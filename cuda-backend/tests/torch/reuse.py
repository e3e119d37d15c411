"""A tensor is reduced on the current stream, deleted, and its memory given to a decoder while the reduction waits.

PyTorch's caching allocator hands memory out again at once, since what is queued on the same stream comes later anyway.
A decoder that writes ahead of the stream changes what the reduction reads.

    cargo build --release -p isopel-cuda --example c_abi
    python3 reuse.py path/to/libc_abi.so photo.jpg
"""

import sys
import time

import torch
import torchvision

from c_abi import library

ROUNDS, VICTIMS, BUSY_MS = 20, 10, 100
OLD = 7


def cycles_per_millisecond():
    torch.cuda._sleep(1_000_000)
    torch.cuda.synchronize()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    torch.cuda._sleep(100_000_000)
    end.record()
    torch.cuda.synchronize()
    return 100_000_000 / begin.elapsed_time(end)


def run(name, decode, shape, cycles, finish=lambda: 0, expected=None):
    """Counts reductions that saw new bytes, and decodes that reused a deleted tensor's memory."""
    corrupted = reused = wrong = 0
    calls = []
    count = shape[0] * shape[1] * shape[2]
    for round_number in range(ROUNDS + 1):
        victims = [torch.full((count,), OLD, dtype=torch.uint8, device="cuda") for _ in range(VICTIMS)]
        torch.cuda.synchronize()
        torch.cuda._sleep(int(BUSY_MS * cycles))
        sums = [victim.sum(dtype=torch.int64) for victim in victims]
        addresses = {victim.data_ptr() for victim in victims}
        del victims
        images = []
        for _ in range(VICTIMS):
            started = time.perf_counter()
            images.append(decode())
            calls.append(time.perf_counter() - started)
        new_sums = [image.sum(dtype=torch.int64) for image in images]
        torch.cuda.synchronize()
        if round_number == 0:
            # Allocates and loads.
            calls.clear()
            assert finish() == 0
            del images, new_sums, sums
            continue
        corrupted += sum(value.item() != OLD * count for value in sums)
        reused += sum(image.data_ptr() in addresses for image in images)
        if expected is not None:
            wrong += sum(abs(value.item() - expected) > count for value in new_sums)
        assert finish() == 0
        # Or the next round's decoders would be given these instead of its victims.
        del images, new_sums, sums
    calls.sort()
    total = ROUNDS * VICTIMS
    print(
        f"{name:32} corrupted {corrupted}/{total}  memory reused {reused}/{total}  wrong pixels {wrong}"
        f"  call {calls[len(calls) // 2] * 1e3:.3f} ms (median), {calls[-1] * 1e3:.3f} ms (longest)",
        flush=True,
    )
    return corrupted, reused, wrong


def main():
    lib = library(sys.argv[1])
    jpeg = open(sys.argv[2], "rb").read()
    data = torch.frombuffer(bytearray(jpeg), dtype=torch.uint8)
    pixels = torchvision.io.decode_jpeg(data, mode=torchvision.io.ImageReadMode.RGB)
    shape, expected = pixels.shape, pixels.sum(dtype=torch.int64).item()
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "torchvision", torchvision.__version__, tuple(shape))
    cycles = cycles_per_millisecond()

    def with_torchvision():
        return torchvision.io.decode_jpeg(data, mode=torchvision.io.ImageReadMode.RGB, device="cuda")

    def with_isopel(decoder):
        def decode():
            out = torch.empty((shape[1], shape[2], 3), dtype=torch.uint8, device="cuda")
            stream = torch.cuda.current_stream().cuda_stream
            assert lib.isopel_decode(decoder, jpeg, len(jpeg), out.data_ptr(), out.numel(), stream)
            return out

        return decode

    results = {}
    side = torch.cuda.Stream()
    for route, engines in (("exact", False), ("engines", True)):
        ordered, unordered = lib.isopel_open(True, engines), lib.isopel_open(False, engines)
        assert ordered and unordered
        for stream_name, stream in (("default stream", torch.cuda.default_stream()), ("side stream", side)):
            with torch.cuda.stream(stream):
                results[f"{route}, {stream_name}"] = run(
                    f"isopel, {route}, {stream_name}",
                    with_isopel(ordered),
                    shape,
                    cycles,
                    lambda: lib.isopel_finish(ordered),
                    expected,
                )
                run(
                    f"isopel, {route}, no edge, {stream_name}",
                    with_isopel(unordered),
                    shape,
                    cycles,
                    lambda: lib.isopel_finish(unordered),
                )
    try:
        run("torchvision, default stream", with_torchvision, shape, cycles)
    except RuntimeError as error:
        print("torchvision: not run:", error)
    for stream_name, (corrupted, reused, wrong) in results.items():
        assert corrupted == 0 and wrong == 0, stream_name
        assert reused > ROUNDS * VICTIMS // 2, f"{stream_name}: the allocator did not hand memory out again"


main()
