// Puts the package together in dist/: compiled TypeScript, WebAssembly files, licences.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(folder, 'dist');

rmSync(dist, { recursive: true, force: true });
execFileSync('npx', ['tsc', '-p', 'tsconfig.json'], { cwd: folder, stdio: 'inherit' });
for (const name of ['cpu', 'cpu-simd', 'webgpu']) {
  cpSync(join(folder, 'bindings', name), join(dist, name), { recursive: true });
}
for (const licence of ['LICENSE-APACHE', 'LICENSE-MIT']) {
  copyFileSync(join(folder, '..', licence), join(folder, licence));
}
