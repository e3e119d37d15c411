/** What crosses the border to WebAssembly. */

import type { DecodedImage, Header, PixelOptions, Scans } from './types.js';

/** Options as Rust reads them. */
export type WasmOptions = PixelOptions;

/** An image as Rust gives it; without `data` if the pixels went to a canvas. */
export type WasmImage = Omit<DecodedImage, 'fallback' | 'data'> & { data?: Uint8Array<ArrayBuffer> };

/** A header as Rust gives it. */
export type WasmHeader = Header & Partial<Scans>;

/** An error as Rust gives it. */
export interface WasmError {
  kind: string;
  message: string;
  offset: number | undefined;
  marker: string | undefined;
}
