import { IsopelError } from './error.js';
import type { Input } from './types.js';

/** WebAssembly can't be sure to find room for more in one piece. */
const MAX_BYTES = 2 ** 31 - 1;

/** A file's bytes, without a copy where they are in memory already. */
export async function toBytes(input: Input): Promise<Uint8Array> {
  if (typeof Response !== 'undefined' && input instanceof Response) {
    if (!input.ok) {
      const message = `the response has status ${input.status} ${input.statusText}, so it is no picture`;
      throw new IsopelError({ kind: 'bad-input', message });
    }
    checkLength(Number(input.headers.get('content-length') ?? 0));
    return checked(new Uint8Array(await input.arrayBuffer()));
  }
  if (typeof Blob !== 'undefined' && input instanceof Blob) {
    checkLength(input.size);
    return checked(new Uint8Array(await input.arrayBuffer()));
  }
  // Not by `instanceof`: frames and test environments have classes of their own.
  if (ArrayBuffer.isView(input)) {
    return checked(new Uint8Array(input.buffer, input.byteOffset, input.byteLength));
  }
  if (isArrayBuffer(input)) {
    checkLength(input.byteLength);
    return new Uint8Array(input);
  }
  const message = 'the input must be an ArrayBuffer, a Uint8Array, a Blob or a Response';
  throw new IsopelError({ kind: 'bad-input', message });
}

function isArrayBuffer(input: Input): input is ArrayBuffer {
  return Object.prototype.toString.call(input) === '[object ArrayBuffer]';
}

function checked(bytes: Uint8Array): Uint8Array {
  checkLength(bytes.byteLength);
  return bytes;
}

function checkLength(length: number): void {
  if (length > MAX_BYTES) {
    const message = `the file has ${length} bytes; WebAssembly takes at most ${MAX_BYTES}`;
    throw new IsopelError({ kind: 'input-too-large', message });
  }
}
