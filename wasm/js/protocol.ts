/** What an `IsopelWorker` and its workers say to each other. */

import type { DecodedImage, DecodeOptions, GpuTimes, Header, InitOptions, Limits, Scans } from './types.js';
import type { WasmError } from './wasm-types.js';

/** Bytes, or a blob that the worker reads. */
export type Payload = Uint8Array | Blob;

export type Request =
  | { task: 'decode'; input: Payload; options: Omit<DecodeOptions, 'signal'> }
  | { task: 'profile'; input: Payload; options: Omit<DecodeOptions, 'signal'> }
  | { task: 'probe'; input: Payload; options: { limits?: Limits } }
  | { task: 'inspect'; input: Payload; options: { limits?: Limits } };

export type Result = DecodedImage | Header | (Header & Scans) | GpuTimes | undefined;

export type ToWorker = { start: InitOptions } | Request;
export type FromWorker = { result: Result } | { error: WasmError };

/** The end of a channel that a worker has, in browsers and in Node. */
export interface Port {
  listen(handler: (message: unknown) => void): void;
  post(message: unknown, transfer: ArrayBuffer[]): void;
}
