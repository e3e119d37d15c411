/** The decoder on the calling thread. */

import { untilAborted } from './abort.js';
import { CpuEngine } from './cpu-engine.js';
import { IsopelError } from './error.js';
import { toBytes } from './input.js';
import type {
  BatchOptions,
  BatchResult,
  DecodedImage,
  DecodedImageData,
  DecodeOptions,
  DrawOptions,
  GpuTimes,
  Header,
  InitOptions,
  Input,
  Limits,
  PixelOptions,
  Report,
  Scans,
} from './types.js';
import { WebGpuEngine } from './webgpu-engine.js';
import type { LoadBindings } from './webgpu-engine.js';

/** `auto` gives so many pixels of one image, or so many images of a batch, to a GPU. */
const AUTO_GPU_PIXELS = 4_000_000;
const AUTO_GPU_IMAGES = 8;

/** Images of a batch that go to the GPU together: their pixels are in memory at the same time. */
const IMAGES_TOGETHER = 8;

export class Isopel {
  readonly #options: InitOptions;
  readonly #cpu: CpuEngine;
  readonly #gpu: WebGpuEngine;

  private constructor(options: InitOptions, cpu: CpuEngine, gpu: WebGpuEngine) {
    this.#options = options;
    this.#cpu = cpu;
    this.#gpu = gpu;
  }

  /**
   * Loads the CPU's WebAssembly file.
   * @internal
   */
  static async load(options: InitOptions, loadWebGpu: LoadBindings): Promise<Isopel> {
    return new Isopel(options, await CpuEngine.load(options.wasm), new WebGpuEngine(loadWebGpu, options.wasm));
  }

  /** Reads the header only. */
  async probe(input: Input, options: { limits?: Limits } = {}): Promise<Header> {
    return this.#cpu.header(await toBytes(input), options);
  }

  /** Reads all markers, and decodes nothing. */
  async inspect(input: Input, options: { limits?: Limits } = {}): Promise<Header & Scans> {
    return this.#cpu.inspect(await toBytes(input), options);
  }

  /** Decodes one image. The thread is busy meanwhile unless a GPU does it; `IsopelWorker` has threads of its own. */
  async decode(input: Input, options: DecodeOptions = {}): Promise<DecodedImage> {
    const request = this.#withDefaults(options);
    request.signal?.throwIfAborted();
    const bytes = await toBytes(input);
    request.signal?.throwIfAborted();
    return this.#routed(
      bytes,
      request,
      () => untilAborted(this.#gpu.decode(bytes, request), request.signal),
      () => this.#cpu.decode(bytes, request),
    );
  }

  /** Decodes one image for a 2D canvas. */
  async decodeToImageData(input: Input, options: DrawOptions = {}): Promise<DecodedImageData> {
    const { data, ...report } = await this.decode(input, { ...options, format: 'rgba8' });
    const pixels = new Uint8ClampedArray(data.buffer, data.byteOffset, data.byteLength);
    return { ...report, imageData: new ImageData(pixels, report.width, report.height) };
  }

