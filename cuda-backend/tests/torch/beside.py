"""What decoding costs a training loop on the same GPU: matrix multiplications alone, and beside each route.

    cargo build --release -p isopel-cuda --example c_abi
    python3 beside.py path/to/libc_abi.so photo.jpg WIDTH HEIGHT
"""

import sys
import threading
import time

import torch

from c_abi import library

BATCH, SECONDS, SIZE = 64, 3.0, 8192
RATES = (1_000, 3_000, 6_000, None)


class Decoding(threading.Thread):
    """Decodes batches until it is stopped, two in flight, no faster than a rate of images per second."""

    def __init__(self, lib, decoder, jpeg, target, image_bytes, rate):
        super().__init__()
        self.lib, self.decoder, self.jpeg = lib, decoder, jpeg
        self.target, self.image_bytes, self.rate = target, image_bytes, rate
        self.stopped, self.images, self.began = threading.Event(), 0, time.perf_counter()
        self.streams = [torch.cuda.Stream(), torch.cuda.Stream()]

    def run(self):
        while not self.stopped.is_set():
            for half, stream in enumerate(self.streams):
                address = self.target.data_ptr() + half * BATCH * self.image_bytes
                queued = self.lib.isopel_decode_batch(
                    self.decoder,
                    self.jpeg,
                    len(self.jpeg),
                    address,
                    self.image_bytes,
                    BATCH,
                    stream.cuda_stream,
                )
                assert queued
            assert self.lib.isopel_finish(self.decoder) == 0
            self.images += 2 * BATCH
            if self.rate:
                time.sleep(max(0.0, self.began + self.images / self.rate - time.perf_counter()))

    def stop(self):
        self.stopped.set()
        self.join()
        return self.images / (time.perf_counter() - self.began)


def multiplications_per_second(a, b, out):
    """Over some seconds, eight queued at a time."""
    torch.cuda.current_stream().synchronize()
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        for _ in range(8):
            torch.matmul(a, b, out=out)
        torch.cuda.current_stream().synchronize()
        count += 8
    return count / (time.perf_counter() - began)


def main():
    lib = library(sys.argv[1])
    jpeg = open(sys.argv[2], "rb").read()
    width, height = int(sys.argv[3]), int(sys.argv[4])
    image_bytes = width * height * 3
    a, b, out = (torch.randn((SIZE, SIZE), dtype=torch.bfloat16, device="cuda") for _ in range(3))
    target = torch.empty(2 * BATCH * image_bytes, dtype=torch.uint8, device="cuda")
    print(torch.cuda.get_device_name(), "torch", torch.__version__, f"{SIZE}^3 bfloat16; {width}x{height}", flush=True)
    multiplications_per_second(a, b, out)
    for name, engines in (("exact", False), ("engines", True)):
        decoder = lib.isopel_open(True, engines)
        assert decoder
        for rate in RATES:
            alone = multiplications_per_second(a, b, out)
            decoding = Decoding(lib, decoder, jpeg, target, image_bytes, rate)
            decoding.start()
            time.sleep(0.3)
            beside = multiplications_per_second(a, b, out)
            images = decoding.stop()
            print(
                f"{name:8} wanted {rate or 'all':>6} images/s, decoded {images:7.0f}; multiplications/s"
                f" {beside:6.1f} of {alone:6.1f}: {100 * (1 - beside / alone):5.1f} % fewer",
                flush=True,
            )


main()
