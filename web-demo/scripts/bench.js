// Runs the benchmark page in headless Chromium and prints its table: `npm run bench -- ROUNDS`. Build the page first.
import { chromium } from '@playwright/test';
import { preview } from 'vite';

const server = await preview({ preview: { port: 0 }, logLevel: 'silent' });
const browser = await chromium.launch({
  executablePath: process.env.ISOPEL_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const page = await browser.newPage();
page.on('pageerror', (error) => console.error(error.message));
await page.goto(new URL('bench.html', server.resolvedUrls?.local[0]).href);
await page.fill('#rounds', process.argv[2] ?? '9');
await page.click('#run');
await page.waitForFunction(() => document.querySelector('#status')?.textContent?.startsWith('Done'), undefined, {
  timeout: 1_800_000,
});
const rows = await page.$$eval('#results tr', (all) =>
  all.map((row) => [...row.children].map((cell) => cell.textContent ?? '')),
);
const lines = rows.map((cells) => `| ${cells.join(' | ')} |`);
lines.splice(1, 0, `|${'---|'.repeat(rows[0]?.length ?? 1)}`);
console.log(`Chromium ${browser.version()}, milliseconds, median (fastest)\n\n${lines.join('\n')}`);
await browser.close();
await server.close();
