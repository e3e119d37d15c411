/** The packed package, as fresh projects use it: a Node script, a Vite app, a webpack app, a plain module. */

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { chromium, expect, test } from '@playwright/test';
import { chromiumOptions, findChromium } from './chromium.js';
import { root } from './corpus.js';

const browserPath = findChromium();
let tarball: string;

test.beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'isopel-pack-'));
  const name = run(join(root, 'wasm'), 'npm', 'pack', '--silent', '--pack-destination', folder).trim();
  tarball = join(folder, name);
});

test('a Node script', () => {
  const folder = project('node');
  const script = `import init, { IsopelWorker } from 'isopel';
    import { readFileSync } from 'node:fs';
    const photo = readFileSync('photo.jpg');
    const isopel = await init();
    const { width, height } = await isopel.decode(photo);
    const worker = new IsopelWorker({ threads: 1 });
    const crop = await worker.decode(photo, { region: { x: 0, y: 0, width: 8, height: 8 }, format: 'rgb8' });
    worker.free();
    console.log([width, height, crop.data.length].join(' '));`;
  writeFileSync(join(folder, 'script.mjs'), script);
  expect(run(folder, process.execPath, 'script.mjs').trim()).toBe('1920 1280 192');
});

test('a TypeScript project sees the types', () => {
  const folder = project('types');
  const script = `import init, { IsopelError, type DecodedImage } from 'isopel';
    const isopel = await init({ backend: 'wasm' });
    const image: DecodedImage = await isopel.decode(new Uint8Array(3), { format: 'gray8', orientation: 6 });
    const rows: number = image.validRows;
    // @ts-expect-error There is no such backend.
    await isopel.decode(new Uint8Array(3), { backend: 'cuda' });
    export { rows, IsopelError };`;
  writeFileSync(join(folder, 'script.ts'), script);
  const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom'];
  run(folder, join(root, 'node_modules/.bin/tsc'), ...options, 'script.ts');
});

test.describe('in a browser', () => {
  test.skip(browserPath === undefined, 'there is no Chromium');

  test('a Vite app, built and as its development server gives it', async () => {
    const folder = project('vite', 'vite@8.4.0');
    writePage(folder, '/main.js');
    writeFileSync(join(folder, 'main.js'), APP);
    run(folder, join(folder, 'node_modules/.bin/vite'), 'build');
    await expectPageWorks(join(folder, 'dist'));

    const script = `import { createServer } from 'vite';
      const server = await createServer({ server: { port: 0 } });
      await server.listen();
      console.log(server.resolvedUrls.local[0]);`;
    writeFileSync(join(folder, 'serve.mjs'), script);
    const { spawn } = await import('node:child_process');
    const server = spawn(process.execPath, ['serve.mjs'], { cwd: folder });
    try {
      const url = await new Promise<string>((resolve) => server.stdout.once('data', (data) => resolve(String(data))));
      await expectWorks(url.trim());
    } finally {
      server.kill();
    }
  });

  test('a webpack app', async () => {
    const folder = project('webpack', 'webpack@5.113.0', 'webpack-cli@6');
    mkdirSync(join(folder, 'src'));
    writeFileSync(join(folder, 'src/index.js'), APP);
    run(folder, join(folder, 'node_modules/.bin/webpack'), '--mode', 'production');
    writePage(join(folder, 'dist'), '/main.js');
    copyFileSync(join(folder, 'photo.jpg'), join(folder, 'dist/photo.jpg'));
    await expectPageWorks(join(folder, 'dist'));
  });

  test('a plain module script', async () => {
    const folder = project('plain');
    writePage(folder, '/main.js');
    writeFileSync(join(folder, 'main.js'), APP.replace("'isopel'", "'/node_modules/isopel/dist/index.js'"));
    await expectPageWorks(folder);
  });
});

/** Decodes on the page's thread and on a worker, and writes what came out into the title. */
const APP = `import init, { IsopelWorker } from 'isopel';
  try {
    const photo = await (await fetch('/photo.jpg')).blob();
    const isopel = await init();
    const { width, height } = await isopel.decode(photo);
    const worker = new IsopelWorker({ threads: 1 });
    const crop = await worker.decode(photo, { region: { x: 0, y: 0, width: 8, height: 8 }, format: 'rgb8' });
    const gpu = await isopel.decode(photo, { backend: 'webgpu', format: 'gray8' });
    document.title = [width, height, crop.data.length, gpu.route].join(' ');
  } catch (error) {
    document.title = 'failed: ' + error;
  }`;

/** A new project with the package and others. */
function project(name: string, ...others: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), `isopel-${name}-`));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, private: true, type: 'module' }));
  run(folder, 'npm', 'install', '--silent', '--no-audit', '--no-fund', tarball, ...others);
  mkdirSync(join(folder, 'public'));
  copyFileSync(join(root, 'samples/photo.jpg'), join(folder, 'photo.jpg'));
  copyFileSync(join(root, 'samples/photo.jpg'), join(folder, 'public/photo.jpg'));
  return folder;
}

function writePage(folder: string, script: string): void {
  const page = `<!doctype html><title>loading</title><script type="module" src="${script}"></script>`;
  writeFileSync(join(folder, 'index.html'), page);
}

function run(folder: string, program: string, ...args: string[]): string {
  return execFileSync(program, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Serves a folder and opens it. */
async function expectPageWorks(folder: string): Promise<void> {
  const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };
  const server = createServer((request, response) => {
    const path = request.url === '/' ? '/index.html' : (request.url ?? '');
    readFile(join(folder, path)).then(
      (file) => response.writeHead(200, { 'content-type': types[extname(path)] ?? 'image/jpeg' }).end(file),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  try {
    await expectWorks(`http://localhost:${(server.address() as AddressInfo).port}/`);
  } finally {
    server.close();
  }
}

async function expectWorks(url: string): Promise<void> {
  const browser = await chromium.launch(chromiumOptions(browserPath, true));
  try {
    const page = await browser.newPage();
    await page.goto(url);
    await expect(page).toHaveTitle(/1920|failed/, { timeout: 60_000 });
    expect(await page.title()).toBe('1920 1280 192 webgpu');
  } finally {
    await browser.close();
  }
}
