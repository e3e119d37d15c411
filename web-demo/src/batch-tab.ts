/** Many pictures: a progress bar, images per second, a result for each. */

import { IsopelWorker } from 'isopel';
import type { BatchResult } from 'isopel';
import { DECODERS, ISOPEL_OPTIONS } from './decoders.js';
import type { IsopelName, NamedFile } from './decoders.js';
import { block, button, element, input, make, select } from './dom.js';
import { errorInWords } from './words.js';

/** Pixels of a thumbnail's longer side. */
const THUMBNAIL = 72;

export class BatchTab {
  #stop: AbortController | undefined;

  constructor(webgpu: boolean, samples: () => Promise<NamedFile[]>) {
    const names: IsopelName[] = webgpu ? ['wasm', 'webgpu', 'webgpu-entropy'] : ['wasm'];
    select('batch-backend').append(...names.map((name) => new Option(DECODERS[name], name)));
    input('batch-files').addEventListener('change', () => {
      const files = [...(input('batch-files').files ?? [])];
      void this.run(files.map((file) => ({ name: file.name, file })));
    });
    button('batch-samples').addEventListener('click', () => {
      void samples().then((files) => this.run(Array.from({ length: 5 }, () => files).flat()));
    });
    button('batch-stop').addEventListener('click', () => this.#stop?.abort());
  }

  async run(files: NamedFile[]): Promise<void> {
    this.#stop?.abort();
    const stop = new AbortController();
    this.#stop = stop;
    const progress = element('batch-progress', HTMLProgressElement);
    progress.max = files.length;
    progress.value = 0;
    button('batch-stop').disabled = false;
    const rows = files.map(({ name }) =>
      make('li', [make('span', name, 'result-name'), make('span', 'waiting', 'result')]),
    );
    block('batch-results').replaceChildren(...rows);

    const worker = new IsopelWorker();
    const options = ISOPEL_OPTIONS[select('batch-backend').value as IsopelName];
    const start = performance.now();
    let [done, failed, pixels] = [0, 0, 0];
    const summarize = (state: string): void => {
      const seconds = (performance.now() - start) / 1000;
      const speed = `${(done / seconds).toFixed(1)} images/s, ${(pixels / seconds / 1e6).toFixed(0)} megapixels/s`;
      const bad = failed === 0 ? 'all good' : `${failed} could not be decoded`;
      block('batch-summary').textContent = `${state}: ${done} of ${files.length}, ${bad}. ${speed}.`;
    };
    try {
      await worker.decodeBatch(
        files.map(({ file }) => file),
        {
          ...options,
          signal: stop.signal,
          onResult: (result, index) => {
            done += 1;
            progress.value = done;
            if (result.status === 'fulfilled') {
              pixels += result.value.width * result.value.height;
            } else {
              failed += 1;
            }
            const row = rows[index];
            if (row !== undefined) {
              showResult(row, result);
            }
            summarize('Decoding');
          },
        },
      );
      summarize('Done');
    } catch (error) {
      summarize(stop.signal.aborted ? 'Stopped' : errorInWords(error));
    } finally {
      worker.free();
      if (this.#stop === stop) {
        button('batch-stop').disabled = true;
      }
    }
  }
}

function showResult(row: HTMLLIElement, result: BatchResult): void {
  const text = row.querySelector('.result');
  if (text === null) {
    return;
  }
  if (result.status === 'rejected') {
    row.className = 'bad';
    text.textContent = errorInWords(result.reason);
    return;
  }
  const { width, height, warnings, data, route } = result.value;
  const damage = warnings.filter((warning) => warning.damage).length;
  row.className = damage > 0 ? 'damaged' : 'good';
  text.textContent = `${width} × ${height}, ${route}${damage > 0 ? ', damaged: the rest is shown' : ''}`;
  row.prepend(thumbnail(new Uint8ClampedArray(data.buffer), width, height));
}

/** A small copy, every so many pixels. */
function thumbnail(pixels: Uint8ClampedArray, width: number, height: number): HTMLCanvasElement {
  const step = Math.max(1, Math.max(width, height) / THUMBNAIL);
  const canvas = make('canvas');
  canvas.width = Math.max(1, Math.floor(width / step));
  canvas.height = Math.max(1, Math.floor(height / step));
  const small = new ImageData(canvas.width, canvas.height);
  for (let y = 0; y < canvas.height; y++) {
    for (let x = 0; x < canvas.width; x++) {
      const from = 4 * (Math.floor(y * step) * width + Math.floor(x * step));
      small.data.set(pixels.subarray(from, from + 4), 4 * (y * canvas.width + x));
    }
  }
  canvas.getContext('2d')?.putImageData(small, 0, 0);
  return canvas;
}
