/** What callers pass in and get back. */

import type { IsopelError } from './error.js';

/** A JPEG file. */
export type Input = ArrayBuffer | Uint8Array | Blob | Response;

/** Who decodes: `auto` takes WebGPU for large work where there is a GPU, else WebAssembly. */
export type Backend = 'auto' | 'webgpu' | 'wasm';

/**
 * Where WebGPU decodes entropy: `gpu` in its shaders whatever a file's size, `cpu` in WebAssembly, `auto` where it is
 * likely to be faster: not on software adapters, and not for less than 100 kB of files at once.
 */
export type EntropyPlace = 'auto' | 'cpu' | 'gpu';

/**
 * Who made the pixels. They are the same.
 * - `wasm`: WebAssembly. At a smaller `scale` always; `webgpu` then only passes them on.
 * - `webgpu`: WebAssembly decoded the entropy, the GPU did the rest. That is the way of progressive files, very large
 *   ones and damaged ones, which the GPU may have tried first.
 * - `webgpu-whole`: all of it the GPU, from the file's bytes on.
 */
export type Route = 'wasm' | 'webgpu' | 'webgpu-whole';

/** The size to decode at, as a fraction of the file's width and height. */
export type Scale = 1 | 0.5 | 0.25 | 0.125;

/** A rectangle of whole pixels. */
export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/**
 * Formats of pixels. `source` is the closest to the file: `gray8`, `rgb8` or `cmyk8`. `rgb8-planar` has one plane per
 * colour, `component-planes` the file's own components without upsampling or conversion.
 */
export type PixelFormat = 'rgb8' | 'rgba8' | 'bgr8' | 'gray8' | 'rgb8-planar' | 'component-planes' | 'cmyk8';

/** What a file may cost. Defaults are safe for untrusted files. */
export interface Limits {
  /** Width times height as stored. Default: 2^28. */
  maxPixels?: number;
  /** Bytes of working memory and output. Default: 1 GiB; no more than 2 GiB can be had. */
  maxMemory?: number;
  /** Blocks that all scans together visit. Default: 2^27. */
  maxWork?: number;
  /** Bytes of metadata. Default: 64 MiB. */
  maxMetadata?: number;
  /** Pixels per byte of file, for images above 16 megapixels. Default: 512. */
  maxPixelsPerByte?: number;
}

/** What to decode, and into which pixels. */
export interface PixelOptions {
  /** The part to decode, in pixels of the picture at `scale`. Default: all of it. */
  region?: Rect | undefined;
  /** Whether `region` is counted in the picture as shown, or as stored before its orientation. Default: `display`. */
  space?: 'display' | 'stored' | undefined;
  /**
   * Decode at a fraction of the size, for thumbnails and previews: faster, and with less memory, than decoding all and
   * shrinking it. Sides are rounded up. The pixels are libjpeg-turbo's at the same scale. Default: 1.
   */
  scale?: Scale | undefined;
  /** Apply the EXIF orientation (the default), ignore it, or apply this EXIF value, 1 to 8, instead. */
  orientation?: 'apply' | 'ignore' | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | undefined;
  /** Default: `rgba8`. */
  format?: PixelFormat | 'source' | undefined;
  /** Damaged files are errors instead of pictures with warnings. */
  strict?: boolean | undefined;
  limits?: Limits | undefined;
  /** Where WebGPU decodes entropy. Default: the one given to `init`, or else `auto`. No matter to WebAssembly. */
  entropy?: EntropyPlace | undefined;
  /** Measure the stages; see {@link DecodedImage.timings}. */
  timings?: boolean | undefined;
}

