import { defineConfig } from '@playwright/test';
import { chromiumOptions, findChromium, testPort } from '../wasm/tests/chromium.js';

const PORT = testPort('ISOPEL_DEMO_TEST_PORT');
const chromium = findChromium();

export default defineConfig({
  testDir: 'tests',
  timeout: 120_000,
  expect: { timeout: 30_000 },
  workers: 2,
  forbidOnly: true,
  reporter: 'list',
  webServer: { command: `npx vite build && npx vite preview --port ${PORT} --strictPort --bypass-lock`, port: PORT },
  // Without a browser there is nothing to test here; run-tests says so.
  testIgnore: chromium === undefined ? ['**'] : [],
  use: { baseURL: `http://localhost:${PORT}`, launchOptions: chromiumOptions(chromium, true) },
});
