import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { defineConfig } from 'vite';
import type { Plugin } from 'vite';

const here = import.meta.dirname;

export default defineConfig({
  base: './',
  // Finds its WebAssembly file beside its own script, which bundling ahead would move.
  optimizeDeps: { exclude: ['@jsquash/jpeg'] },
  plugins: [samples(), offline(), contentSecurityPolicy()],
  build: {
    target: 'es2022',
    rolldownOptions: { input: { index: resolve(here, 'index.html'), bench: resolve(here, 'bench.html') } },
  },
});

/** Serves the repository's sample pictures, and puts them beside the built page. */
function samples(): Plugin {
  const names = ['photo', 'portrait-exif6', 'progressive', 'gray', 'restart', 'truncated', 'cmyk'];
  const file = (name: string): Buffer => readFileSync(resolve(here, `../samples/${name}.jpg`));
  return {
    name: 'samples',
    configureServer(server) {
      server.middlewares.use('/samples', (request, response, next) => {
        const name = names.find((known) => request.url === `/${known}.jpg`);
        if (name === undefined) {
          next();
        } else {
          response.setHeader('content-type', 'image/jpeg').end(file(name));
        }
      });
    },
    generateBundle() {
      for (const name of names) {
        this.emitFile({ type: 'asset', fileName: `samples/${name}.jpg`, source: file(name) });
      }
    },
  };
}

/** Writes the service worker's list of files, so that the page works without a network once it was loaded. */
function offline(): Plugin {
  return {
    name: 'offline',
    apply: 'build',
    enforce: 'post',
    generateBundle(_, bundle) {
      // The benchmark and the decoder that only it uses are left out.
      const files = ['./', ...Object.keys(bundle).filter((name) => !/bench|mozjpeg/.test(name))];
      const script = readFileSync(resolve(here, 'src/service-worker.js'), 'utf8');
      const version = String(Date.now());
      const source = script.replace('FILES', JSON.stringify(files)).replace('VERSION', JSON.stringify(version));
      this.emitFile({ type: 'asset', fileName: 'service-worker.js', source });
    },
  };
}

/** The browser itself keeps the built page from sending anything anywhere. */
function contentSecurityPolicy(): Plugin {
  const policy = [
    "default-src 'self'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "worker-src 'self' blob:",
    "img-src 'self' blob: data:",
    "connect-src 'self'",
    "form-action 'none'",
  ].join('; ');
  return {
    name: 'content-security-policy',
    apply: 'build',
    transformIndexHtml: () => [
      { tag: 'meta', attrs: { 'http-equiv': 'Content-Security-Policy', content: policy }, injectTo: 'head-prepend' },
    ],
  };
}
