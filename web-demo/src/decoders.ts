/** The decoders that the page compares. */

import { IsopelError, IsopelWorker } from 'isopel';
import type { DecodeOptions, GpuTimes, Rect, Route, Scale, Warning } from 'isopel';

export type IsopelName = 'wasm' | 'webgpu' | 'webgpu-entropy';
export type DecoderName = IsopelName | 'browser';

export const DECODERS: Record<DecoderName, string> = {
  wasm: 'isopel on WebAssembly',
  webgpu: 'isopel on WebGPU',
  'webgpu-entropy': 'isopel on WebGPU, entropy too',
  browser: 'this browser',
};

/** What isopel is asked for by these names. */
export const ISOPEL_OPTIONS: Record<IsopelName, Pick<DecodeOptions, 'backend' | 'entropy'>> = {
  wasm: { backend: 'wasm' },
  webgpu: { backend: 'webgpu' },
  'webgpu-entropy': { backend: 'webgpu', entropy: 'gpu' },
};

export interface NamedFile {
  name: string;
  file: Blob;
}

/** RGBA pixels and how they came about. */
export interface Picture {
  pixels: Uint8ClampedArray<ArrayBuffer>;
  width: number;
  height: number;
  /** Milliseconds until the pixels were here. */
  total: number;
  /** Milliseconds by stage. */
  stages: Record<string, number>;
  /** Which way isopel went. */
  route: Route | undefined;
  warnings: Warning[];
  validRows: number | undefined;
}

export interface Request {
  orientation: 'apply' | 'ignore';
  scale: Scale;
  /** In pixels of the scaled picture. */
  region?: Rect | undefined;
}

export const worker = new IsopelWorker({ threads: 1 });

export async function decode(name: DecoderName, file: Blob, request: Request): Promise<Picture> {
  return inTurn(() => (name === 'browser' ? decodeByBrowser(file, request) : decodeByIsopel(name, file, request)));
}

/** What is measured is done alone: no time is spent waiting for others. */
let before: Promise<unknown> = Promise.resolve();
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const result = before.then(work);
  before = result.catch(() => undefined);
  return result;
}

/**
 * GPU time of each pass on the way that a picture went, for which it is decoded again; undefined if the adapter can't
 * measure it.
 */
export async function gpuTimes(file: Blob, request: Request, route: Route): Promise<GpuTimes | undefined> {
  const entropy = route === 'webgpu-whole' ? 'gpu' : 'cpu';
  return inTurn(() => worker.profile(file, { ...request, entropy }));
}

/** Whether there is a WebGPU adapter, and which. */
export async function webgpuAdapter(): Promise<string | undefined> {
  const { gpu } = navigator as { gpu?: { requestAdapter(): Promise<{ info: Record<string, string> } | null> } };
  const info = (await gpu?.requestAdapter())?.info;
  return info && ([info['vendor'], info['architecture'], info['description']].filter(Boolean).join(' ') || 'unnamed');
}

async function decodeByIsopel(name: IsopelName, file: Blob, request: Request): Promise<Picture> {
  const options: DecodeOptions = { ...request, ...ISOPEL_OPTIONS[name], timings: true };
  // Loading the WebAssembly file is no part of decoding.
  await worker.decode(await warmUp(), ISOPEL_OPTIONS[name]);
  const start = performance.now();
  const { data, width, height, route, warnings, validRows, timings } = await worker.decode(file, options);
  const total = performance.now() - start;
  const stages = timings ?? {};
  const known = Object.values(stages).reduce((sum, time) => sum + time, 0);
  const pixels = new Uint8ClampedArray(data.buffer);
  return {
    pixels,
    width,
    height,
    total,
    stages: { ...stages, 'to and from the worker': total - known },
    route,
    warnings,
    validRows,
  };
}

/** Some pixels of a small picture. */
let small: Promise<Blob> | undefined;
function warmUp(): Promise<Blob> {
  small ??= fetch('samples/gray.jpg').then((response) => response.blob());
  return small;
}

/** What the browser shows for the same request, read back through a canvas. */
async function decodeByBrowser(file: Blob, { orientation, scale, region }: Request): Promise<Picture> {
  if (orientation === 'ignore') {
    // `imageOrientation: 'none'` was redefined to mean the same as `from-image`.
    throw new IsopelError({ kind: 'browser', message: 'browsers always turn pictures as their EXIF data says' });
  }
  const start = performance.now();
  const bitmap = await createImageBitmap(file, { colorSpaceConversion: 'none' }).catch(() => {
    throw new IsopelError({
      kind: 'browser',
      message: 'this browser’s own decoder refuses the file, and gives no reason',
    });
  });
  const decoded = performance.now();
  const [scaledWidth, scaledHeight] = [Math.ceil(bitmap.width * scale), Math.ceil(bitmap.height * scale)];
  const { x, y, width, height } = region ?? { x: 0, y: 0, width: scaledWidth, height: scaledHeight };
  const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
  if (context === null) {
    throw new IsopelError({ kind: 'browser', message: 'this browser gives no canvas of that size' });
  }
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, -x, -y, scaledWidth, scaledHeight);
  const pixels = context.getImageData(0, 0, width, height).data as Uint8ClampedArray<ArrayBuffer>;
  bitmap.close();
  const end = performance.now();
  const stages = { decode: decoded - start, 'read back': end - decoded };
  return { pixels, width, height, total: end - start, stages, route: undefined, warnings: [], validRows: undefined };
}
