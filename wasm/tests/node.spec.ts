/** The package in Node. */

import { runInNewContext } from 'node:vm';
import { expect, test } from '@playwright/test';
import { init, IsopelError, IsopelWorker } from '../dist/index.js';
import { readJpeg, refused, regions, scaledPictures, sha256, storedPictures, uprightPictures } from './corpus.js';

const photo = readJpeg('samples/photo.jpg');

test('pixels are libjpeg-turbo’s, whole, smaller, upright and in regions', async () => {
  const isopel = await init();
  const pictures = [...storedPictures(), ...scaledPictures(), ...uprightPictures(), ...regions()];
  expect(pictures.length).toBeGreaterThan(850);
  for (const { path, options, sha256: golden } of pictures) {
    const { data } = await isopel.decode(readJpeg(path), options);
    expect(sha256(data), `${path} ${JSON.stringify(options)}`).toBe(golden);
  }
});

test('files that can’t be decoded give errors of the right kind', async () => {
  const isopel = await init();
  const files = refused();
  expect(files.length).toBeGreaterThan(20);
  for (const { path, kind } of files) {
    const error = await isopel.decode(readJpeg(path)).catch((reason: unknown) => reason);
    expect(error, path).toBeInstanceOf(IsopelError);
    expect((error as IsopelError).kind, path).toMatch(kind === 'limit' ? /^limit-/ : new RegExp(`^${kind}$`));
  }
});

test('errors say where', async () => {
  const isopel = await init();
  const error = await isopel
    .decode(readJpeg('conformance/corpus/hazards/coding-sos-before-sof.jpg'))
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: 'IsopelError', kind: 'bad-order', marker: 'SOS', offset: expect.any(Number) });
});

test('a damaged file is a picture with warnings, or an error if asked to be strict', async () => {
  const isopel = await init();
  const truncated = readJpeg('samples/truncated.jpg');
  const image = await isopel.decode(truncated);
  expect(image.warnings.some((warning) => warning.damage)).toBe(true);
  expect(image.validRows).toBeLessThan(image.height);
  await expect(isopel.decode(truncated, { strict: true })).rejects.toMatchObject({ kind: 'damaged' });
});

test('probe reads the header, inspect all scans', async () => {
  const isopel = await init();
  const portrait = readJpeg('samples/portrait-exif6.jpg');
  expect(await isopel.probe(portrait)).toMatchObject({
    width: 900,
    height: 1200,
    storedWidth: 1200,
    orientation: 6,
    process: 'baseline',
    components: [{ id: 1, horizontal: 2, vertical: 2 }, {}, {}],
  });
  const { scans, complete } = await isopel.inspect(readJpeg('samples/progressive.jpg'));
  expect(scans.length).toBe(10);
  expect(complete).toBe(true);
});

test('all kinds of input, and views into larger buffers', async () => {
  const isopel = await init();
  const golden = (await isopel.decode(photo)).data;
  const padded = new Uint8Array(photo.length + 7);
  padded.set(photo, 5);
  const buffer = photo.slice().buffer;
  const foreign = runInNewContext('new Uint8Array(length)', { length: photo.length }) as Uint8Array;
  foreign.set(photo);
  const inputs = [
    buffer,
    padded.subarray(5, 5 + photo.length),
    foreign,
    foreign.buffer as ArrayBuffer,
    new Blob([buffer]),
    new Response(buffer),
  ];
  for (const input of inputs) {
    expect(Buffer.compare((await isopel.decode(input)).data, golden)).toBe(0);
  }
  await expect(isopel.decode('photo.jpg' as unknown as Blob)).rejects.toMatchObject({ kind: 'bad-input' });
  await expect(isopel.decode(new Response('', { status: 404 }))).rejects.toMatchObject({ kind: 'bad-input' });
});

