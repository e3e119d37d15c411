/** The decoder on threads of its own. */

import { IsopelError } from './error.js';
import { toBytes } from './input.js';
import { putPixels, settled } from './isopel.js';
import type { FromWorker, Payload, Request, Result } from './protocol.js';
import type {
  BatchOptions,
  BatchResult,
  DecodedImage,
  DecodedImageData,
  DecodeOptions,
  DrawOptions,
  GpuTimes,
  Header,
  InitOptions,
  Input,
  Limits,
  Report,
  Scans,
} from './types.js';
import { startThread } from './worker-thread.js';
import type { Thread } from './worker-thread.js';

export interface WorkerOptions extends InitOptions {
  /** Images decoded at the same time. Default: as many as there are cores, 4 at most. */
  threads?: number | undefined;
}

/** What every call takes besides its own options. */
interface Transfer {
  /** Give the input's buffer away instead of copying it: afterwards it is empty. */
  transfer?: boolean | undefined;
}

interface Job {
  request: Request;
  transfer: ArrayBuffer[];
  resolve(result: Result): void;
  reject(reason: unknown): void;
}

interface PoolWorker {
  thread: Thread | undefined;
  job: Job | undefined;
}

/** The same calls as `Isopel` has; the page's thread stays free. Threads start with the first call. */
export class IsopelWorker {
  readonly #start: InitOptions;
  readonly #threads: number;
  readonly #workers = new Set<PoolWorker>();
  readonly #queue: Job[] = [];
  #ended = false;

  constructor({ threads, ...start }: WorkerOptions = {}) {
    const cores = globalThis.navigator?.hardwareConcurrency ?? 4;
    this.#threads = Math.max(1, threads ?? Math.min(cores, 4));
    this.#start = start;
  }

