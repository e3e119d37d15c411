/** Facts about files in plain words. */

import { IsopelError } from 'isopel';
import type { Component, Header, Route, Scans, Warning } from 'isopel';

const ORIENTATIONS = [
  'upright as stored',
  'mirrored left to right',
  'upside down',
  'mirrored top to bottom',
  'mirrored, then turned left',
  'turned right by a quarter',
  'mirrored, then turned right',
  'turned left by a quarter',
];

const PROCESSES: Record<string, string> = {
  baseline: 'baseline: one pass, top to bottom',
  'extended sequential': 'extended sequential: one pass, top to bottom',
  progressive: 'progressive: coarse first, then finer',
};

/** Who made the pixels. */
export const ROUTES: Record<Route, string> = {
  wasm: 'all of it in WebAssembly',
  webgpu: 'entropy in WebAssembly, the rest on the GPU',
  'webgpu-whole': 'all of it on the GPU',
};

export function factsOf(header: Header & Scans, bytes: number): [string, string][] {
  const turned =
    header.storedWidth !== header.width ? ` (stored as ${header.storedWidth} × ${header.storedHeight})` : '';
  return [
    ['Size', `${header.width} × ${header.height} pixels${turned}`],
    ['Bytes', bytes.toLocaleString('en')],
    ['EXIF orientation', `${header.orientation}: ${ORIENTATIONS[header.orientation - 1]}`],
    ['Coding', PROCESSES[header.process] ?? header.process],
    ['Colour', header.color],
    ['Sampling', sampling(header.components)],
    ['Scans', header.complete ? String(header.scans.length) : `${header.scans.length}, and some detail is missing`],
    ['Restart interval', header.restartInterval === 0 ? 'none' : `${header.restartInterval} MCUs`],
    ['Colour profile', header.iccProfileBytes === undefined ? 'none' : `ICC, ${header.iccProfileBytes} bytes`],
  ];
}

function sampling(components: Component[]): string {
  const factors = components.map(({ horizontal, vertical }) => `${horizontal}×${vertical}`).join(', ');
  const [luma, chroma, other] = components;
  if (luma === undefined || chroma === undefined) {
    return 'one component, nothing to subsample';
  }
  const ratio = `${luma.horizontal / chroma.horizontal}x${luma.vertical / chroma.vertical}`;
  const names: Record<string, string> = {
    '1x1': '4:4:4, full colour detail',
    '2x1': '4:2:2, half the colour detail across',
    '2x2': '4:2:0, half the colour detail both ways',
    '1x2': '4:4:0, half the colour detail down',
    '4x1': '4:1:1, a quarter of the colour detail across',
  };
  const isUsual = other !== undefined && chroma.horizontal === other.horizontal && chroma.vertical === other.vertical;
  return (isUsual && names[ratio]) || factors;
}

/** What an error means for somebody who wants to see the picture. */
export function errorInWords(error: unknown): string {
  if (!(error instanceof IsopelError)) {
    return `Something went wrong: ${String(error)}`;
  }
  return `${introduction(error.kind)}${sentence(error.message)}`;
}

/** What kind of trouble it is, for messages that don't begin with that. */
function introduction(kind: string): string {
  if (['not-jpeg', 'empty'].includes(kind)) {
    return '';
  }
  if (kind.startsWith('unsupported')) {
    return 'This kind of JPEG can’t be shown. ';
  }
  if (kind.startsWith('limit') || kind === 'input-too-large') {
    return 'This file would take too much memory or time. ';
  }
  if (kind.startsWith('device') || kind.startsWith('webgpu') || kind === 'browser') {
    return 'This decoder can’t do it. ';
  }
  if (kind.startsWith('region')) {
    return 'The region does not fit. ';
  }
  return 'The file is damaged beyond what can be shown. ';
}

export function warningInWords({ message, damage }: Warning): string {
  return `${damage ? 'Damage' : 'Untidy, but harmless'}: ${sentence(message)}`;
}

function sentence(text: string): string {
  const start = text.charAt(0).toUpperCase() + text.slice(1);
  return start.endsWith('.') ? start : `${start}.`;
}

export function milliseconds(time: number): string {
  return time < 10 ? `${time.toFixed(1)} ms` : `${time.toFixed(0)} ms`;
}
