import { existsSync } from 'node:fs';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser of the machine; none is downloaded. `ISOPEL_CHROMIUM` names another. */
export function findChromium(): string | undefined {
  const found = [process.env['ISOPEL_CHROMIUM'] ?? '', ...PLACES].find((place) => place !== '' && existsSync(place));
  if (found === undefined && (process.env['ISOPEL_REQUIRE'] ?? '').split(',').includes('web')) {
    throw new Error('ISOPEL_REQUIRE names web, but there is no Chromium; install the package chromium');
  }
  return found;
}

/**
 * What gives WebGPU on machines without a GPU. The first flag is enough for SwiftShader as an adapter; with the others
 * its canvases can be shown.
 */
const WEBGPU = [
  '--enable-unsafe-webgpu',
  '--use-vulkan=swiftshader',
  '--enable-features=Vulkan',
  '--use-angle=swiftshader',
];

export function chromiumOptions(executablePath: string | undefined, webgpu: boolean) {
  const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'];
  return {
    ...(executablePath === undefined ? {} : { executablePath }),
    args: ['--no-sandbox', ...quiet, ...(webgpu ? WEBGPU : [])],
  };
}

/**
 * A port for the tests' server that other runs on this machine are unlikely to have. The first process chooses; the
 * processes that it starts read the same configuration and must come to the same port.
 */
export function testPort(variable: string): number {
  process.env[variable] ??= String(20_000 + Math.floor(Math.random() * 12_000));
  return Number(process.env[variable]);
}
