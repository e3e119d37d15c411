// Keeps every file of the page, so that it works without a network. The build fills in both names.
const files = FILES;
const cacheName = `isopel-${VERSION}`;

addEventListener('install', (event) => {
  event.waitUntil(caches.open(cacheName).then((cache) => cache.addAll(files)));
  skipWaiting();
});

addEventListener('activate', (event) => {
  const old = (names) => names.filter((name) => name.startsWith('isopel-') && name !== cacheName);
  event.waitUntil(caches.keys().then((names) => Promise.all(old(names).map((name) => caches.delete(name)))));
  event.waitUntil(clients.claim());
});

addEventListener('fetch', (event) => {
  // Servers that answer with `Vary` mean other sites; here each file has one content.
  const kept = caches.match(event.request, { ignoreSearch: true, ignoreVary: true });
  event.respondWith(kept.then((response) => response ?? fetch(event.request)));
});
