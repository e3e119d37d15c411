import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PixelOptions } from '../dist/index.js';

export const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const HAZARDS = 'conformance/corpus/hazards';

/** Files that libjpeg-turbo decodes and isopel does not yet. */
const NOT_DECODED = ['coding-arithmetic-seq.jpg', 'coding-lossless-sof3.jpg'];

/** A picture, what is asked of it, and the hash of its right pixels; a file that is to be refused has none. */
export interface Golden {
  path: string;
  options: PixelOptions;
  sha256?: string;
}

export function readJpeg(path: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(join(root, path)));
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Every file of the corpus with pixels to compare, as stored. */
export function storedPictures(): Golden[] {
  return table('conformance/corpus/MANIFEST.tsv')
    .filter(
      ({ path = '', format = '', pixels_sha256 }) =>
        pixels_sha256 !== '-' &&
        ['gray8', 'rgb8', 'cmyk8'].includes(format) &&
        !NOT_DECODED.some((name) => path.endsWith(name)),
    )
    .map(({ path = '', pixels_sha256 = '' }) => ({
      path,
      options: { format: 'source', orientation: 'ignore' },
      sha256: pixels_sha256,
    }));
}

/** Every such file at 1/2, 1/4 and 1/8 of its size, as stored. */
export function scaledPictures(): Golden[] {
  const scales: Record<string, 0.5 | 0.25 | 0.125> = { '1/2': 0.5, '1/4': 0.25, '1/8': 0.125 };
  return table('conformance/corpus/SCALED.tsv')
    .filter(({ path = '', format }) => format !== 'other' && !NOT_DECODED.some((name) => path.endsWith(name)))
    .map(({ path = '', scale = '', pixels_sha256 = '' }) => ({
      path,
      options: { format: 'source', orientation: 'ignore', scale: scales[scale] ?? 1 },
      sha256: pixels_sha256,
    }));
}

/** The pictures with an EXIF orientation, upright. */
export function uprightPictures(): Golden[] {
  return table(`${HAZARDS}/INDEX.tsv`)
    .filter(({ exif_orientation, display_sha256 = '-' }) => exif_orientation !== '1' && display_sha256.length === 64)
    .map(({ file = '', channels, display_sha256 = '' }) => ({
      path: `${HAZARDS}/${file}`,
      options: { format: channels === '1' ? 'gray8' : 'rgb8', orientation: 'apply' },
      sha256: display_sha256,
    }));
}

/** Crops of upright pictures. */
export function regions(): Golden[] {
  return table(`${HAZARDS}/ROI.tsv`).map(({ file = '', x, y, w, h, channels, sha256 = '' }) => ({
    path: `${HAZARDS}/${file}`,
    options: {
      format: channels === '1' ? 'gray8' : 'rgb8',
      orientation: 'apply',
      region: { x: Number(x), y: Number(y), width: Number(w), height: Number(h) },
    },
    sha256,
  }));
}

/** Files that have to be refused, with the error's kind; `limit` stands for all limits. */
export function refused(): { path: string; kind: string }[] {
  return table(`${HAZARDS}/INDEX.tsv`)
    .filter(({ expected = '' }) => expected.startsWith('error:'))
    .map(({ file = '', expected = '' }) => ({ path: `${HAZARDS}/${file}`, kind: expected.slice('error:'.length) }));
}

/** Tab-separated values: comment lines with `#`, a line of column names, rows. */
function table(path: string): Record<string, string>[] {
  const lines = readFileSync(join(root, path), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const [names = [], ...rows] = lines.map((line) => line.split('\t'));
  return rows.map((cells) => Object.fromEntries(names.map((name, column) => [name, cells[column] ?? ''])));
}
