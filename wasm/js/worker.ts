/** A worker of an `IsopelWorker`: does one request after another. */

import { IsopelError, toPlainError } from './error.js';
import { Isopel } from './isopel.js';
import type { FromWorker, Port, Request, Result, ToWorker } from './protocol.js';
import type { DecodedImage, InitOptions } from './types.js';
// Not loaded on demand: not every bundler can split a worker's code. Its WebAssembly file is.
import * as webgpuBindings from './webgpu/isopel.js';

let initOptions: InitOptions = {};
let loading: Promise<Isopel> | undefined;

// In a browser the first message may come as soon as this script has run.
if (typeof self !== 'undefined' && 'postMessage' in self) {
  serve(pagePort(self as unknown as Worker));
} else {
  void nodePort().then(serve);
}

function serve(port: Port): void {
  port.listen((message) => {
    const request = message as ToWorker;
    if ('start' in request) {
      initOptions = request.start;
      return;
    }
    void answer(request).then((reply) => {
      port.post(reply, 'result' in reply && isImage(reply.result) ? [reply.result.data.buffer] : []);
    });
  });
}

async function answer(request: Request): Promise<FromWorker> {
  try {
    return { result: await perform(request) };
  } catch (error) {
    const reason = error instanceof IsopelError ? error : new IsopelError({ kind: 'internal', message: String(error) });
    return { error: toPlainError(reason) };
  }
}

async function perform(request: Request): Promise<Result> {
  const isopel = await load();
  switch (request.task) {
    case 'decode':
      return isopel.decode(request.input, request.options);
    case 'profile':
      return isopel.profile(request.input, request.options);
    case 'probe':
      return isopel.probe(request.input, request.options);
    case 'inspect':
      return isopel.inspect(request.input, request.options);
  }
}

function isImage(result: Result): result is DecodedImage {
  return (result as Partial<DecodedImage> | undefined)?.data instanceof Uint8Array;
}

/** Once; after a failure the next request tries again. */
async function load(): Promise<Isopel> {
  loading ??= Isopel.load(initOptions, () => Promise.resolve(webgpuBindings));
  try {
    return await loading;
  } catch (error) {
    loading = undefined;
    throw error;
  }
}

function pagePort(scope: Worker): Port {
  return {
    listen: (handler) => scope.addEventListener('message', (event) => handler(event.data)),
    post: (message, transfer) => scope.postMessage(message, transfer),
  };
}

/** Node's workers have their channel in a module, which is named indirectly so that bundlers don't look for it. */
async function nodePort(): Promise<Port> {
  const name = 'node:worker_threads';
  const { parentPort } = (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as {
    parentPort: {
      on(event: 'message', handler: (message: unknown) => void): void;
      postMessage(message: unknown, transfer: ArrayBuffer[]): void;
    };
  };
  return {
    listen: (handler) => parentPort.on('message', handler),
    post: (message, transfer) => parentPort.postMessage(message, transfer),
  };
}