  /**
   * Decodes one image into a canvas, whose size becomes the picture's. With WebGPU the pixels stay on the GPU, and the
   * canvas has a `webgpu` context from then on; with WebAssembly it has a `2d` context.
   */
  async decodeToCanvas(
    input: Input,
    canvas: HTMLCanvasElement | OffscreenCanvas,
    options: DrawOptions = {},
  ): Promise<Report> {
    const request = { ...this.#withDefaults(options), format: 'rgba8' as const };
    request.signal?.throwIfAborted();
    const bytes = await toBytes(input);
    request.signal?.throwIfAborted();
    return this.#routed(
      bytes,
      request,
      // An abort is answered when this is done, lest the picture comes to the canvas afterwards.
      () => this.#gpu.draw(bytes, request, canvas),
      () => drawToCanvas(this.#cpu.decode(bytes, request), canvas),
    );
  }

  /** Decodes many images. One that fails costs no other; results are in the order of the inputs. */
  async decodeBatch(inputs: Iterable<Input>, options: BatchOptions = {}): Promise<BatchResult[]> {
    const { onResult, ...each } = options;
    const { signal, backend, ...pixels } = this.#withDefaults(each);
    const files = [...inputs];
    const results: BatchResult[] = [];
    const add = (result: BatchResult): void => {
      results.push(result);
      onResult?.(result, results.length - 1);
    };
    const chosen = backend ?? 'auto';
    const isMuch = files.length >= AUTO_GPU_IMAGES && !isScaled(pixels);
    const objection = chosen === 'auto' && isMuch ? await this.#gpu.objection(pixels) : undefined;
    const together = chosen === 'webgpu' || (chosen === 'auto' && isMuch && objection === undefined);
    while (results.length < files.length) {
      signal?.throwIfAborted();
      if (together) {
        const chunk = files.slice(results.length, results.length + IMAGES_TOGETHER);
        const decoded = await untilAborted(this.#decodeTogether(chunk, pixels, chosen === 'auto'), signal);
        decoded.forEach(add);
      } else {
        const file = files[results.length] as Input;
        const result = await settled(this.decode(file, { ...each, backend: chosen === 'auto' ? 'wasm' : chosen }));
        signal?.throwIfAborted();
        if (objection !== undefined && result.status === 'fulfilled') {
          result.value.fallback = objection;
        }
        add(result);
        await nextTask();
      }
    }
    return results;
  }

  /**
   * GPU time of each of WebGPU's passes for one image, which is decoded several times for it; `undefined` where the
   * adapter has no timestamp queries. Of pictures that exceed the GPU's buffers it is the time of the last part.
   */
  async profile(input: Input, options: DecodeOptions = {}): Promise<GpuTimes | undefined> {
    const request = this.#withDefaults(options);
    request.signal?.throwIfAborted();
    const bytes = await toBytes(input);
    return untilAborted(this.#gpu.profile(bytes, request), request.signal);
  }

  /** The name of the GPU that `webgpu` uses. Opens it. */
  async gpuName(): Promise<string> {
    return this.#gpu.adapterName(this.#withDefaults({}));
  }

  /** Gives all memory back, that of the GPU included. The next call takes new memory. */
  free(): void {
    this.#cpu.free();
    this.#gpu.free();
  }

  /** A call's options, with those given to `init` where it says nothing. */
  #withDefaults<T extends DecodeOptions>(options: T): T {
    const { backend, entropy } = this.#options;
    return { ...options, backend: options.backend ?? backend, entropy: options.entropy ?? entropy };
  }

  /** Whether a GPU would have much to do. At a smaller scale it has nothing to do. */
  #isLarge(bytes: Uint8Array, options: DecodeOptions): boolean {
    if (isScaled(options)) {
      return false;
    }
    const { width, height } = options.region ?? this.#cpu.header(bytes, options);
    return width * height >= AUTO_GPU_PIXELS;
  }

  /** Takes the backend that was asked for; for `auto`, the CPU also does what the GPU can't. */
  async #routed<T extends Report>(
    bytes: Uint8Array,
    request: DecodeOptions,
    onGpu: () => Promise<T>,
    onCpu: () => T,
  ): Promise<T> {
    const { backend = 'auto', signal } = request;
    switch (backend) {
      case 'wasm':
        return onCpu();
      case 'webgpu': {
        const result = await onGpu();
        signal?.throwIfAborted();
        return result;
      }
      case 'auto': {
        if (!this.#isLarge(bytes, request)) {
          return onCpu();
        }
        const fallback = await this.#gpu.objection(request);
        signal?.throwIfAborted();
        if (fallback !== undefined) {
          return { ...onCpu(), fallback };
        }
        try {
          const result = await onGpu();
          signal?.throwIfAborted();
          return result;
        } catch (error) {
          if (error instanceof IsopelError && isGpuFailure(error)) {
            return { ...onCpu(), fallback: error.message };
          }
          throw error;
        }
      }
      default:
        throw new IsopelError({
          kind: 'bad-option',
          message: `backend must be 'auto', 'webgpu' or 'wasm', not ${String(backend)}`,
        });
    }
  }

  async #decodeTogether(inputs: Input[], options: DecodeOptions, mayFallBack: boolean): Promise<BatchResult[]> {
    const read = await Promise.all(inputs.map((input) => settledBytes(toBytes(input))));
    const files = read.filter((file) => file instanceof Uint8Array);
    const decoded = await this.#gpu.decodeTogether(files, options);
    const results = read.map((file): BatchResult => {
      if (file instanceof IsopelError) {
        return { status: 'rejected', reason: file };
      }
      return decoded.shift() as BatchResult;
    });
    for (const [index, result] of results.entries()) {
      const file = read[index];
      if (mayFallBack && result.status === 'rejected' && isGpuFailure(result.reason) && file instanceof Uint8Array) {
        const fallback = result.reason.message;
        results[index] = await settled(
          Promise.resolve().then(() => ({ ...this.#cpu.decode(file, options), fallback })),
        );
      }
    }
    return results;
  }
}

function isScaled({ scale }: PixelOptions): boolean {
  return scale !== undefined && scale !== 1;
}

/** Whether a device is to blame, and not the file or the request. */
function isGpuFailure(error: IsopelError): boolean {
  return error.kind.startsWith('device-') || error.kind.startsWith('canvas-') || error.kind === 'webgpu-unavailable';
}

function drawToCanvas(image: DecodedImage, canvas: HTMLCanvasElement | OffscreenCanvas): Report {
  const { data, ...report } = image;
  putPixels(data, report, canvas);
  return report;
}

/** Writes RGBA pixels into a canvas of their size. */
export function putPixels(
  data: Uint8Array<ArrayBuffer>,
  { width, height }: { width: number; height: number },
  canvas: HTMLCanvasElement | OffscreenCanvas,
): void {
  const context = canvas.getContext('2d') as CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D | null;
  if (context === null) {
    const message = 'the canvas gives no 2d context; it may have a webgpu context already';
    throw new IsopelError({ kind: 'canvas-unavailable', message });
  }
  canvas.width = width;
  canvas.height = height;
  const pixels = new Uint8ClampedArray(data.buffer, data.byteOffset, data.byteLength);
  context.putImageData(new ImageData(pixels, width, height), 0, 0);
}

/** One image's result; errors that are no fault of the image's are thrown. */
export async function settled(work: Promise<DecodedImage>): Promise<BatchResult> {
  try {
    return { status: 'fulfilled', value: await work };
  } catch (error) {
    if (error instanceof IsopelError) {
      return { status: 'rejected', reason: error };
    }
    throw error;
  }
}

async function settledBytes(work: Promise<Uint8Array>): Promise<Uint8Array | IsopelError> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof IsopelError) {
      return error;
    }
    throw error;
  }
}

/** Lets the page paint and take input. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(undefined);
  });
}
