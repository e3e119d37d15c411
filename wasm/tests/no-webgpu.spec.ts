/** The package in a browser that gives no WebGPU adapter. */

import { expect, test } from '@playwright/test';
import { PACKAGE } from './pages.js';

test('auto falls back and says so; webgpu by name is an error', async ({ page }) => {
  await page.goto('/');
  const result = await page.evaluate(async (url) => {
    const { init } = (await import(url)) as typeof import('../dist/index.js');
    const isopel = await init();
    const file = await (await fetch('/samples/gray.jpg')).blob();
    const [first] = await isopel.decodeBatch(Array.from({ length: 8 }, () => file));
    const named = await isopel.decode(file, { backend: 'webgpu' }).catch((error: unknown) => error);
    return {
      first: first?.status === 'fulfilled' && [first.value.route, first.value.fallback],
      named: (named as { kind: string }).kind,
    };
  }, PACKAGE);
  expect(result.first).toEqual(['wasm', expect.stringMatching(/adapter|WebGPU/)]);
  expect(result.named).toBe('webgpu-unavailable');
});
