/** How far two pictures are apart, and where. */

export interface Difference {
  max: number;
  mean: number;
  /** Pixels that differ at all, and all pixels. */
  differing: number;
  pixels: number;
  /** The largest difference of a pixel's colours, pixel by pixel. */
  map: Uint8Array;
}

/** Compares RGBA pixels of the same size. */
export function compare(first: Uint8ClampedArray, second: Uint8ClampedArray): Difference {
  const pixels = first.length / 4;
  const map = new Uint8Array(pixels);
  let [max, sum, differing] = [0, 0, 0];
  for (let pixel = 0; pixel < pixels; pixel++) {
    let largest = 0;
    for (let byte = 4 * pixel; byte < 4 * pixel + 3; byte++) {
      const apart = Math.abs((first[byte] ?? 0) - (second[byte] ?? 0));
      largest = Math.max(largest, apart);
      sum += apart;
    }
    map[pixel] = largest;
    max = Math.max(max, largest);
    differing += largest > 0 ? 1 : 0;
  }
  return { max, mean: sum / (3 * pixels), differing, pixels, map };
}

/** Colours for the differences: black for none, then blue, red, yellow, white. */
export function heatMap({ map }: Difference, amplification: number): Uint8ClampedArray<ArrayBuffer> {
  const colors = Array.from({ length: 256 }, (_, apart) => heat(Math.min(1, (apart * amplification) / 255)));
  const pixels = new Uint8ClampedArray(4 * map.length);
  map.forEach((apart, pixel) => pixels.set(colors[apart] ?? [], 4 * pixel));
  return pixels;
}

const STOPS = [
  [12, 14, 20],
  [38, 70, 190],
  [214, 48, 66],
  [250, 200, 60],
  [255, 255, 255],
];

function heat(share: number): number[] {
  const place = share * (STOPS.length - 1);
  const index = Math.min(Math.floor(place), STOPS.length - 2);
  const [from = [], to = []] = [STOPS[index], STOPS[index + 1]];
  return [...from.map((value, channel) => value + ((to[channel] ?? 0) - value) * (place - index)), 255];
}
