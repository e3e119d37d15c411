/** Decoding with WebGPU. The bindings and the file are loaded when it is first used. */

import { withData } from './cpu-engine.js';
import { IsopelError, isWasmError } from './error.js';
import type { BatchResult, DecodedImage, GpuTimes, InitOptions, PixelOptions, Report } from './types.js';
import { wasmSource } from './wasm-file.js';
import type { WebGpu } from './webgpu/isopel.js';

export type WebGpuBindings = typeof import('./webgpu/isopel.js');
export type LoadBindings = () => Promise<WebGpuBindings>;

export class WebGpuEngine {
  readonly #load: LoadBindings;
  readonly #sources: InitOptions['wasm'];
  #bindings: WebGpuBindings | undefined;
  #device: Promise<WebGpu> | undefined;

  constructor(load: LoadBindings, sources: InitOptions['wasm']) {
    this.#load = load;
    this.#sources = sources;
  }

  /** What stands against using a GPU here without having been asked to; undefined if nothing does. */
  async objection(): Promise<string | undefined> {
    try {
      const device = await this.#open();
      return device.isSoftware ? `the only WebGPU adapter is software (${await adapterName()})` : undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Opens the device, if it is not open. */
  async adapterName(): Promise<string> {
    await this.#open();
    return adapterName();
  }

  async decode(bytes: Uint8Array, options: PixelOptions): Promise<DecodedImage> {
    const [result] = await this.decodeTogether([bytes], options);
    if (result?.status === 'fulfilled') {
      return result.value;
    }
    throw result?.reason ?? new IsopelError({ kind: 'internal', message: 'the decoder gave no answer' });
  }

  async decodeTogether(files: Uint8Array[], options: PixelOptions): Promise<BatchResult[]> {
    const results = await this.#call((device) => device.decode(files, options));
    return results.map((result) => {
      if (isWasmError(result)) {
        const reason = new IsopelError(result);
        this.#forgetIfLost(reason);
        return { status: 'rejected', reason };
      }
      return { status: 'fulfilled', value: withData(result) };
    });
  }

  async draw(bytes: Uint8Array, options: PixelOptions, canvas: HTMLCanvasElement | OffscreenCanvas): Promise<Report> {
    return this.#call((device) =>
      typeof OffscreenCanvas !== 'undefined' && canvas instanceof OffscreenCanvas
        ? device.drawToOffscreenCanvas(bytes, options, canvas)
        : device.drawToCanvas(bytes, options, canvas as HTMLCanvasElement),
    );
  }

  async profile(bytes: Uint8Array, options: PixelOptions): Promise<GpuTimes | undefined> {
    return this.#call((device) => device.profile(bytes, options));
  }

  /** Gives device and memory back; the next call opens them again. */
  free(): void {
    this.#device = undefined;
    this.#bindings?.__wbg_reset_state();
    this.#bindings = undefined;
  }

  async #open(): Promise<WebGpu> {
    this.#device ??= this.#openDevice();
    try {
      return await this.#device;
    } catch (error) {
      // An adapter may be plugged in, or a driver come back, before the next call.
      this.#device = undefined;
      throw error;
    }
  }

  async #openDevice(): Promise<WebGpu> {
    if (typeof navigator === 'undefined' || !('gpu' in navigator)) {
      throw new IsopelError({ kind: 'webgpu-unavailable', message: 'this browser has no WebGPU' });
    }
    if (this.#bindings === undefined) {
      const bindings = await this.#load();
      await bindings.default({ module_or_path: await wasmSource('webgpu', this.#sources) });
      this.#bindings = bindings;
    }
    try {
      return await this.#bindings.WebGpu.open();
    } catch (error) {
      throw isWasmError(error) ? new IsopelError(error) : error;
    }
  }

  async #call<T>(work: (device: WebGpu) => Promise<T>): Promise<T> {
    const device = await this.#open();
    try {
      return await work(device);
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) {
        this.free();
        throw new IsopelError({
          kind: 'internal',
          message: `isopel failed, or had not enough memory: ${error.message}`,
        });
      }
      if (!isWasmError(error)) {
        throw error;
      }
      const reason = new IsopelError(error);
      this.#forgetIfLost(reason);
      throw reason;
    }
  }

  /** A lost device does not come back; the next call opens another. */
  #forgetIfLost(error: IsopelError): void {
    if (error.kind === 'device-lost') {
      this.#device = undefined;
    }
  }
}

/** What the browser tells of the adapter that is preferred for high performance. */
async function adapterName(): Promise<string> {
  const { gpu } = navigator as unknown as { gpu: Gpu };
  const info = (await gpu.requestAdapter({ powerPreference: 'high-performance' }))?.info;
  const parts = [info?.['vendor'], info?.['architecture'], info?.['device'], info?.['description']];
  return parts.filter((part) => part !== undefined && part !== '').join(' ') || 'unnamed';
}

/** The part of WebGPU's types that is used here. */
interface Gpu {
  requestAdapter(options: { powerPreference: 'high-performance' }): Promise<{ info: Record<string, string> } | null>;
}
