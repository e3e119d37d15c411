/** What the browser tests run inside a page. */

import type { Page } from '@playwright/test';
import type { Backend } from '../dist/index.js';
import type { Golden } from './corpus.js';

/** Where the tests' server has the package. */
export const PACKAGE = '/wasm/dist/index.js';

/** Decodes pictures in the page and gives those whose pixels have another hash. */
export async function wrongPictures(page: Page, pictures: Golden[], backend: Backend): Promise<string[]> {
  return page.evaluate(
    async ({ pictures, backend, url }) => {
      const { init } = (await import(url)) as typeof import('../dist/index.js');
      const isopel = await init({ backend });
      const wrong: string[] = [];
      for (const { path, options, sha256 } of pictures) {
        const name = `${path} ${JSON.stringify(options)}`;
        try {
          const image = await isopel.decode(await fetch(`/${path}`), options);
          const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', image.data));
          const hash = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
          // The GPU has no part in making smaller pictures.
          const route = (options.scale ?? 1) === 1 ? backend : 'wasm';
          if (hash !== sha256 || image.route !== route) {
            wrong.push(`${name}: ${hash} by ${image.route}`);
          }
        } catch (error) {
          wrong.push(`${name}: ${String(error)}`);
        }
      }
      return wrong;
    },
    { pictures, backend, url: PACKAGE },
  );
}
