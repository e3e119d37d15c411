/** One worker thread, in browsers and in Node. */

export interface Thread {
  post(message: unknown, transfer: ArrayBuffer[]): void;
  end(): void;
}

export interface ThreadEvents {
  message(message: unknown): void;
  failure(message: string): void;
}

export async function startThread(events: ThreadEvents): Promise<Thread> {
  if (typeof Worker !== 'undefined') {
    // Written out, because bundlers look for exactly this form.
    const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    worker.addEventListener('message', (event) => events.message(event.data));
    worker.addEventListener('error', (event) => {
      events.failure(event.message || 'the worker script could not be loaded');
    });
    return { post: (message, transfer) => worker.postMessage(message, transfer), end: () => worker.terminate() };
  }
  const name = 'node:worker_threads';
  const threads = (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as {
    Worker: new (url: URL) => NodeWorker;
  };
  const script = './worker.js';
  const worker = new threads.Worker(new URL(script, import.meta.url));
  worker.on('message', events.message);
  worker.on('error', (error) => events.failure(String(error)));
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    end: () => void worker.terminate(),
  };
}

interface NodeWorker {
  on(event: 'message' | 'error', handler: (value: unknown) => void): void;
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  terminate(): Promise<number>;
}
