/** The demo's main paths, by clicking, by keyboard and by dropping files. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from '@playwright/test';
import type { Page } from '@playwright/test';

const sampleFile = (name: string): string => resolve(import.meta.dirname, '../../samples', name);

async function openSample(page: Page, label: string, name: string): Promise<void> {
  await page.getByRole('button', { name: label, exact: true }).click();
  await expect(page.locator('#name')).toHaveText(name);
  await expect(page.locator('#loaded')).toHaveAttribute('aria-busy', 'false');
}

test.beforeEach(async ({ page }) => {
  await page.goto('/');
  await expect(page.locator('#loaded')).toHaveAttribute('aria-busy', 'false');
});

test('a sample shows what is in the file, and the browser’s pixels beside isopel’s', async ({ page }) => {
  await openSample(page, 'Photo', 'photo.jpg');
  await expect(page.locator('#verdict')).toHaveText('identical, every byte');
  await expect(page.locator('#facts')).toContainText('1920 × 1280 pixels');
  await expect(page.locator('#facts')).toContainText('4:2:0');
  await expect(page.locator('#markers tr')).toHaveCount(11);
  await expect(page.locator('#markers')).toContainText('SOF0');
  await expect(page.locator('#warnings')).toContainText('None');
  await expect(page.locator('#stages')).toContainText('entropy');
  await expect(page.locator('#code')).toContainText("backend: 'wasm'");
});

test('a picture turned by EXIF is upright, or as stored', async ({ page }) => {
  await openSample(page, 'Turned by EXIF', 'portrait-exif6.jpg');
  await expect(page.locator('#facts')).toContainText('6: turned right by a quarter');
  const size = () =>
    page.locator('#first-canvas').evaluate((canvas: HTMLCanvasElement) => [canvas.width, canvas.height]);
  expect(await size()).toEqual([900, 1200]);
  await page.getByLabel('Orientation').selectOption('ignore');
  await expect.poll(size).toEqual([1200, 900]);
  await expect(page.locator('#second-error')).toContainText('Browsers always turn pictures');
  await page.getByLabel('Compared with').selectOption('webgpu');
  await expect(page.locator('#verdict')).toHaveText('identical, every byte');
  await expect(page.locator('#code')).toContainText("orientation: 'ignore'");
});

test('a picture is decoded at a fraction of its size, and so are its regions', async ({ page }) => {
  await openSample(page, 'Photo', 'photo.jpg');
  const size = () =>
    page.locator('#first-canvas').evaluate((canvas: HTMLCanvasElement) => [canvas.width, canvas.height]);
  await page.getByLabel('Decode at').selectOption('0.125');
  await expect.poll(size).toEqual([240, 160]);
  await expect(page.locator('#code')).toContainText('scale: 0.125');
  // The browser shrinks the picture instead, to the same size.
  await expect(page.locator('#verdict')).toHaveText(/^up to \d+ levels? apart$/);
  await page.getByLabel('Compared with').selectOption('webgpu');
  await expect(page.locator('#verdict')).toHaveText('identical, every byte');
  await page.locator('#stage').focus();
  await page.keyboard.press('ArrowRight');
  await expect(page.locator('#region-verdict')).toHaveText('Every byte equals the same part of the whole picture.');
  await expect(page.locator('#code')).toContainText('region: { x: 68, y: 40, width: 120, height: 80 }');
  await openSample(page, 'Gray', 'gray.jpg');
  await expect.poll(size).toEqual([640, 480]);
  await expect(page.locator('#code')).not.toContainText('scale');
});

test('a region is drawn with the pointer and decoded alone', async ({ page }) => {
  await openSample(page, 'Photo', 'photo.jpg');
  const box = await page.locator('#stage').boundingBox();
  if (box === null) {
    throw new Error('the picture is not shown');
  }
  await page.mouse.move(box.x + box.width / 4, box.y + box.height / 4);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.up();
  await expect(page.locator('#region-verdict')).toHaveText('Every byte equals the same part of the whole picture.');
  await expect(page.getByLabel('width')).toHaveValue(/^4[78]\d$/);
  await expect(page.locator('#code')).toContainText('region: { x: 480, y: 320,');
  await page.getByLabel('Compared with').selectOption('webgpu');
  await expect(page.locator('#stages')).toContainText('isopel on WebGPU');
  await expect(page.locator('#region-verdict')).toHaveText('Every byte equals the same part of the whole picture.');
  await page.getByRole('button', { name: 'Clear' }).click();
  await expect(page.locator('#region-verdict')).toContainText('No region yet');
});

test('a region is made by keyboard and by numbers', async ({ page }) => {
  await openSample(page, 'Progressive', 'progressive.jpg');
  await page.locator('#stage').focus();
  await page.keyboard.press('ArrowRight');
  await expect(page.getByLabel('x', { exact: true })).toHaveValue('208');
  await page.keyboard.press('Shift+ArrowDown');
  await expect(page.getByLabel('height')).toHaveValue('308');
  await expect(page.locator('#region-verdict')).toContainText('Every byte equals');
  await page.getByLabel('width').fill('5000');
  await page.keyboard.press('Tab');
  await expect(page.getByLabel('width')).toHaveValue('592');
  await page.locator('#stage').focus();
  await page.keyboard.press('Escape');
  await expect(page.getByLabel('width')).toHaveValue('');
});

test('WebGPU gives the bytes of WebAssembly', async ({ page }) => {
  await openSample(page, 'Gray', 'gray.jpg');
  await page.getByLabel('Compared with').selectOption('webgpu');
  await expect(page.locator('#stages')).toContainText('isopel on WebGPU');
  await expect(page.locator('#verdict')).toHaveText('identical, every byte');
});

test('entropy decoding on the GPU gives the same bytes; the page says which way it went, and times the passes', async ({
  page,
}) => {
  await openSample(page, 'Gray', 'gray.jpg');
  await page.getByLabel('Decoded by').selectOption('webgpu');
  await page.getByLabel('Compared with').selectOption('webgpu-entropy');
  await expect(page.locator('#stages')).toContainText('isopel on WebGPU, entropy too');
  await expect(page.locator('#verdict')).toHaveText('identical, every byte');
  await expect(page.locator('#stages')).toContainText('entropy in WebAssembly, the rest on the GPU');
  await expect(page.locator('#stages')).toContainText('all of it on the GPU');
  await expect(page.locator('#passes p')).toHaveCount(2);
  await expect(page.locator('#passes ul').nth(0)).toHaveText(/^dequant_idct [\d.]+ msorient [\d.]+ ms$/);
  await expect(page.locator('#passes ul').nth(1)).toContainText(/synchronise [\d.]+ ms.*join.*scan.*write.*orient/);
  // Progressive files are not for the GPU.
  await openSample(page, 'Progressive', 'progressive.jpg');
  await expect(page.locator('#verdict')).toHaveText('identical, every byte');
  await expect(page.locator('#stages')).not.toContainText('all of it on the GPU');
});

test.describe('on an adapter without timestamp queries', () => {
  test.use({ serviceWorkers: 'block' });

  test('the page says that passes can’t be timed', async ({ page }) => {
    await page.route(/worker-.*\.js$/, async (route) => {
      const response = await route.fetch();
      const without = `GPUSupportedFeatures.prototype.has = () => false;\n`;
      await route.fulfill({ response, body: without + (await response.text()) });
    });
    await page.reload();
    await openSample(page, 'Gray', 'gray.jpg');
    await page.getByLabel('Compared with').selectOption('webgpu');
    await expect(page.locator('#verdict')).toHaveText('identical, every byte');
    await expect(page.locator('#passes')).toContainText('this adapter has no timestamp queries');
  });
});

test('damage is told in plain words', async ({ page }) => {
  await openSample(page, 'Damaged', 'truncated.jpg');
  await expect(page.locator('#warnings')).toContainText('Damage: ');
  await expect(page.locator('#warnings')).toContainText('rows are certain');
  await expect(page.locator('#second-error')).toContainText('This browser’s own decoder refuses the file');
});

test('the heat map shows differences, as strongly as the slider says', async ({ page }) => {
  await openSample(page, 'CMYK', 'cmyk.jpg');
  await expect(page.locator('#verdict')).toHaveText(/^up to \d+ levels? apart$/);
  const brightness = () =>
    page.locator('#heat-canvas').evaluate((canvas: HTMLCanvasElement) => {
      const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
      return data.reduce((sum, value) => sum + value, 0);
    });
  await page.getByLabel('Amplify').fill('0');
  const weak = await brightness();
  await page.getByLabel('Amplify').fill('8');
  expect(await brightness()).toBeGreaterThan(weak);
});

test('what is no JPEG is answered in plain words, and the next file is shown', async ({ page }) => {
  await page
    .locator('#file')
    .setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') });
  await expect(page.getByRole('alert')).toContainText('notes.txt: Not a JPEG file: it does not start with FF D8');
  await page.locator('#file').setInputFiles(sampleFile('gray.jpg'));
  await expect(page.locator('#name')).toHaveText('gray.jpg');
  await expect(page.getByRole('alert')).toBeHidden();
});

test('a file can be dropped anywhere', async ({ page }) => {
  const bytes = [...readFileSync(sampleFile('restart.jpg'))];
  await page.evaluate((bytes) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([new Uint8Array(bytes)], 'dropped.jpg'));
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  }, bytes);
  await expect(page.locator('#name')).toHaveText('dropped.jpg');
  await expect(page.locator('#facts')).toContainText('4:2:2');
});

test('a batch has a result for each picture, and a bad one costs no other', async ({ page }) => {
  await page.getByRole('tab', { name: 'Many pictures' }).click();
  await page.getByRole('button', { name: 'Use the samples' }).click();
  await expect(page.locator('#batch-summary')).toHaveText(/^Done: 35 of 35, all good\. [\d.]+ images\/s/);
  await expect(page.locator('#batch-results canvas')).toHaveCount(35);
  await page.locator('#batch-files').setInputFiles([
    { name: 'gray.jpg', mimeType: 'image/jpeg', buffer: readFileSync(sampleFile('gray.jpg')) },
    { name: 'broken.jpg', mimeType: 'image/jpeg', buffer: Buffer.from('hello') },
    { name: 'photo.jpg', mimeType: 'image/jpeg', buffer: readFileSync(sampleFile('photo.jpg')) },
  ]);
  await expect(page.locator('#batch-summary')).toContainText('Done: 3 of 3, 1 could not be decoded.');
  await expect(page.locator('#batch-results .bad')).toContainText('Not a JPEG file');
  await expect(page.locator('#batch-results .good')).toHaveCount(2);
});

test('a batch can be stopped', async ({ page }) => {
  await page.getByRole('tab', { name: 'Many pictures' }).click();
  await page.locator('#batch-files').setInputFiles(Array.from({ length: 200 }, () => sampleFile('photo.jpg')));
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect(page.locator('#batch-summary')).toContainText('Stopped');
  await expect(page.getByRole('button', { name: 'Stop' })).toBeDisabled();
});

test('tabs work by keyboard', async ({ page }) => {
  await page.getByRole('tab', { name: 'One picture' }).focus();
  await page.keyboard.press('ArrowRight');
  await expect(page.getByRole('tab', { name: 'Many pictures' })).toBeFocused();
  await expect(page.getByRole('tabpanel')).toHaveAttribute('id', 'panel-batch');
});

test('it works offline once loaded', async ({ page, context }) => {
  await page.evaluate(async () => navigator.serviceWorker.ready);
  await context.setOffline(true);
  await page.reload();
  await openSample(page, 'Progressive', 'progressive.jpg');
  await page.getByLabel('Compared with').selectOption('webgpu');
  await expect(page.locator('#stages')).toContainText('isopel on WebGPU');
  await expect(page.locator('#verdict')).toHaveText('identical, every byte');
});

test('nothing is sent anywhere', async ({ page, baseURL }) => {
  const foreign: string[] = [];
  page.on('request', (request) => {
    const isOwn = request.url().startsWith(`${baseURL}/`) || /^(blob|data):/.test(request.url());
    if (!isOwn || request.method() !== 'GET') {
      foreign.push(`${request.method()} ${request.url()}`);
    }
  });
  await page.reload();
  await openSample(page, 'Photo', 'photo.jpg');
  expect(foreign).toEqual([]);
  const refused = page.evaluate(() =>
    fetch('https://example.com/', { method: 'POST', body: 'x' }).then(
      () => 'sent',
      () => 'refused',
    ),
  );
  expect(await refused).toBe('refused');
});

for (const width of [320, 390, 768, 1024, 1440]) {
  test(`nothing is cut off at a width of ${width}`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    await openSample(page, 'Photo', 'photo.jpg');
    expect(await overflow()).toBeLessThanOrEqual(0);
    await page.getByRole('tab', { name: 'Many pictures' }).click();
    expect(await overflow()).toBeLessThanOrEqual(0);
  });
}

test('the benchmark page measures every decoder on every picture', async ({ page }) => {
  await page.goto('/bench.html');
  await page.getByLabel('Rounds').fill('1');
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.locator('#status')).toContainText('Done', { timeout: 90_000 });
  await expect(page.locator('#rows td')).toHaveCount(12);
  await expect(page.locator('#rows')).not.toContainText('NaN');
});