test('formats lie as their planes say', async () => {
  const isopel = await init();
  const region = { x: 100, y: 60, width: 33, height: 21 };
  const rgba = await isopel.decode(photo, { region });
  const planar = await isopel.decode(photo, { region, format: 'rgb8-planar' });
  const bgr = await isopel.decode(photo, { region, format: 'bgr8' });
  expect(planar.planes.map((plane) => plane.offset)).toEqual([0, 693, 1386]);
  for (let pixel = 0; pixel < 33 * 21; pixel++) {
    const [red, green, blue, alpha] = rgba.data.subarray(4 * pixel);
    expect(alpha).toBe(255);
    expect([0, 1, 2].map((plane) => planar.data[plane * 693 + pixel])).toEqual([red, green, blue]);
    expect([...bgr.data.subarray(3 * pixel, 3 * pixel + 3)]).toEqual([blue, green, red]);
  }
  const components = await isopel.decode(photo, { format: 'component-planes' });
  expect(components.planes).toMatchObject([{ width: 1920 }, { width: 960, height: 640 }, { stride: 960 }]);
});

test('a scale makes the picture smaller, and regions count its pixels', async () => {
  const isopel = await init();
  const portrait = readJpeg('samples/portrait-exif6.jpg');
  const whole = await isopel.decode(portrait, { scale: 0.125 });
  expect(whole).toMatchObject({ width: 113, height: 150, scale: 0.125, route: 'wasm' });
  const region = { x: 100, y: 120, width: 13, height: 30 };
  const part = await isopel.decode(portrait, { scale: 0.125, region });
  for (let row = 0; row < region.height; row++) {
    const start = 4 * ((region.y + row) * 113 + region.x);
    const expected = whole.data.subarray(start, start + 4 * region.width);
    expect(part.data.subarray(4 * 13 * row, 4 * 13 * (row + 1))).toEqual(expected);
  }
  const outside = isopel.decode(portrait, { scale: 0.125, region: { ...region, x: 101 } });
  await expect(outside).rejects.toMatchObject({ kind: 'region-out-of-bounds' });
  expect((await isopel.decode(portrait, { scale: 1 })).scale).toBe(1);

  const worker = new IsopelWorker({ threads: 1 });
  const [first, second] = await worker.decodeBatch([portrait, portrait], { scale: 0.125 });
  worker.free();
  for (const result of [first, second]) {
    expect(result?.status === 'fulfilled' && Buffer.compare(result.value.data, whole.data)).toBe(0);
  }
});

test('a region in stored coordinates is the same part of the file', async () => {
  const isopel = await init();
  const portrait = readJpeg('samples/portrait-exif6.jpg');
  const region = { x: 40, y: 300, width: 50, height: 20 };
  const image = await isopel.decode(portrait, { region, space: 'stored' });
  expect(image.storedRegion).toEqual(region);
  expect([image.width, image.height]).toEqual([20, 50]);
});

test('bad options are named', async () => {
  const isopel = await init();
  const bad: [object, RegExp][] = [
    [{ format: 'png' }, /format/],
    [{ orientation: 9 }, /orientation/],
    [{ scale: 0.3 }, /scale must be 1, 0\.5, 0\.25 or 0\.125/],
    [{ scale: 0 }, /scale/],
    [{ scale: '1/2' }, /scale/],
    [{ space: 'screen', region: { x: 0, y: 0, width: 1, height: 1 } }, /space/],
    [{ region: { x: 0.5, y: 0, width: 1, height: 1 } }, /region\.x/],
    [{ region: { x: 0, y: 0, width: -1, height: 1 } }, /region\.width/],
    [{ limits: { maxPixels: -1 } }, /maxPixels/],
    [{ backend: 'cuda' }, /backend/],
  ];
  for (const [options, message] of bad) {
    const error = await isopel.decode(photo, options).catch((reason: unknown) => reason);
    expect(error, JSON.stringify(options)).toMatchObject({ kind: 'bad-option' });
    expect((error as Error).message).toMatch(message);
  }
});

test('limits are kept, and memory beyond what WebAssembly has is an error', async () => {
  const isopel = await init();
  await expect(isopel.decode(photo, { limits: { maxPixels: 1000 } })).rejects.toMatchObject({ kind: 'limit-pixels' });
  const huge = readJpeg('conformance/corpus/hazards/bomb-65500x65500-gray.jpg');
  const limits = { maxPixels: Infinity, maxMemory: Infinity, maxWork: Infinity, maxPixelsPerByte: Infinity };
  await expect(isopel.decode(huge, { limits })).rejects.toMatchObject({ kind: 'limit-memory' });
});

