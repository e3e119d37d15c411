/** The package in a browser, with WebGPU. */

import { expect, type Page, test } from '@playwright/test';
import { regions, scaledPictures, storedPictures, uprightPictures } from './corpus.js';
import { decodeAll, PACKAGE } from './pages.js';

test.beforeEach(({ page }) => page.goto('/'));

test('stored pictures are libjpeg-turbo’s to the byte', async ({ page }) => {
  const { wrong, routes } = await decodeAll(page, storedPictures(), 'webgpu', 'cpu');
  expect(wrong).toEqual([]);
  expect(routes).toEqual({ webgpu: storedPictures().length });
});

test('stored pictures are the same with entropy decoding on the GPU', async ({ page }) => {
  const { wrong, routes } = await decodeAll(page, storedPictures(), 'webgpu', 'gpu');
  expect(wrong).toEqual([]);
  console.log('routes of stored pictures:', routes);
  expect(routes['webgpu-whole']).toBeGreaterThan(storedPictures().length / 2);
});

test('upright pictures and regions are libjpeg-turbo’s to the byte', async ({ page }) => {
  const pictures = [...uprightPictures(), ...regions()];
  expect((await decodeAll(page, pictures, 'webgpu', 'cpu')).wrong).toEqual([]);
});

test('upright pictures and regions are the same with entropy decoding on the GPU', async ({ page }) => {
  const pictures = [...uprightPictures(), ...regions()];
  const { wrong, routes } = await decodeAll(page, pictures, 'webgpu', 'gpu');
  expect(wrong).toEqual([]);
  console.log('routes of upright pictures and regions:', routes);
  expect(routes['webgpu-whole']).toBeGreaterThan(pictures.length / 2);
});