export interface DecodeOptions extends PixelOptions {
  /** Default: the one given to `init`, or else `auto`. A backend that is named never gives way to another. */
  backend?: Backend | undefined;
  /** Ends the work with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Options of what draws: the format is fixed. */
export type DrawOptions = Omit<DecodeOptions, 'format'>;

/** Something wrong with a file that was decoded all the same. */
export interface Warning {
  message: string;
  /** Whether pixels are wrong or missing. */
  damage: boolean;
  /** Byte offset in the file. */
  offset: number | undefined;
  marker: string | undefined;
}

/** Where a plane lies in `data`. */
export interface Plane {
  /** Byte offset of its first pixel. */
  offset: number;
  width: number;
  height: number;
  /** Bytes from one row to the next. */
  stride: number;
}

/**
 * Milliseconds of GPU time by pass, in their order: `synchronise`, `join`, `scan` and `write` if the GPU decodes
 * entropy, `dequant_idct`, `orient`. Browsers round them, most to 0.1 ms.
 */
export type GpuTimes = Record<string, number>;

/** What was decoded, and how well. */
export interface Report {
  /** In pixels, after orientation. */
  width: number;
  height: number;
  format: PixelFormat;
  planes: Plane[];
  /** The file's own colour model, such as `YCbCr`. */
  color: string;
  /** The EXIF orientation that was applied. Do not rotate again. */
  orientation: number;
  /** The fraction of the file's size that was decoded at. */
  scale: Scale;
  /** What was decoded, in stored coordinates of the picture at that scale. */
  storedRegion: Rect;
  warnings: Warning[];
  /** Rows before the first damage that was noticed, in stored order. */
  validRows: number;
  /** Whether the file sent every bit; progressive files may stop before. */
  complete: boolean;
  /** Who made the pixels. */
  route: Route;
  /** Why `auto` did not use WebGPU although the work is large enough. */
  fallback?: string;
  /**
   * Milliseconds by stage, if asked for. Route `wasm`: `parse`, `entropy`, `transform`, `color`. With WebGPU what the
   * CPU did first and what came then, waiting included: `prepare` (route `webgpu-whole`), `entropy` (`webgpu`) or
   * `decode` (smaller scales), and `gpu`. What the GPU flags is decoded again in `gpu`. Images of a batch share their
   * times.
   */
  timings?: Record<string, number>;
}

export interface DecodedImage extends Report {
  /** The pixels, packed as `planes` describe. The memory is yours. */
  data: Uint8Array<ArrayBuffer>;
}

export interface DecodedImageData extends Report {
  imageData: ImageData;
}

/** One result of a batch. */
export type BatchResult = { status: 'fulfilled'; value: DecodedImage } | { status: 'rejected'; reason: IsopelError };

export interface BatchOptions extends DecodeOptions {
  /** Called for each image as it is done. */
  onResult?: ((result: BatchResult, index: number) => void) | undefined;
}

export interface Component {
  id: number;
  /** Sampling factors. */
  horizontal: number;
  vertical: number;
}

/** What a file says of itself before its image data. */
export interface Header {
  /** In pixels, as shown. */
  width: number;
  height: number;
  storedWidth: number;
  storedHeight: number;
  /** EXIF orientation, 1 to 8. */
  orientation: number;
  /** `baseline`, `extended sequential` or `progressive`. */
  process: string;
  /** Such as `YCbCr`. */
  color: string;
  components: Component[];
  /** MCUs between restart markers, 0 for none. */
  restartInterval: number;
}

export interface Scan {
  /** Byte offset of the SOS marker. */
  offset: number;
  dataStart: number;
  dataEnd: number;
  /** Identifiers of the components in it. */
  components: number[];
  spectralStart: number;
  spectralEnd: number;
  approximationHigh: number;
  approximationLow: number;
}

/** What all markers of a file say. */
export interface Scans {
  scans: Scan[];
  complete: boolean;
  warnings: Warning[];
  iccProfileBytes: number | undefined;
  /** Bytes from the start of the file to the end of the image. */
  imageBytes: number;
}

/** Where WebAssembly files come from, if not from beside the package. */
export type WasmSource = string | URL | BufferSource | WebAssembly.Module;

export interface InitOptions {
  /** Default backend of all calls. Default: `auto`. */
  backend?: Backend | undefined;
  /** Default place of WebGPU's entropy decoding for all calls. Default: `auto`. */
  entropy?: EntropyPlace | undefined;
  /** Sources for servers that keep the files elsewhere. */
  wasm?: { cpu?: WasmSource; 'cpu-simd'?: WasmSource; webgpu?: WasmSource } | undefined;
}
