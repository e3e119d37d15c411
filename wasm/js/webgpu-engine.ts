/** Decoding with WebGPU. The bindings and the file are loaded when it is first used. */

import { withData } from './cpu-engine.js';
import { IsopelError, isWasmError } from './error.js';
import type { BatchResult, DecodedImage, GpuTimes, InitOptions, PixelOptions, Report } from './types.js';
import { wasmSource } from './wasm-file.js';
import type { WasmError } from './wasm-types.js';
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
  async objection(options: PixelOptions): Promise<string | undefined> {
    try {
      const { device } = await this.#open(options);
      return device.isSoftware ? `the only WebGPU adapter is software (${await adapterName()})` : undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Opens the device, if it is not open. */
  async adapterName(options: PixelOptions): Promise<string> {
    await this.#open(options);
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
    return this.#call(options, async (device, errorOf) => {
      const results = await device.decode(files, options);
      return results.map((result) =>
        isWasmError(result)
          ? { status: 'rejected', reason: errorOf(result) }
          : { status: 'fulfilled', value: withData(result) },
      );
    });
  }

  async draw(bytes: Uint8Array, options: PixelOptions, canvas: HTMLCanvasElement | OffscreenCanvas): Promise<Report> {
    return this.#call(options, (device) =>
      typeof OffscreenCanvas !== 'undefined' && canvas instanceof OffscreenCanvas
        ? device.drawToOffscreenCanvas(bytes, options, canvas)
        : device.drawToCanvas(bytes, options, canvas as HTMLCanvasElement),
    );
  }

  async profile(bytes: Uint8Array, options: PixelOptions): Promise<GpuTimes | undefined> {
    return this.#call(options, (device) => device.profile(bytes, options));
  }

  /** Gives device and memory back; the next call opens them again. */
  free(): void {
    this.#device = undefined;
    this.#bindings?.__wbg_reset_state();
    this.#bindings = undefined;
  }

  /** The open device; another if that one was opened for less. */
  async #open(options: PixelOptions): Promise<OpenDevice> {
    for (;;) {
      const opening = (this.#device ??= this.#openDevice(options));
      const forget = (): void => {
        // Others may have done so already, and opened the next.
        if (this.#device === opening) {
          this.#device = undefined;
        }
      };
      try {
        const device = await opening;
        if (!device.lacksPassesFor(options)) {
          return { device, forget };
        }
        forget();
      } catch (error) {
        // An adapter may be plugged in, or a driver come back, before the next call.
        forget();
        throw error;
      }
    }
  }

  async #openDevice(options: PixelOptions): Promise<WebGpu> {
    if (typeof navigator === 'undefined' || !('gpu' in navigator)) {
      throw new IsopelError({ kind: 'webgpu-unavailable', message: 'this browser has no WebGPU' });
    }
    if (this.#bindings === undefined) {
      const bindings = await this.#load();
      await bindings.default({ module_or_path: await wasmSource('webgpu', this.#sources) });
      this.#bindings = bindings;
    }
    try {
      return await this.#bindings.WebGpu.open(options);
    } catch (error) {
      throw isWasmError(error) ? new IsopelError(error) : error;
    }
  }

  async #call<T>(
    options: PixelOptions,
    work: (device: WebGpu, errorOf: (error: WasmError) => IsopelError) => Promise<T>,
  ): Promise<T> {
    const { device, forget } = await this.#open(options);
    const errorOf = (error: WasmError): IsopelError => {
      // A lost device does not come back; the next call opens another.
      if (error.kind === 'device-lost') {
        forget();
      }
      return new IsopelError(error);
    };
    try {
      return await work(device, errorOf);
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) {
        this.free();
        throw new IsopelError({
          kind: 'internal',
          message: `isopel failed, or had not enough memory: ${error.message}`,
        });
      }
      throw isWasmError(error) ? errorOf(error) : error;
    }
  }
}

/** A device, and how to make the next call open another. */
interface OpenDevice {
  device: WebGpu;
  forget(): void;
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
