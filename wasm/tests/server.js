// Serves the repository's files to the tests' pages: `node server.js PORT`.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const types = { '.js': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html', '.jpg': 'image/jpeg' };

createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  if (pathname === '/') {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>isopel</title>');
    return;
  }
  try {
    const file = await readFile(join(root, normalize(pathname)));
    response.writeHead(200, { 'content-type': types[extname(pathname)] ?? 'application/octet-stream' }).end(file);
  } catch {
    response.writeHead(404).end();
  }
}).listen(Number(process.argv[2]));