test('smaller pictures are libjpeg-turbo’s to the byte', async ({ page }) => {
  expect((await decodeAll(page, scaledPictures(), 'webgpu')).wrong).toEqual([]);
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

test('each file goes the way that is fit for it, and has the CPU’s pixels and warnings', async ({ page }) => {
  const result = await page.evaluate(async (url) => {
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init({ backend: 'webgpu', entropy: 'gpu' });
    const bytesOf = async (name: string): Promise<Uint8Array<ArrayBuffer>> =>
      new Uint8Array(await (await fetch(`/samples/${name}.jpg`)).arrayBuffer());
    const names = ['gray', 'restart', 'cmyk', 'portrait-exif6', 'progressive', 'truncated'];
    const files: Record<string, Uint8Array<ArrayBuffer>> = {};
    for (const name of names) {
      files[name] = await bytesOf(name);
    }
    // Damage that only who decodes the entropy finds.
    const garbled = await bytesOf('gray');
    files['garbled'] = garbled.fill(0x55, garbled.length >> 1, (garbled.length >> 1) + 40);
    const ways: Record<string, unknown> = {};
    for (const [name, file] of Object.entries(files)) {
      const [onGpu, onCpu] = [await isopel.decode(file), await isopel.decode(file, { backend: 'wasm' })];
      const same = onGpu.data.length === onCpu.data.length && onGpu.data.every((value, at) => value === onCpu.data[at]);
      const sameReport = JSON.stringify([onGpu.warnings, onGpu.validRows, onGpu.planes]);
      const otherReport = JSON.stringify([onCpu.warnings, onCpu.validRows, onCpu.planes]);
      ways[name] = [onGpu.route, same, sameReport === otherReport, onGpu.warnings.length > 0];
    }
    return ways;
  }, PACKAGE);
  const [whole, again] = [
    ['webgpu-whole', true, true, false],
    ['webgpu', true, true, true],
  ];
  expect(result).toEqual({
    gray: whole,
    restart: whole,
    cmyk: whole,
    'portrait-exif6': whole,
    progressive: ['webgpu', true, true, false],
    truncated: again,
    garbled: again,
  });
});

test('several decodes at once each get their own picture', async ({ page }) => {
  const result = await page.evaluate(async (url) => {
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init({ backend: 'webgpu' });
    const equal = (one: ArrayLike<number>, other: ArrayLike<number>): boolean =>
      one.length === other.length && Array.from(one).every((value, at) => value === other[at]);
    const names = ['gray', 'restart', 'cmyk', 'progressive', 'truncated'];
    const files = await Promise.all(names.map(async (name) => (await fetch(`/samples/${name}.jpg`)).blob()));
    const expected = await Promise.all(files.map((file) => isopel.decode(file, { backend: 'wasm' })));
    const singles = files.flatMap((file) =>
      (['gpu', 'cpu', 'gpu'] as const).map((entropy) => isopel.decode(file, { entropy })),
    );
    const batches = [0, 1].map(() => isopel.decodeBatch(files, { entropy: 'gpu' }));
    const canvases = files.map(() => new OffscreenCanvas(1, 1));
    const drawing = files.map((file, at) =>
      isopel.decodeToCanvas(file, canvases[at] as OffscreenCanvas, { entropy: 'gpu' }),
    );
    const wrong: string[] = [];
    (await Promise.all(singles)).forEach((image, at) => {
      if (!equal(image.data, expected[Math.floor(at / 3)]!.data)) {
        wrong.push(`single ${names[Math.floor(at / 3)]} by ${image.route}`);
      }
    });
    for (const batch of await Promise.all(batches)) {
      batch.forEach((one, at) => {
        if (one.status !== 'fulfilled' || !equal(one.value.data, expected[at]!.data)) {
          wrong.push(`of a batch ${names[at]}`);
        }
      });
    }
    (await Promise.all(drawing)).forEach(({ width, height, route }, at) => {
      const copy = new OffscreenCanvas(width, height).getContext('2d')!;
      copy.drawImage(canvases[at]!, 0, 0);
      if (!equal(copy.getImageData(0, 0, width, height).data, expected[at]!.data)) {
        wrong.push(`drawn ${names[at]} by ${route}`);
      }
    });
    return wrong;
  }, PACKAGE);
  expect(result).toEqual([]);
});

test('the device is opened again for a call that needs more of its passes, and only then', async ({ page }) => {
  const result = await page.evaluate(async (url) => {
    const adapter = (globalThis as unknown as { GPUAdapter: { prototype: AdapterLike } }).GPUAdapter.prototype;
    const requestDevice = adapter.requestDevice;
    let devices = 0;
    adapter.requestDevice = function (this: AdapterLike, ...rest: unknown[]) {
      devices += 1;
      return requestDevice.apply(this, rest);
    };
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init({ backend: 'webgpu' });
    const file = await (await fetch('/samples/gray.jpg')).blob();
    const found: [string, number][] = [];
    for (const entropy of [undefined, 'cpu', 'gpu', undefined, 'gpu'] as const) {
      const several = await Promise.all([isopel.decode(file, { entropy }), isopel.decode(file, { entropy })]);
      found.push([several.map(({ route }) => route).join(), devices]);
    }
    return found;
  }, PACKAGE);
  expect(result).toEqual([
    ['webgpu,webgpu', 1],
    ['webgpu,webgpu', 1],
    ['webgpu-whole,webgpu-whole', 2],
    ['webgpu,webgpu', 2],
    ['webgpu-whole,webgpu-whole', 2],
  ]);
});

test('a place of entropy decoding that there is not is a wrong option, for each backend', async ({ page }) => {
  const kinds = await page.evaluate(async (url) => {
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init();
    const file = await (await fetch('/samples/gray.jpg')).blob();
    const decode = async (backend: 'wasm' | 'webgpu'): Promise<string> =>
      isopel.decode(file, { backend, entropy: 'fpga' as 'gpu' }).then(
        () => 'decoded',
        (error: unknown) => (error as { kind: string }).kind,
      );
    return [await decode('wasm'), await decode('webgpu')];
  }, PACKAGE);
  expect(kinds).toEqual(['bad-option', 'bad-option']);
});

test('the GPU’s passes are timed one by one, on a worker too', async ({ page }) => {
  const result = await page.evaluate(async (url) => {
    const { init, IsopelWorker } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init();
    const worker = new IsopelWorker({ threads: 1, entropy: 'gpu' });
    const file = await (await fetch('/samples/gray.jpg')).blob();
    const onCpu = await isopel.profile(file, { entropy: 'cpu' });
    const onGpu = await worker.profile(file);
    const kind = await isopel.profile(new Blob(['no picture'])).catch((error: { kind: string }) => error.kind);
    worker.free();
    return { onCpu, onGpu, kind };
  }, PACKAGE);
  expect(Object.keys(result.onCpu ?? {})).toEqual(['dequant_idct', 'orient']);
  expect(Object.keys(result.onGpu ?? {})).toEqual(['synchronise', 'join', 'scan', 'write', 'dequant_idct', 'orient']);
  expect(Object.values(result.onGpu ?? {}).reduce((sum, time) => sum + time, 0)).toBeGreaterThan(0);
  expect(result.kind).toBe('not-jpeg');
});

test('without timestamp queries there are no times of passes', async ({ page }) => {
  const result = await page.evaluate(async (url) => {
    const features = (globalThis as unknown as { GPUSupportedFeatures: { prototype: { has(name: string): boolean } } })
      .GPUSupportedFeatures.prototype;
    const has = features.has;
    features.has = function (this: unknown, name: string) {
      return name !== 'timestamp-query' && has.call(this, name);
    };
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init();
    return { times: await isopel.profile(await (await fetch('/samples/gray.jpg')).blob()) };
  }, PACKAGE);
  expect(result.times).toBeUndefined();
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
  await rememberDevices(page);
  const result = await page.evaluate(async (url) => {
    const { devices } = globalThis as unknown as WithDevices;
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

test('a device that is lost while the GPU’s flags are awaited costs an error or nothing, and never a wrong picture', async ({
  page,
}) => {
  await rememberDevices(page);
  const result = await page.evaluate(async (url) => {
    const { devices } = globalThis as unknown as WithDevices;
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init({ backend: 'webgpu', entropy: 'gpu' });
    const file = await (await fetch('/samples/gray.jpg')).blob();
    const expected = (await isopel.decode(file)).data;
    const outcomes: string[] = [];
    for (const delay of [0, 1, 5, 20, 60]) {
      await isopel.decode(file);
      const several = Array.from({ length: 3 }, () => isopel.decode(file));
      await new Promise((resolve) => setTimeout(resolve, delay));
      devices.at(-1)?.destroy();
      for (const decoding of several) {
        outcomes.push(
          await decoding.then(
            ({ data }) => (data.every((value, at) => value === expected[at]) ? 'right' : 'wrong'),
            (error: unknown) => (error as { kind: string }).kind,
          ),
        );
      }
      // Who asks first may be the one who is told of the loss.
      await isopel.decode(file).catch(() => undefined);
    }
    return outcomes;
  }, PACKAGE);
  expect(result.filter((outcome) => outcome !== 'right' && outcome !== 'device-lost')).toEqual([]);
  expect(result).toContain('device-lost');
});

test('auto takes a hardware adapter for large work, and the CPU when its device is lost', async ({ page }) => {
  await rememberDevices(page);
  const result = await page.evaluate(async (url) => {
    const { devices, GPUAdapterInfo } = globalThis as unknown as WithDevices & {
      GPUAdapterInfo: { prototype: object };
    };
    // SwiftShader, dressed up as hardware.
    Object.defineProperty(GPUAdapterInfo.prototype, 'isFallbackAdapter', { value: false });
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
    const [second, third] = [await batch(), await batch()];
    return { small, first, second, third, one: (await isopel.decode(file, { backend: 'webgpu' })).route };
  }, PACKAGE);
  // 480 kB of files are worth the passes of entropy decoding, one file is not.
  const onGpu = Array.from({ length: 8 }, () => ['webgpu-whole', null]).flat();
  expect(result.small).toBe('wasm');
  expect(result.one).toBe('webgpu');
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

test('an abort is answered while the GPU decodes, and costs no other decode', async ({ page }) => {
  const result = await page.evaluate(async (url) => {
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init({ backend: 'webgpu', entropy: 'gpu' });
    const file = await (await fetch('/samples/gray.jpg')).blob();
    const expected = (await isopel.decode(file)).data;
    const controller = new AbortController();
    const events: string[] = [];
    const note = (event: string) => (): void => void events.push(event);
    const aborted = isopel.decode(file, { signal: controller.signal }).then(note('decoded'), note('aborted'));
    const other = isopel.decode(file).finally(note('other'));
    setTimeout(() => controller.abort(), 1);
    await aborted;
    const { data } = await other;
    return { events, same: data.every((value, at) => value === expected[at]) };
  }, PACKAGE);
  expect(result).toEqual({ events: ['aborted', 'other'], same: true });
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

/** Keeps every device that the page opens from now on. */
async function rememberDevices(page: Page) {
  await page.evaluate(() => {
    const global = globalThis as unknown as WithDevices & { GPUAdapter: { prototype: AdapterLike } };
    global.devices = [];
    const adapter = global.GPUAdapter.prototype;
    const requestDevice = adapter.requestDevice;
    adapter.requestDevice = async function (this: AdapterLike, ...rest: unknown[]) {
      const device = await requestDevice.apply(this, rest);
      global.devices.push(device);
      return device;
    };
  });
}

interface WithDevices {
  devices: GPUDeviceLike[];
}

interface GPUDeviceLike {
  destroy(): void;
}

interface AdapterLike {
  requestDevice(...rest: unknown[]): Promise<GPUDeviceLike>;
}
