/** What the browser tests run inside a page. */

import type { Page } from '@playwright/test';
import type { Backend, EntropyPlace, Route } from '../dist/index.js';
import type { Golden } from './corpus.js';

/** Where the tests' server has the package. */
export const PACKAGE = '/wasm/dist/index.js';

/** Pictures with another hash or an impossible route, and how many took each route. */
export interface Findings {
  wrong: string[];
  routes: Partial<Record<Route, number>>;
}

/** Decodes pictures in the page, and looks at their pixels and routes. */
export async function decodeAll(
  page: Page,
  pictures: Golden[],
  backend: Backend,
  entropy: EntropyPlace = 'auto',
): Promise<Findings> {
  return page.evaluate(
    async ({ pictures, backend, entropy, url }) => {
      const { init } = (await import(url)) as typeof import('../dist/index.js');
      const isopel = await init({ backend, entropy });
      const findings: Findings = { wrong: [], routes: {} };
      for (const { path, options, sha256 } of pictures) {
        const name = `${path} ${JSON.stringify(options)}`;
        try {
          const image = await isopel.decode(await fetch(`/${path}`), options);
          const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', image.data));
          const hash = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
          // The GPU has no part in making smaller pictures.
          const onGpu = backend === 'webgpu' && (options.scale ?? 1) === 1;
          const possible = !onGpu ? ['wasm'] : entropy === 'gpu' ? ['webgpu', 'webgpu-whole'] : ['webgpu'];
          if (hash !== sha256 || !possible.includes(image.route)) {
            findings.wrong.push(`${name}: ${hash} by ${image.route}`);
          }
          findings.routes[image.route] = (findings.routes[image.route] ?? 0) + 1;
        } catch (error) {
          if (sha256 !== undefined) {
            findings.wrong.push(`${name}: ${String(error)}`);
          }
        }
      }
      return findings;
    },
    { pictures, backend, entropy, url: PACKAGE },
  );
}
