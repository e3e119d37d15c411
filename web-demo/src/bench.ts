/** The benchmark page: the same pictures through several decoders, in turns. */

import decodeByJsquash, { init as initJsquash } from '@jsquash/jpeg/decode.js';
import init from 'isopel';
import type { Rect } from 'isopel';
import jpegJs from 'jpeg-js';
import { block, button, input, make } from './dom.js';

interface Task {
  name: string;
  file: Blob;
  bytes: Uint8Array<ArrayBuffer>;
  width: number;
  height: number;
  region: Rect | undefined;
}

type Contestant = (task: Task) => Promise<{ data: { length: number } }>;

const isopel = await init({ backend: 'wasm' });

const CONTESTANTS: Record<string, Contestant> = {
  'isopel (WebAssembly)': ({ bytes, region }) => isopel.decode(bytes, { region }),
  '@jsquash/jpeg': async ({ bytes, region }) => cropped(await decodeByJsquash(bytes.buffer), region),
  'createImageBitmap + getImageData': decodeByBrowser,
  'jpeg-js': async ({ bytes, region }) =>
    cropped(jpegJs.decode(bytes, { useTArray: true, maxMemoryUsageInMB: 2048 }), region),
};

button('run').addEventListener('click', () => void run());

async function run(): Promise<void> {
  button('run').disabled = true;
  block('status').textContent = 'Making the pictures…';
  await initJsquash();
  const tasks = [await picture('1080p', 1920, 1080), await picture('12 megapixels', 4000, 3000)];
  const large = tasks[1] as Task;
  tasks.push({ ...large, name: '256 × 256 of 12 megapixels', region: { x: 1872, y: 1372, width: 256, height: 256 } });
  const rounds = Math.max(1, input('rounds').valueAsNumber || 1);
  const times = new Map<string, number[]>();
  for (let round = 0; round < rounds; round++) {
    for (const task of tasks) {
      for (const [name, decode] of Object.entries(CONTESTANTS)) {
        block('status').textContent = `Round ${round + 1} of ${rounds}: ${task.name}, ${name}`;
        await nextFrame();
        const start = performance.now();
        const { data } = await decode(task);
        const time = performance.now() - start;
        const { width, height } = task.region ?? task;
        if (data.length !== 4 * width * height) {
          throw new Error(`${name} gave ${data.length} bytes for ${task.name}`);
        }
        const key = `${name}\n${task.name}`;
        times.set(key, [...(times.get(key) ?? []), time]);
      }
    }
    show(tasks, times);
  }
  block('status').textContent = `Done: ${rounds} rounds, ${navigator.hardwareConcurrency} cores.`;
  button('run').disabled = false;
}

function show(tasks: Task[], times: Map<string, number[]>): void {
  block('results').hidden = false;
  block('columns').replaceChildren(make('tr', [make('th', ''), ...tasks.map(({ name }) => make('th', name))]));
  const rows = Object.keys(CONTESTANTS).map((name) => {
    const cells = tasks.map((task) => {
      const sorted = (times.get(`${name}\n${task.name}`) ?? []).toSorted((a, b) => a - b);
      const median = sorted[sorted.length >> 1] ?? NaN;
      return make('td', `${rounded(median)} (${rounded(sorted[0] ?? NaN)})`);
    });
    return make('tr', [make('th', name), ...cells]);
  });
  block('rows').replaceChildren(...rows);
}

const rounded = (time: number): string => time.toFixed(time < 20 ? 1 : 0);

/** The sample photo, mirrored at its edges until it fills this size. */
async function picture(name: string, width: number, height: number): Promise<Task> {
  const photo = await createImageBitmap(await (await fetch('samples/photo.jpg')).blob());
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d') as OffscreenCanvasRenderingContext2D;
  for (let row = 0; row * photo.height < height; row++) {
    for (let column = 0; column * photo.width < width; column++) {
      const mirror = (index: number, length: number): [number, number] =>
        index % 2 === 0 ? [1, index * length] : [-1, (index + 1) * length];
      const [[scaleX, x], [scaleY, y]] = [mirror(column, photo.width), mirror(row, photo.height)];
      context.setTransform(scaleX, 0, 0, scaleY, x, y);
      context.drawImage(photo, 0, 0);
    }
  }
  const file = await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.9 });
  const bytes = new Uint8Array(await file.arrayBuffer());
  const { components } = await isopel.probe(bytes);
  const sampling = components.map(({ horizontal, vertical }) => `${horizontal}x${vertical}`).join(', ');
  if (sampling !== '2x2, 1x1, 1x1') {
    throw new Error(`this browser's encoder samples ${sampling}; the comparison is about 4:2:0`);
  }
  return { name, file, bytes, width, height, region: undefined };
}

async function decodeByBrowser({ file, width, height, region }: Task): Promise<ImageData> {
  const { x, y, ...size } = region ?? { x: 0, y: 0, width, height };
  const bitmap = await createImageBitmap(file, x, y, size.width, size.height);
  const context = new OffscreenCanvas(size.width, size.height).getContext('2d', { willReadFrequently: true });
  context?.drawImage(bitmap, 0, 0);
  bitmap.close();
  return context?.getImageData(0, 0, size.width, size.height) as ImageData;
}

/** The rows of a region, for decoders that give whole pictures only. */
function cropped(
  image: { data: ArrayLike<number> & { subarray(start: number, end: number): ArrayLike<number> }; width: number },
  region: Rect | undefined,
): { data: { length: number } } {
  if (region === undefined) {
    return image;
  }
  const data = new Uint8ClampedArray(4 * region.width * region.height);
  for (let row = 0; row < region.height; row++) {
    const start = 4 * ((region.y + row) * image.width + region.x);
    data.set(image.data.subarray(start, start + 4 * region.width), 4 * row * region.width);
  }
  return { data };
}

function nextFrame(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
