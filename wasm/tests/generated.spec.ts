/**
 * Random valid files in a browser: WebAssembly and WebGPU have to give the pixels of the CPU backend outside of it.
 *
 *     ISOPEL_GENERATED=10000 npx playwright test generated
 *
 * checks so many files instead of the first few; `ISOPEL_GENERATED_SEED` names another seed.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import type { Backend, EntropyPlace, PixelOptions, Route } from '../dist/index.js';
import { type Golden, root } from './corpus.js';
import { decodeAll, PACKAGE } from './pages.js';

const COUNT = Number(process.env['ISOPEL_GENERATED'] ?? 150);
const SEED = process.env['ISOPEL_GENERATED_SEED'] ?? '1';

/** Where the files are, under the root that the tests' server serves. */
const FOLDER = 'target/golden';

/** Decodes that a page is asked for at once. */
const AT_ONCE = 500;

test.describe.configure({ mode: 'serial' });

let pictures: Golden[] = [];

test.beforeAll(() => {
  test.setTimeout(300_000 + COUNT * 50);
  const command = ['run', '--quiet', '-p', 'isopel-conformance', '--', 'golden', FOLDER];
  execFileSync('cargo', [...command, '--count', String(COUNT), '--seed', SEED], { cwd: root, stdio: 'inherit' });
  pictures = readFileSync(join(root, FOLDER, 'golden.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { file: string; options: PixelOptions; sha256?: string })
    .map(({ file, ...rest }) => ({ path: `${FOLDER}/${file}`, ...rest }));
});

test.beforeEach(({ page }) => page.goto('/'));

const ways: [string, Backend, EntropyPlace][] = [
  ['in WebAssembly', 'wasm', 'auto'],
  ['with entropy decoding on the CPU', 'webgpu', 'cpu'],
  ['with entropy decoding on the GPU', 'webgpu', 'gpu'],
];
for (const [name, backend, entropy] of ways) {
  test(`random files are the same ${name}`, async ({ page }) => {
    test.setTimeout(60_000 + COUNT * 1_000);
    expect(pictures.length).toBeGreaterThanOrEqual(COUNT * 3);
    const routes: Partial<Record<Route, number>> = {};
    for (let start = 0; start < pictures.length; start += AT_ONCE) {
      const found = await decodeAll(page, pictures.slice(start, start + AT_ONCE), backend, entropy);
      expect(found.wrong).toEqual([]);
      for (const [route, count] of Object.entries(found.routes) as [Route, number][]) {
        routes[route] = (routes[route] ?? 0) + count;
      }
    }
    console.log(`${COUNT} files of seed ${SEED} ${name}: ${JSON.stringify(routes)}`);
    if (entropy === 'gpu') {
      expect(routes['webgpu-whole']).toBeGreaterThan(pictures.length / 3);
    }
  });
}

test('random files are the same in batches', async ({ page }) => {
  test.setTimeout(60_000 + COUNT * 1_000);
  // The first request of each file is the default one.
  const whole = pictures.filter(({ path }, at) => path !== pictures[at - 1]?.path);
  expect(whole.length).toBe(COUNT);
  for (let start = 0; start < whole.length; start += AT_ONCE) {
    expect(await decodeBatches(page, whole.slice(start, start + AT_ONCE))).toEqual([]);
  }
});

/** Decodes pictures that the same is asked of in mixed batches on the GPU, and names those that are wrong. */
async function decodeBatches(page: Page, pictures: Golden[]): Promise<string[]> {
  return page.evaluate(
    async ({ pictures, url }) => {
      const { init } = (await import(url)) as typeof import('../dist/index.js');
      const isopel = await init({ backend: 'webgpu', entropy: 'gpu' });
      const wrong: string[] = [];
      const files = await Promise.all(pictures.map(async ({ path }) => (await fetch(`/${path}`)).blob()));
      const results = await isopel.decodeBatch(files, pictures[0]?.options);
      for (const [at, result] of results.entries()) {
        const { path, sha256 } = pictures[at] as Golden;
        let found = 'refused';
        if (result.status === 'fulfilled') {
          const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', result.value.data));
          found = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
        }
        if (found !== (sha256 ?? 'refused')) {
          wrong.push(`${path}: ${found}`);
        }
      }
      return wrong;
    },
    { pictures, url: PACKAGE },
  );
}
