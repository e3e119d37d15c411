/** Finds and reads the package's WebAssembly files. */

import type { InitOptions, WasmSource } from './types.js';

export type WasmName = 'cpu' | 'cpu-simd' | 'webgpu';

/** Written out, because bundlers look for exactly this form. */
function besidePackage(name: WasmName): URL {
  switch (name) {
    case 'cpu':
      return new URL('./cpu/isopel_bg.wasm', import.meta.url);
    case 'cpu-simd':
      return new URL('./cpu-simd/isopel_bg.wasm', import.meta.url);
    case 'webgpu':
      return new URL('./webgpu/isopel_bg.wasm', import.meta.url);
  }
}

/** What the bindings' start-up function takes. */
export async function wasmSource(
  name: WasmName,
  given: InitOptions['wasm'],
): Promise<BufferSource | WebAssembly.Module | Response> {
  const source: WasmSource = given?.[name] ?? besidePackage(name);
  if (typeof source !== 'string' && !(source instanceof URL)) {
    return source;
  }
  if (String(source).startsWith('file:')) {
    return readFile(new URL(source));
  }
  const response = await fetch(source);
  if (!response.ok) {
    throw new Error(`isopel: ${String(source)} can't be loaded: ${response.status} ${response.statusText}`);
  }
  return response;
}

/** In Node. Its module is named indirectly, so that bundlers for the web don't look for it. */
async function readFile(url: URL): Promise<Uint8Array<ArrayBuffer>> {
  const name = 'node:fs/promises';
  const fs = (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as {
    readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
  };
  return fs.readFile(url);
}

/** Whether this engine has 128-bit SIMD: it must find a module valid that splats a number into a vector. */
export function hasSimd(): boolean {
  // prettier-ignore
  const splat = new Uint8Array([
    0, 97, 115, 109, 1, 0, 0, 0, // magic, version
    1, 5, 1, 96, 0, 1, 123, // type: () -> v128
    3, 2, 1, 0, // function 0 has it
    10, 8, 1, 6, 0, 65, 0, 253, 15, 11, // i32.const 0, i8x16.splat, end
  ]);
  return WebAssembly.validate(splat);
}
