/** The package in a browser, with WebGPU. */

import { expect, test } from '@playwright/test';
import { regions, scaledPictures, storedPictures, uprightPictures } from './corpus.js';
import { PACKAGE, wrongPictures } from './pages.js';

test.beforeEach(({ page }) => page.goto('/'));

test('stored pictures are libjpeg-turbo’s to the byte', async ({ page }) => {
  expect(await wrongPictures(page, storedPictures(), 'webgpu')).toEqual([]);
});

test('upright pictures and regions are libjpeg-turbo’s to the byte', async ({ page }) => {
  expect(await wrongPictures(page, [...uprightPictures(), ...regions()], 'webgpu')).toEqual([]);
});

test('smaller pictures are libjpeg-turbo’s to the byte', async ({ page }) => {
  expect(await wrongPictures(page, scaledPictures(), 'webgpu')).toEqual([]);
});

test('smaller pictures are made on the CPU, and drawn and batched on the GPU', async ({ page }) => {
  const result = await page.evaluate(async (url) => {
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init({ backend: 'webgpu' });
    const file = await (await fetch('/samples/portrait-exif6.jpg')).blob();
    const { data } = await isopel.decode(file, { backend: 'wasm', scale: 0.25 });
    const canvas = document.createElement('canvas');
    const report = await isopel.decodeToCanvas(file, canvas, { scale: 0.25 });
    const copy = new OffscreenCanvas(report.width, report.height).getContext('2d')!;
    copy.drawImage(canvas, 0, 0);
    const drawn = copy.getImageData(0, 0, report.width, report.height).data;
    const [batched] = await isopel.decodeBatch([file], { scale: 0.25 });
    const auto = await isopel.decodeBatch(
      Array.from({ length: 8 }, () => file),
      { scale: 0.25, backend: 'auto' },
    );
    const equal = (pixels: ArrayLike<number>) => data.every((value, index) => value === pixels[index]);
    return {
      report: [report.width, report.height, report.scale, report.route],
      same: [equal(drawn), batched?.status === 'fulfilled' && equal(batched.value.data)],
      auto: auto.map((one) => one.status === 'fulfilled' && [one.value.route, one.value.fallback ?? null]),
    };
  }, PACKAGE);
  expect(result.report).toEqual([225, 300, 0.25, 'wasm']);
  expect(result.same).toEqual([true, true]);
  expect(result.auto).toEqual(Array.from({ length: 8 }, () => ['wasm', null]));
});

test('a canvas is drawn on the GPU', async ({ page }) => {
  const result = await page.evaluate(async (url) => {
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init();
    const file = await (await fetch('/samples/portrait-exif6.jpg')).blob();
    const { data } = await isopel.decode(file, { backend: 'wasm' });
    const wrong: number[] = [];
    for (const canvas of [document.createElement('canvas'), new OffscreenCanvas(1, 1)]) {
      // The second picture takes the place of the first.
      await isopel.decodeToCanvas(file, canvas, { backend: 'webgpu', orientation: 'ignore' });
      const report = await isopel.decodeToCanvas(file, canvas, { backend: 'webgpu' });
      const copy = new OffscreenCanvas(report.width, report.height).getContext('2d')!;
      copy.drawImage(canvas, 0, 0);
      const pixels = copy.getImageData(0, 0, report.width, report.height).data;
      wrong.push(pixels.length - data.length, pixels.filter((value, index) => value !== data[index]).length);
    }
    return wrong;
  }, PACKAGE);
  expect(result).toEqual([0, 0, 0, 0]);
});

test('a batch with a bad file has a result for each', async ({ page }) => {
  const result = await page.evaluate(async (url) => {
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init();
    const names = ['gray', 'truncated', 'restart'];
    const files: Blob[] = await Promise.all(names.map(async (name) => (await fetch(`/samples/${name}.jpg`)).blob()));
    files.splice(1, 0, new Blob(['no picture']));
    const [onCpu, onGpu] = [
      await isopel.decodeBatch(files, { backend: 'wasm' }),
      await isopel.decodeBatch(files, { backend: 'webgpu' }),
    ];
    return onGpu.map((result, index) => {
      const other = onCpu[index];
      if (result.status === 'rejected' || other?.status !== 'fulfilled') {
        return result.status === 'rejected' && result.reason.kind;
      }
      const same = result.value.data.every((value, at) => value === other.value.data[at]);
      return [result.value.route, same, result.value.warnings.length === other.value.warnings.length];
    });
  }, PACKAGE);
  const good = ['webgpu', true, true];
  expect(result).toEqual([good, 'not-jpeg', good, good]);
});

test('a worker uses WebGPU too', async ({ page }) => {
  const result = await page.evaluate(async (url) => {
    const { IsopelWorker } = (await import(url)) as typeof import('../dist/index.js');
    const worker = new IsopelWorker({ threads: 1 });
    const file = await (await fetch('/samples/gray.jpg')).blob();
    const [onGpu, onCpu] = [
      await worker.decode(file, { backend: 'webgpu' }),
      await worker.decode(file, { backend: 'wasm' }),
    ];
    worker.free();
    return [onGpu.route, onGpu.data.every((value, index) => value === onCpu.data[index])];
  }, PACKAGE);
  expect(result).toEqual(['webgpu', true]);
});

