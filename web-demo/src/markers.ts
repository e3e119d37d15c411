/** The markers of a JPEG file, in order, with what they are for. */

export interface MarkerEntry {
  /** The standard's symbol, such as `DQT`. */
  symbol: string;
  offset: number;
  /** Marker, segment and, after SOS, the scan's data. */
  length: number;
  group: 'frame' | 'tables' | 'scan' | 'metadata' | 'other';
  purpose: string;
}

/** Stops quietly where the file is no longer made of segments; the decoder's own messages say why. */
export function markerMap(bytes: Uint8Array): MarkerEntry[] {
  const entries: MarkerEntry[] = [];
  let at = 0;
  while (at + 1 < bytes.length) {
    const offset = bytes.indexOf(0xff, at);
    const code = offset < 0 ? undefined : bytes[offset + 1];
    if (code === undefined) {
      break;
    }
    if (code === 0x00 || code === 0xff) {
      at = offset + 1;
      continue;
    }
    const hasSegment = !(code === 0x01 || (code >= 0xd0 && code <= 0xd9));
    let end = offset + 2;
    if (hasSegment) {
      end += ((bytes[offset + 2] ?? 0) << 8) | (bytes[offset + 3] ?? 0);
    }
    if (code === 0xda) {
      end = scanEnd(bytes, end);
    }
    end = Math.min(end, bytes.length);
    entries.push({ ...meaning(code, bytes, offset), offset, length: end - offset });
    if (code === 0xd9) {
      break;
    }
    at = end;
  }
  return entries;
}

/** The next marker that is neither a stuffed byte nor a restart. */
function scanEnd(bytes: Uint8Array, start: number): number {
  for (let at = bytes.indexOf(0xff, start); at >= 0; at = bytes.indexOf(0xff, at + 1)) {
    const code = bytes[at + 1] ?? 0;
    if (code !== 0 && code !== 0xff && !(code >= 0xd0 && code <= 0xd7)) {
      return at;
    }
  }
  return bytes.length;
}

function meaning(code: number, bytes: Uint8Array, offset: number): Pick<MarkerEntry, 'symbol' | 'group' | 'purpose'> {
  const entry = (symbol: string, group: MarkerEntry['group'], purpose: string) => ({ symbol, group, purpose });
  switch (code) {
    case 0xd8:
      return entry('SOI', 'other', 'start of image');
    case 0xd9:
      return entry('EOI', 'other', 'end of image');
    case 0xdb:
      return entry('DQT', 'tables', 'quantization tables');
    case 0xc4:
      return entry('DHT', 'tables', 'Huffman tables');
    case 0xdd:
      return entry('DRI', 'tables', 'restart interval');
    case 0xda:
      return entry('SOS', 'scan', 'scan header and data');
    case 0xfe:
      return entry('COM', 'metadata', 'comment');
  }
  if (code >= 0xe0 && code <= 0xef) {
    const name = String.fromCharCode(...bytes.subarray(offset + 4, offset + 16)).split('\0')[0] ?? '';
    return entry(`APP${code - 0xe0}`, 'metadata', /^[\x20-\x7e]+$/.test(name) ? name.trim() : 'application data');
  }
  if (code >= 0xc0 && code <= 0xcf) {
    return entry(`SOF${code - 0xc0}`, 'frame', 'frame header: size, sampling');
  }
  return entry(`FF ${code.toString(16).toUpperCase().padStart(2, '0')}`, 'other', 'other');
}
