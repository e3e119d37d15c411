// Builds the WebAssembly files and their bindings into bindings/, and holds them to their size budgets.
// `--keep` leaves files alone that are there already.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

/** Bytes of each file, gzipped. */
const BUDGETS = { cpu: 150_000, 'cpu-simd': 150_000, webgpu: 600_000 };

const folder = dirname(dirname(fileURLToPath(import.meta.url)));
const bindings = join(folder, 'bindings');
const wasmFile = (name) => join(bindings, name, 'isopel_bg.wasm');

const isBuilt = Object.keys(BUDGETS).every((name) => existsSync(wasmFile(name)));
if (!isBuilt || !process.argv.includes('--keep')) {
  rmSync(bindings, { recursive: true, force: true });
  const generator = ['run', '--quiet', '--locked', '--manifest-path', 'xtask/Cargo.toml', '--', bindings];
  execFileSync('cargo', generator, { cwd: folder, stdio: 'inherit' });
}
for (const [name, budget] of Object.entries(BUDGETS)) {
  const size = gzipSync(readFileSync(wasmFile(name)), { level: 9 }).length;
  console.log(`${name}: ${size} bytes gzipped, of at most ${budget}`);
  if (size > budget) {
    process.exitCode = 1;
  }
}
