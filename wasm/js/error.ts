import type { WasmError } from './wasm-types.js';

/** Kinds that come from this package; those of files and requests, such as `not-jpeg`, come from the decoder. */
export type PackageErrorKind = 'bad-option' | 'bad-input' | 'input-too-large' | 'internal' | 'webgpu-unavailable';

/** Why there are no pixels. */
export class IsopelError extends Error {
  override readonly name = 'IsopelError';
  /** A short stable name, such as `not-jpeg`, `region-out-of-bounds` or `device-lost`. */
  readonly kind: PackageErrorKind | (string & {});
  /** Byte offset in the file, where bytes are to blame. */
  readonly offset: number | undefined;
  /** The marker to blame, such as `DHT`. */
  readonly marker: string | undefined;

  constructor({ kind, message, offset, marker }: Partial<WasmError> & Pick<WasmError, 'kind' | 'message'>) {
    super(message);
    this.kind = kind;
    this.offset = offset;
    this.marker = marker;
  }
}

/** Whether a value is an error object from WebAssembly, or one that came through a worker. */
export function isWasmError(value: unknown): value is WasmError {
  return typeof value === 'object' && value !== null && 'kind' in value && 'message' in value;
}

/** An error as an object that can be posted to another thread. */
export function toPlainError(error: IsopelError): WasmError {
  const { kind, message, offset, marker } = error;
  return { kind, message, offset, marker };
}
