/** The package in a browser, on the CPU. */

import { expect, test } from '@playwright/test';
import { regions, scaledPictures, storedPictures, uprightPictures } from './corpus.js';
import { decodeAll, PACKAGE } from './pages.js';

test.beforeEach(({ page }) => page.goto('/'));

const pictures = [...storedPictures(), ...scaledPictures(), ...uprightPictures(), ...regions()];

test('pixels are libjpeg-turbo’s, whole, smaller, upright and in regions', async ({ page }) => {
  expect((await decodeAll(page, pictures, 'wasm')).wrong).toEqual([]);
});

test('without SIMD the other file is loaded, and the pixels are the same', async ({ page }) => {
  const loaded: string[] = [];
  page.on('request', (request) => loaded.push(request.url()));
  await page.evaluate(() => {
    WebAssembly.validate = () => false;
  });
  expect((await decodeAll(page, pictures, 'wasm')).wrong).toEqual([]);
  const files = loaded.filter((url) => url.endsWith('.wasm')).map((url) => new URL(url).pathname);
  expect(files).toEqual(['/wasm/dist/cpu/isopel_bg.wasm']);
});

test('ImageData and canvases get the decoded pixels', async ({ page }) => {
  const same = await page.evaluate(async (url) => {
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init({ backend: 'wasm' });
    const file = await (await fetch('/samples/portrait-exif6.jpg')).blob();
    const { data, width, height } = await isopel.decode(file);
    const { imageData } = await isopel.decodeToImageData(file);
    const canvases = [document.createElement('canvas'), new OffscreenCanvas(1, 1)];
    const equal = (pixels: Uint8ClampedArray) => pixels.every((value, index) => value === data[index]);
    const results = [equal(imageData.data), imageData.width === width];
    const small = await isopel.decodeToImageData(file, { scale: 0.25 });
    const drawn = await isopel.decodeToCanvas(file, canvases[0]!, { scale: 0.25 });
    results.push(small.imageData.width === 225, canvases[0]!.width === 225 && drawn.scale === 0.25);
    for (const canvas of canvases) {
      const report = await isopel.decodeToCanvas(file, canvas);
      const context = canvas.getContext('2d') as CanvasRenderingContext2D;
      results.push(report.width === canvas.width, equal(context.getImageData(0, 0, width, height).data));
    }
    return results;
  }, PACKAGE);
  expect(same).toEqual(Array.from({ length: 8 }, () => true));
});

test('a worker decodes off the page’s thread, in parallel, and ends with an abort', async ({ page }) => {
  const result = await page.evaluate(async (url) => {
    const { init, IsopelWorker } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init();
    const worker = new IsopelWorker({ threads: 2, backend: 'wasm' });
    const photo = await (await fetch('/samples/photo.jpg')).blob();
    const { data } = await isopel.decode(photo);
    const [first, bad, second] = await worker.decodeBatch([photo, new Blob(['no picture']), photo]);
    const equal = (pixels: Uint8Array) => pixels.every((value, index) => value === data[index]);
    const controller = new AbortController();
    // When the first is done, another one is running and the rest are waiting.
    const running = worker.decodeBatch(
      Array.from({ length: 6 }, () => photo),
      { signal: controller.signal, onResult: () => controller.abort() },
    );
    const aborted = await running.catch((error: unknown) => (error as Error).name);
    const canvas = document.createElement('canvas');
    const header = await worker.probe(photo);
    const drawn = await worker.decodeToCanvas(photo, canvas, { region: { x: 5, y: 6, width: 70, height: 80 } });
    worker.free();
    return {
      same: [first, second].map((one) => one?.status === 'fulfilled' && equal(one.value.data)),
      bad: bad?.status === 'rejected' && bad.reason.kind,
      aborted,
      sizes: [header.width, drawn.width, canvas.height],
      freed: await worker.decode(photo).catch((error: unknown) => (error as { kind: string }).kind),
    };
  }, PACKAGE);
  expect(result).toEqual({
    same: [true, true],
    bad: 'not-jpeg',
    aborted: 'AbortError',
    sizes: [1920, 70, 80],
    freed: 'bad-input',
  });
});

test('a page can be painted between the images of a batch', async ({ page }) => {
  const tasks = await page.evaluate(async (url) => {
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init();
    const file = await (await fetch('/samples/gray.jpg')).blob();
    let ticks = 0;
    const timer = setInterval(() => ticks++, 0);
    await isopel.decodeBatch(
      Array.from({ length: 40 }, () => file),
      { backend: 'wasm' },
    );
    clearInterval(timer);
    return ticks;
  }, PACKAGE);
  expect(tasks).toBeGreaterThan(3);
});

test('freeing takes a new instance with little memory in the place of the old one', async ({ page }) => {
  const { sizes, same } = await page.evaluate(async (url) => {
    const memories: WebAssembly.Memory[] = [];
    const watched = (instance: WebAssembly.Instance): void => {
      memories.push(instance.exports['memory'] as WebAssembly.Memory);
    };
    const instantiate = WebAssembly.instantiateStreaming;
    WebAssembly.instantiateStreaming = async (...source) => {
      const result = await instantiate(...source);
      watched(result.instance);
      return result;
    };
    WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
      construct: (target, given) => {
        const instance = Reflect.construct(target, given) as WebAssembly.Instance;
        watched(instance);
        return instance;
      },
    });
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init();
    const file = await (await fetch('/samples/photo.jpg')).blob();
    const first = await isopel.decode(file);
    isopel.free();
    const sizes = memories.map((memory) => memory.buffer.byteLength);
    const second = await isopel.decode(file);
    return { sizes, same: second.data.every((value, index) => value === first.data[index]) };
  }, PACKAGE);
  expect(sizes.length).toBe(2);
  expect(sizes[0]).toBeGreaterThan(1920 * 1280 * 4);
  expect(sizes[1]).toBeLessThan(3_000_000);
  expect(same).toBe(true);
});
