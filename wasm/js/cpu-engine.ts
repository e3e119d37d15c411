/** Decoding in WebAssembly without a GPU. */

import * as plain from './cpu/isopel.js';
import * as simd from './cpu-simd/isopel.js';
import { IsopelError, isWasmError } from './error.js';
import type { DecodedImage, Header, InitOptions, PixelOptions, Scans } from './types.js';
import { hasSimd, wasmSource } from './wasm-file.js';
import type { WasmHeader, WasmImage } from './wasm-types.js';

/** Headers nearly always end before; files of cameras have a preview in front of the picture. */
const HEADER_BYTES = 1 << 18;

export class CpuEngine {
  readonly #bindings: typeof plain;
  /** Whether an instance has memory worth giving back. */
  #used = false;

  private constructor(bindings: typeof plain) {
    this.#bindings = bindings;
  }

  static async load(sources: InitOptions['wasm']): Promise<CpuEngine> {
    const useSimd = hasSimd();
    const bindings = useSimd ? simd : plain;
    await bindings.default({ module_or_path: await wasmSource(useSimd ? 'cpu-simd' : 'cpu', sources) });
    return new CpuEngine(bindings);
  }

  decode(bytes: Uint8Array, options: PixelOptions): DecodedImage {
    return withData(this.#call((bindings) => bindings.decode(bytes, options)));
  }

  /** Reads no more of the file than it has to. */
  header(bytes: Uint8Array, options: Pick<PixelOptions, 'limits'>): Header {
    const probe = (part: Uint8Array): WasmHeader => this.#call((bindings) => bindings.probe(part, options, false));
    if (bytes.length > HEADER_BYTES) {
      try {
        return probe(bytes.subarray(0, HEADER_BYTES));
      } catch {
        // The header may be longer; if the file is to blame, the whole of it says so again.
      }
    }
    return probe(bytes);
  }

  /** Reads all markers. */
  inspect(bytes: Uint8Array, options: Pick<PixelOptions, 'limits'>): Header & Scans {
    return this.#call((bindings) => bindings.probe(bytes, options, true)) as Header & Scans;
  }

  /** Gives the memory back; the next call starts with a new instance. */
  free(): void {
    if (this.#used) {
      this.#bindings.__wbg_reset_state();
      this.#used = false;
    }
  }

  #call<T>(work: (bindings: typeof plain) => T): T {
    this.#used = true;
    try {
      return work(this.#bindings);
    } catch (error) {
      throw this.#translated(error);
    }
  }

  #translated(error: unknown): unknown {
    if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
      // The instance stopped in the middle of something: it may not be used again.
      this.free();
      const message = `isopel failed, or had not enough memory: ${error.message}`;
      return new IsopelError({ kind: 'internal', message });
    }
    return isWasmError(error) ? new IsopelError(error) : error;
  }
}

/** An image with its pixels, which are there unless they were drawn. */
export function withData(image: WasmImage): DecodedImage {
  const { data, ...report } = image;
  if (data === undefined) {
    throw new IsopelError({ kind: 'internal', message: 'the decoder gave no pixels' });
  }
  return { ...report, data };
}