test('an input above 2 GiB is an error before it is read', async () => {
  const isopel = await init();
  class HugeBlob extends Blob {
    override get size(): number {
      return 2 ** 31;
    }
    override arrayBuffer(): Promise<ArrayBuffer> {
      throw new Error('it was read');
    }
  }
  await expect(isopel.decode(new HugeBlob())).rejects.toMatchObject({ kind: 'input-too-large' });
});

test('memory is given back, and the decoder goes on', async () => {
  const isopel = await init();
  const before = (await isopel.decode(photo)).data;
  isopel.free();
  const after = (await isopel.decode(photo)).data;
  expect(Buffer.compare(before, after)).toBe(0);
});

test('an instance that stopped is replaced', async () => {
  const isopel = await init();
  const before = (await isopel.decode(photo)).data;
  const region = { x: 0, y: 0, width: 8, height: 8 };
  // The engine's own error, in the middle of the work.
  Object.defineProperty(region, 'height', {
    get: () => {
      throw new WebAssembly.RuntimeError('unreachable');
    },
  });
  await expect(isopel.decode(photo, { region, backend: 'wasm' })).rejects.toMatchObject({
    name: 'IsopelError',
    kind: 'internal',
  });
  expect(Buffer.compare((await isopel.decode(photo)).data, before)).toBe(0);
});

test('a batch has a result for each file', async () => {
  const isopel = await init();
  const seen: number[] = [];
  const results = await isopel.decodeBatch([photo, new Uint8Array([1, 2, 3]), readJpeg('samples/gray.jpg')], {
    onResult: (_, index) => seen.push(index),
  });
  expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(results[1]).toMatchObject({ reason: { kind: 'not-jpeg', offset: 0 } });
  expect(seen).toEqual([0, 1, 2]);
});

test('without WebGPU, large work falls back and says so; asked for by name it is an error', async () => {
  const isopel = await init();
  const results = await isopel.decodeBatch(Array.from({ length: 8 }, () => readJpeg('samples/gray.jpg')));
  for (const result of results) {
    const fallback = expect.stringContaining('WebGPU');
    expect(result).toMatchObject({ status: 'fulfilled', value: { route: 'wasm', fallback } });
  }
  await expect(isopel.decode(photo, { backend: 'webgpu' })).rejects.toMatchObject({ kind: 'webgpu-unavailable' });
});

test('stages are timed when asked for', async () => {
  const isopel = await init();
  const { timings } = await isopel.decode(photo, { timings: true });
  expect(Object.keys(timings ?? {})).toEqual(['parse', 'entropy', 'transform', 'color']);
  expect((await isopel.decode(photo)).timings).toBeUndefined();
});

test('an aborted decode is rejected with the signal’s reason', async () => {
  const isopel = await init();
  await expect(isopel.decode(photo, { signal: AbortSignal.abort('enough') })).rejects.toBe('enough');
  const controller = new AbortController();
  const batch = isopel.decodeBatch([photo, photo, photo], {
    signal: controller.signal,
    onResult: () => controller.abort('enough'),
  });
  await expect(batch).rejects.toBe('enough');
});

test('a worker gives the same pixels and errors, and goes on after an abort', async () => {
  const isopel = await init();
  const worker = new IsopelWorker({ threads: 2 });
  try {
    const golden = (await isopel.decode(photo)).data;
    const results = await worker.decodeBatch([photo, new Uint8Array(9), photo]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { name: 'IsopelError', kind: 'not-jpeg' } });
    // When the first is done, another one is running and the rest are waiting.
    const controller = new AbortController();
    const aborted = worker.decodeBatch(
      Array.from({ length: 6 }, () => photo),
      {
        signal: controller.signal,
        onResult: () => controller.abort('enough'),
      },
    );
    await expect(aborted).rejects.toBe('enough');
    const copy = photo.slice();
    expect(Buffer.compare((await worker.decode(copy)).data, golden)).toBe(0);
    expect(copy.byteLength).toBe(photo.byteLength);
    await worker.decode(copy, { transfer: true });
    expect(copy.byteLength).toBe(0);
  } finally {
    worker.free();
  }
  await expect(worker.decode(photo)).rejects.toMatchObject({ kind: 'bad-input' });
});
