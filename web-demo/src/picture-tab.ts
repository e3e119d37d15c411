/** One picture: what is in the file, two decoders side by side, a region decoded alone. */

import type { Header, Rect, Scale, Scans } from 'isopel';
import { codeFor } from './code.js';
import { DECODERS, decode, worker } from './decoders.js';
import type { DecoderName, NamedFile, Picture, Request } from './decoders.js';
import { compare, heatMap } from './difference.js';
import type { Difference } from './difference.js';
import { block, button, canvas, describe, element, input, make, select, show } from './dom.js';
import { markerMap } from './markers.js';
import { RegionPicker } from './region-picker.js';
import { passesOf, showStages } from './stages.js';
import type { Decoded } from './stages.js';
import { errorInWords, factsOf, milliseconds, warningInWords } from './words.js';

/** Markers shown one by one; a hostile file has thousands. */
const MARKERS_SHOWN = 60;

export class PictureTab {
  readonly #picker = new RegionPicker((region) => void this.#showRegion(region));
  #file: Blob | undefined;
  #first: Picture | undefined;
  #second: Picture | undefined;
  #difference: Difference | undefined;
  /** Counts loads, so that an answer that comes late is not shown. */
  #load = 0;

  constructor(available: DecoderName[]) {
    for (const id of ['first', 'second']) {
      select(id).append(...available.map((name) => new Option(DECODERS[name], name)));
      select(id).addEventListener('change', () => void this.#decodeBoth());
    }
    select('first').value = 'wasm';
    select('second').value = 'browser';
    for (const id of ['orientation', 'scale']) {
      select(id).addEventListener('change', () => void this.#decodeBoth());
    }
    input('amplify').addEventListener('input', () => this.#showHeat());
    button('copy').addEventListener('click', () => void this.#copy());
  }

  async open(loading: Promise<NamedFile>): Promise<void> {
    const load = ++this.#load;
    setBusy(true);
    show(block('error'), undefined);
    let name = 'The file';
    let opened: [Blob, Uint8Array, Header & Scans];
    try {
      const named = await loading;
      name = named.name;
      opened = [named.file, new Uint8Array(await named.file.arrayBuffer()), await worker.inspect(named.file)];
    } catch (error) {
      if (load === this.#load) {
        setBusy(false);
        block('loaded').hidden = true;
        show(block('error'), `${name}: ${errorInWords(error)}`);
      }
      return;
    }
    if (load !== this.#load) {
      return;
    }
    const [file, bytes, header] = opened;
    this.#file = file;
    this.#picker.reset(header.width, header.height);
    block('loaded').hidden = false;
    block('name').textContent = name;
    block('summary').textContent = `${header.width} × ${header.height}, ${header.process}, ${header.color}`;
    describe(block('facts'), factsOf(header, bytes.length));
    showMarkers(bytes);
    select('orientation').value = 'apply';
    select('orientation').disabled = header.orientation === 1;
    select('scale').value = '1';
    await this.#decodeBoth();
  }

  get #request(): Request {
    return {
      orientation: select('orientation').value as Request['orientation'],
      scale: Number(select('scale').value) as Scale,
    };
  }

  get #names(): [DecoderName, DecoderName] {
    return [select('first').value as DecoderName, select('second').value as DecoderName];
  }

  async #decodeBoth(): Promise<void> {
    const load = ++this.#load;
    const file = this.#file;
    if (file === undefined) {
      return;
    }
    setBusy(true);
    const [firstName, secondName] = this.#names;
    const first = await outcome(decode(firstName, file, this.#request));
    const second = await outcome(decode(secondName, file, this.#request));
    if (load !== this.#load) {
      return;
    }
    setBusy(false);
    this.#first = first.picture;
    this.#second = second.picture;
    show(block('error'), first.error);
    show(block('second-error'), second.error);
    draw(canvas('first-canvas'), first.picture);
    draw(canvas('second-canvas'), second.picture);
    element('first-time', HTMLOutputElement).value = first.picture ? milliseconds(first.picture.total) : '';
    element('second-time', HTMLOutputElement).value = second.picture ? milliseconds(second.picture.total) : '';
    showWarnings([first.picture, second.picture]);
    const decoded: Decoded[] = [
      [firstName, first.picture],
      [secondName, second.picture],
    ];
    showStages(decoded);
    this.#compareBoth();
    if (first.picture !== undefined) {
      this.#picker.resize(first.picture.width, first.picture.height);
    }
    await this.#showRegion(this.#picker.region);
    // A measurement that nobody waits for would delay the decode that somebody does.
    if (load !== this.#load) {
      return;
    }
    const passes = await passesOf(file, this.#request, decoded);
    if (load === this.#load) {
      block('passes').replaceChildren(...passes);
    }
  }

  #compareBoth(): void {
    const [first, second] = [this.#first, this.#second];
    const verdict = element('verdict', HTMLOutputElement);
    const comparable = first && second && first.width === second.width && first.height === second.height;
    this.#difference = comparable ? compare(first.pixels, second.pixels) : undefined;
    const difference = this.#difference;
    verdict.className = 'verdict';
    if (difference === undefined) {
      verdict.value = 'nothing to compare';
      describe(block('difference-figures'), []);
    } else {
      verdict.value =
        difference.max === 0
          ? 'identical, every byte'
          : `up to ${difference.max} ${difference.max === 1 ? 'level' : 'levels'} apart`;
      verdict.classList.add(difference.max === 0 ? 'good' : 'bad');
      const share = (100 * difference.differing) / difference.pixels;
      describe(block('difference-figures'), [
        ['Largest', `${difference.max} of 255`],
        ['Mean', difference.mean === 0 ? '0' : difference.mean.toFixed(4)],
        ['Pixels that differ', `${difference.differing.toLocaleString('en')} (${share.toFixed(share < 1 ? 3 : 1)} %)`],
      ]);
    }
    this.#showHeat();
  }

  #showHeat(): void {
    const amplification = 2 ** input('amplify').valueAsNumber;
    element('amplify-value', HTMLOutputElement).value = `× ${amplification}`;
    const difference = this.#difference;
    const isThere = difference !== undefined && difference.max > 0;
    input('amplify').disabled = !isThere;
    const size = isThere ? this.#first : undefined;
    draw(canvas('heat-canvas'), size && isThere ? { ...size, pixels: heatMap(difference, amplification) } : undefined);
  }

  async #showRegion(region: Rect | undefined): Promise<void> {
    const [name] = this.#names;
    const file = this.#file;
    const whole = this.#first;
    const request = { ...this.#request, region };
    block('code').textContent = codeFor(name, request);
    const time = element('region-time', HTMLOutputElement);
    block('region-frame').hidden = region === undefined;
    if (region === undefined || file === undefined || whole === undefined) {
      time.value = '';
      block('region-verdict').textContent = 'No region yet: drag on the first picture, or type numbers.';
      return;
    }
    const load = this.#load;
    const { picture, error } = await outcome(decode(name, file, request));
    if (load !== this.#load || this.#picker.region !== region) {
      return;
    }
    draw(canvas('region-canvas'), picture);
    time.value = picture ? `${milliseconds(picture.total)}, the whole ${milliseconds(whole.total)}` : '';
    block('region-verdict').textContent = picture
      ? isCrop(picture, whole, region)
        ? 'Every byte equals the same part of the whole picture.'
        : 'It differs from the same part of the whole picture.'
      : (error ?? '');
  }

  async #copy(): Promise<void> {
    const copy = button('copy');
    try {
      await navigator.clipboard.writeText(block('code').textContent ?? '');
      copy.textContent = 'Copied';
    } catch {
      getSelection()?.selectAllChildren(block('code'));
      copy.textContent = 'Selected: press Ctrl+C';
    }
    setTimeout(() => (copy.textContent = 'Copy'), 2000);
  }
}

function setBusy(isBusy: boolean): void {
  block('loaded').setAttribute('aria-busy', String(isBusy));
}

async function outcome(work: Promise<Picture>): Promise<{ picture?: Picture; error?: string }> {
  try {
    return { picture: await work };
  } catch (error) {
    return { error: errorInWords(error) };
  }
}

function draw(target: HTMLCanvasElement, picture: Pick<Picture, 'pixels' | 'width' | 'height'> | undefined): void {
  target.hidden = picture === undefined;
  if (picture !== undefined) {
    target.width = picture.width;
    target.height = picture.height;
    target.getContext('2d')?.putImageData(new ImageData(picture.pixels, picture.width, picture.height), 0, 0);
  }
}

function isCrop(part: Picture, whole: Picture, { x, y, width, height }: Rect): boolean {
  for (let row = 0; row < height; row++) {
    const start = 4 * ((y + row) * whole.width + x);
    const expected = whole.pixels.subarray(start, start + 4 * width);
    const found = part.pixels.subarray(4 * row * width, 4 * (row + 1) * width);
    if (found.some((value, index) => value !== expected[index])) {
      return false;
    }
  }
  return true;
}

function showWarnings(pictures: (Picture | undefined)[]): void {
  const picture = pictures.find((candidate) => candidate !== undefined && candidate.validRows !== undefined);
  const items = (picture?.warnings ?? []).map((warning) =>
    make('li', warningInWords(warning), warning.damage ? 'damage' : 'untidy'),
  );
  if (picture?.validRows !== undefined && picture.warnings.some((warning) => warning.damage)) {
    items.push(make('li', `The first ${picture.validRows} rows are certain; below them pixels are missing or wrong.`));
  }
  block('warnings').replaceChildren(
    ...(items.length > 0 ? items : [make('li', 'None: the file is in order.', 'fine')]),
  );
}

function showMarkers(bytes: Uint8Array): void {
  const entries = markerMap(bytes);
  block('marker-strip').replaceChildren(
    ...entries.map(({ group, length, symbol }) => {
      const piece = make('span', [], `group-${group}`);
      piece.style.flexGrow = String(length);
      piece.title = symbol;
      return piece;
    }),
  );
  const rows = entries.slice(0, MARKERS_SHOWN).map(({ symbol, offset, length, group, purpose }) => {
    const name = make('th', [make('i', [], `group-${group}`), symbol]);
    name.scope = 'row';
    const size = `${length.toLocaleString('en')} B`;
    return make('tr', [name, make('td', purpose), make('td', `at ${offset.toLocaleString('en')}`), make('td', size)]);
  });
  if (entries.length > MARKERS_SHOWN) {
    rows.push(make('tr', [make('td', `and ${entries.length - MARKERS_SHOWN} more`)]));
  }
  block('markers').replaceChildren(make('tbody', rows));
}
