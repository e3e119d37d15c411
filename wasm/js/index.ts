/**
 * isopel decodes JPEG files to libjpeg-turbo's pixels, to the byte: whole or any region, upright, in browsers and in
 * Node.
 */

import { Isopel } from './isopel.js';
import type { InitOptions } from './types.js';

export { IsopelError } from './error.js';
export type { PackageErrorKind } from './error.js';
export type { Isopel } from './isopel.js';
export type * from './types.js';
export { IsopelWorker } from './worker-pool.js';
export type { WorkerOptions } from './worker-pool.js';

/** Loads the decoder. The file for WebGPU is loaded with the first work for it. */
export async function init(options: InitOptions = {}): Promise<Isopel> {
  return Isopel.load(options, () => import('./webgpu/isopel.js'));
}

export default init;