test('auto leaves a software adapter alone and says so', async ({ page }) => {
  const result = await page.evaluate(async (url) => {
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init();
    const file = await (await fetch('/samples/gray.jpg')).blob();
    const [first] = await isopel.decodeBatch(Array.from({ length: 8 }, () => file));
    return first?.status === 'fulfilled' && [first.value.route, first.value.fallback];
  }, PACKAGE);
  expect(result).toEqual(['wasm', expect.stringMatching(/software.*SwiftShader/i)]);
});

test('a lost device is named, and the next call opens another', async ({ page }) => {
  const result = await page.evaluate(async (url) => {
    const devices: GPUDeviceLike[] = [];
    const adapter = (globalThis as unknown as { GPUAdapter: { prototype: AdapterLike } }).GPUAdapter.prototype;
    const requestDevice = adapter.requestDevice;
    adapter.requestDevice = async function (this: AdapterLike, ...rest: unknown[]) {
      const device = await requestDevice.apply(this, rest);
      devices.push(device);
      return device;
    };
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init({ backend: 'webgpu' });
    const file = await (await fetch('/samples/gray.jpg')).blob();
    const before = (await isopel.decode(file)).data;
    devices[0]?.destroy();
    const kinds = [];
    for (let attempt = 0; attempt < 2; attempt++) {
      kinds.push(
        await isopel.decode(file).then(
          (image) => image.route,
          (error: unknown) => (error as { kind: string }).kind,
        ),
      );
    }
    const inFlight = isopel.decode(file);
    await Promise.resolve();
    devices[1]?.destroy();
    kinds.push(
      await inFlight.then(
        (image) => image.route,
        (error: unknown) => (error as { kind: string }).kind,
      ),
    );
    const after = (await isopel.decode(file).catch(() => isopel.decode(file))).data;
    return { kinds, same: after.every((value, index) => value === before[index]), devices: devices.length };
  }, PACKAGE);
  expect(result.kinds.slice(0, 2)).toEqual(['device-lost', 'webgpu']);
  expect(['device-lost', 'webgpu']).toContain(result.kinds[2]);
  expect(result.same).toBe(true);
  expect(result.devices).toBe(3);
});

test('auto takes a hardware adapter for large work, and the CPU when its device is lost', async ({ page }) => {
  const result = await page.evaluate(async (url) => {
    const devices: GPUDeviceLike[] = [];
    const { GPUAdapter, GPUAdapterInfo } = globalThis as unknown as {
      GPUAdapter: { prototype: AdapterLike };
      GPUAdapterInfo: { prototype: object };
    };
    // SwiftShader, dressed up as hardware.
    Object.defineProperty(GPUAdapterInfo.prototype, 'isFallbackAdapter', { value: false });
    const requestDevice = GPUAdapter.prototype.requestDevice;
    GPUAdapter.prototype.requestDevice = async function (this: AdapterLike, ...rest: unknown[]) {
      const device = await requestDevice.apply(this, rest);
      devices.push(device);
      return device;
    };
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init();
    const file = await (await fetch('/samples/gray.jpg')).blob();
    const batch = async (): Promise<(string | undefined)[]> => {
      const results = await isopel.decodeBatch(Array.from({ length: 8 }, () => file));
      return results.flatMap((one) =>
        one.status === 'fulfilled' ? [one.value.route, one.value.fallback] : ['failed'],
      );
    };
    const small = (await isopel.decode(file)).route;
    const first = await batch();
    devices[0]?.destroy();
    return { small, first, second: await batch(), third: await batch() };
  }, PACKAGE);
  const onGpu = Array.from({ length: 8 }, () => ['webgpu', null]).flat();
  expect(result.small).toBe('wasm');
  expect(result.first.map((value) => value ?? null)).toEqual(onGpu);
  expect(result.second.slice(0, 2)).toEqual(['wasm', expect.stringContaining('lost')]);
  expect(result.third.map((value) => value ?? null)).toEqual(onGpu);
});

test('limits hold on WebGPU', async ({ page }) => {
  const kind = await page.evaluate(async (url) => {
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init({ backend: 'webgpu' });
    const file = await (await fetch('/samples/gray.jpg')).blob();
    return isopel
      .decode(file, { limits: { maxMemory: 1000 } })
      .catch((error: unknown) => (error as { kind: string }).kind);
  }, PACKAGE);
  expect(kind).toBe('limit-memory');
});

test('an aborted batch ends', async ({ page }) => {
  const reason = await page.evaluate(async (url) => {
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init({ backend: 'webgpu' });
    const file = await (await fetch('/samples/gray.jpg')).blob();
    const controller = new AbortController();
    const batch = isopel.decodeBatch(
      Array.from({ length: 20 }, () => file),
      {
        signal: controller.signal,
        onResult: () => controller.abort('enough'),
      },
    );
    return batch.catch((error: unknown) => error);
  }, PACKAGE);
  expect(reason).toBe('enough');
});

test('memory is given back, and the decoder goes on', async ({ page }) => {
  const same = await page.evaluate(async (url) => {
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init({ backend: 'webgpu' });
    const file = await (await fetch('/samples/gray.jpg')).blob();
    const before = (await isopel.decode(file)).data;
    isopel.free();
    const after = (await isopel.decode(file)).data;
    return after.every((value, index) => value === before[index]);
  }, PACKAGE);
  expect(same).toBe(true);
});

interface GPUDeviceLike {
  destroy(): void;
}

interface AdapterLike {
  requestDevice(...rest: unknown[]): Promise<GPUDeviceLike>;
}
