import { defineConfig } from '@playwright/test';
import { chromiumOptions, findChromium, testPort } from './tests/chromium.js';

const PORT = testPort('ISOPEL_PACKAGE_TEST_PORT');
const chromium = findChromium();

const browser = (name: string, webgpu: boolean, testMatch: string | string[]) => ({
  name,
  testMatch,
  use: { baseURL: `http://localhost:${PORT}`, launchOptions: chromiumOptions(chromium, webgpu) },
});

export default defineConfig({
  testDir: 'tests',
  timeout: 180_000,
  workers: 2,
  forbidOnly: true,
  reporter: 'list',
  webServer: { command: `node tests/server.js ${PORT}`, port: PORT },
  projects: [
    { name: 'node', testMatch: /node\.spec|consumers\.spec/ },
    ...(chromium === undefined
      ? []
      : [
          browser('chromium', true, 'browser.spec.ts'),
          browser('chromium with webgpu', true, ['webgpu.spec.ts', 'generated.spec.ts']),
          browser('chromium without webgpu', false, 'no-webgpu.spec.ts'),
        ]),
  ],
});