  async probe(input: Input, options: { limits?: Limits } & Transfer = {}): Promise<Header> {
    return (await this.#ask('probe', input, options)) as Header;
  }

  async inspect(input: Input, options: { limits?: Limits } & Transfer = {}): Promise<Header & Scans> {
    return (await this.#ask('inspect', input, options)) as Header & Scans;
  }

  async decode(input: Input, options: DecodeOptions & Transfer = {}): Promise<DecodedImage> {
    return (await this.#ask('decode', input, options)) as DecodedImage;
  }

  async decodeToImageData(input: Input, options: DrawOptions & Transfer = {}): Promise<DecodedImageData> {
    const { data, ...report } = await this.decode(input, { ...options, format: 'rgba8' });
    const imageData = new ImageData(new Uint8ClampedArray(data.buffer), report.width, report.height);
    return { ...report, imageData };
  }

  /** Decodes on a thread, draws here: the canvas has a `2d` context from then on, and the picture's size. */
  async decodeToCanvas(
    input: Input,
    canvas: HTMLCanvasElement | OffscreenCanvas,
    options: DrawOptions & Transfer = {},
  ): Promise<Report> {
    const { data, ...report } = await this.decode(input, { ...options, format: 'rgba8' });
    putPixels(data, report, canvas);
    return report;
  }

  /** Decodes many images on all threads. One that fails costs no other; results are in the order of the inputs. */
  async decodeBatch(inputs: Iterable<Input>, options: BatchOptions & Transfer = {}): Promise<BatchResult[]> {
    const { onResult, ...each } = options;
    const work = [...inputs].map(async (input, index) => {
      const result = await settled(this.decode(input, each));
      onResult?.(result, index);
      return result;
    });
    return Promise.all(work);
  }

  /** As `Isopel.profile`. */
  async profile(input: Input, options: DecodeOptions & Transfer = {}): Promise<GpuTimes | undefined> {
    return (await this.#ask('profile', input, options)) as GpuTimes | undefined;
  }

  /** Ends all threads. Calls that are not done are rejected, and so are later ones. */
  free(): void {
    this.#ended = true;
    const ended = endedError();
    this.#workers.forEach(({ thread, job }) => {
      thread?.end();
      job?.reject(ended);
    });
    this.#queue.splice(0).forEach((job) => job.reject(ended));
    this.#workers.clear();
  }

  async #ask(
    task: Request['task'],
    input: Input,
    { signal, transfer, ...options }: DecodeOptions & Transfer,
  ): Promise<Result> {
    signal?.throwIfAborted();
    const { payload, buffers } = await toPayload(input, transfer === true);
    signal?.throwIfAborted();
    if (this.#ended) {
      throw endedError();
    }
    return new Promise<Result>((resolve, reject) => {
      const onAbort = (): void => {
        this.#drop(job);
        reject(signal?.reason);
      };
      const done = (): void => signal?.removeEventListener('abort', onAbort);
      const job: Job = {
        request: { task, input: payload, options } as Request,
        transfer: buffers,
        resolve: (result) => {
          done();
          resolve(result);
        },
        reject: (reason) => {
          done();
          reject(reason);
        },
      };
      signal?.addEventListener('abort', onAbort);
      this.#queue.push(job);
      this.#dispatch();
    });
  }

  /** Takes a job back. A thread that works on it can't be interrupted, only ended. */
  #drop(job: Job): void {
    const place = this.#queue.indexOf(job);
    if (place >= 0) {
      this.#queue.splice(place, 1);
      return;
    }
    const worker = [...this.#workers].find((candidate) => candidate.job === job);
    if (worker !== undefined) {
      this.#workers.delete(worker);
      worker.thread?.end();
      this.#dispatch();
    }
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const idle = [...this.#workers].find((worker) => worker.job === undefined);
      if (idle === undefined && this.#workers.size >= this.#threads) {
        return;
      }
      const worker = idle ?? { thread: undefined, job: undefined };
      this.#workers.add(worker);
      worker.job = this.#queue.shift();
      void this.#give(worker);
    }
  }

  async #give(worker: PoolWorker): Promise<void> {
    const job = worker.job;
    try {
      if (worker.thread === undefined) {
        const thread = await startThread({
          message: (message) => this.#hear(worker, message as FromWorker),
          failure: (message) => this.#bury(worker, message),
        });
        if (!this.#workers.has(worker)) {
          thread.end();
          return;
        }
        worker.thread = thread;
        thread.post({ start: this.#start }, []);
      }
      if (job !== undefined) {
        worker.thread.post(job.request, job.transfer);
      }
    } catch (error) {
      this.#bury(worker, String(error));
    }
  }

  #hear(worker: PoolWorker, message: FromWorker): void {
    const job = worker.job;
    worker.job = undefined;
    if ('error' in message) {
      job?.reject(new IsopelError(message.error));
    } else {
      job?.resolve(message.result);
    }
    this.#dispatch();
  }

  /** A thread that died takes its job with it; the next job gets a new thread. */
  #bury(worker: PoolWorker, message: string): void {
    this.#workers.delete(worker);
    worker.thread?.end();
    worker.job?.reject(new IsopelError({ kind: 'internal', message: `a worker failed: ${message}` }));
    this.#dispatch();
  }
}

function endedError(): IsopelError {
  return new IsopelError({ kind: 'bad-input', message: 'this IsopelWorker was freed; make a new one' });
}

/** What is posted, and the buffers that go with it. */
async function toPayload(input: Input, transfer: boolean): Promise<{ payload: Payload; buffers: ArrayBuffer[] }> {
  if (typeof Blob !== 'undefined' && input instanceof Blob) {
    return { payload: input, buffers: [] };
  }
  const bytes = await toBytes(input);
  const isOurs = typeof Response !== 'undefined' && input instanceof Response;
  if (isOurs || transfer) {
    return { payload: bytes, buffers: bytes.buffer instanceof ArrayBuffer ? [bytes.buffer] : [] };
  }
  // Only the bytes, and not what lies around them in their buffer.
  return { payload: bytes.slice(), buffers: [] };
}
