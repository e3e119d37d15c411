import { BatchTab } from './batch-tab.js';
import { webgpuAdapter } from './decoders.js';
import type { NamedFile } from './decoders.js';
import { block, input, make } from './dom.js';
import { PictureTab } from './picture-tab.js';

const SAMPLES = [
  ['photo', 'Photo'],
  ['portrait-exif6', 'Turned by EXIF'],
  ['progressive', 'Progressive'],
  ['gray', 'Gray'],
  ['restart', 'Restart markers'],
  ['truncated', 'Damaged'],
  ['cmyk', 'CMYK'],
] as const;

const adapter = await webgpuAdapter().catch(() => undefined);
block('environment').textContent =
  adapter === undefined ? 'WebGPU: not in this browser; everything runs on WebAssembly.' : `WebGPU: ${adapter}.`;
const picture = new PictureTab(
  adapter === undefined ? ['wasm', 'browser'] : ['wasm', 'webgpu', 'webgpu-entropy', 'browser'],
);
const batch = new BatchTab(adapter !== undefined, () => Promise.all(SAMPLES.map(([name]) => sample(name))));

block('samples').append(
  ...SAMPLES.map(([name, label]) => {
    const choose = make('button', label);
    choose.type = 'button';
    choose.addEventListener('click', () => openPicture(sample(name), choose));
    return choose;
  }),
);
input('file').addEventListener('change', () => {
  const [file] = input('file').files ?? [];
  if (file !== undefined) {
    openPicture(Promise.resolve({ name: file.name, file }));
  }
});
listenForDrops();
listenForTabs();
if ('serviceWorker' in navigator && import.meta.env.PROD) {
  void navigator.serviceWorker.register('service-worker.js');
}
document.querySelector<HTMLButtonElement>('#samples button')?.click();

async function sample(name: string): Promise<NamedFile> {
  const response = await fetch(`samples/${name}.jpg`);
  return { name: `${name}.jpg`, file: await response.blob() };
}

function openPicture(loading: Promise<NamedFile>, chosen?: HTMLButtonElement): void {
  document.querySelectorAll('#samples button').forEach((other) => {
    other.setAttribute('aria-pressed', String(other === chosen));
  });
  void picture.open(loading);
}

function listenForDrops(): void {
  addEventListener('dragover', (event) => {
    event.preventDefault();
    document.body.classList.add('dragging');
  });
  addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) {
      document.body.classList.remove('dragging');
    }
  });
  addEventListener('drop', (event) => {
    event.preventDefault();
    document.body.classList.remove('dragging');
    const files = [...(event.dataTransfer?.files ?? [])].map((file) => ({ name: file.name, file }));
    const [first] = files;
    if (files.length > 1) {
      selectTab('batch');
      void batch.run(files);
    } else if (first !== undefined) {
      selectTab('picture');
      openPicture(Promise.resolve(first));
    }
  });
}

function listenForTabs(): void {
  const tabs = ['picture', 'batch'];
  tabs.forEach((name, index) => {
    const tab = block(`tab-${name}`);
    tab.addEventListener('click', () => selectTab(name));
    tab.addEventListener('keydown', (event) => {
      if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
        selectTab(tabs[1 - index] ?? name);
        block(`tab-${tabs[1 - index]}`).focus();
      }
    });
  });
}

function selectTab(name: string): void {
  for (const other of ['picture', 'batch']) {
    const isSelected = other === name;
    block(`tab-${other}`).setAttribute('aria-selected', String(isSelected));
    block(`tab-${other}`).tabIndex = isSelected ? 0 : -1;
    block(`panel-${other}`).hidden = !isSelected;
  }
}
