/** Where the time goes: stages as the page's clock sees them, and the GPU's passes by its own. */

import { DECODERS, gpuTimes } from './decoders.js';
import type { DecoderName, Picture, Request } from './decoders.js';
import { block, make } from './dom.js';
import { errorInWords, milliseconds, ROUTES } from './words.js';

/** A decoder and what it made, if it could. */
export type Decoded = [DecoderName, Picture | undefined];

/** A bar for each decoder, as long as its time, divided into stages. */
export function showStages(decoded: Decoded[]): void {
  const longest = Math.max(...decoded.map(([, picture]) => picture?.total ?? 0));
  const bars = decoded.flatMap(([name, picture]) => {
    if (picture === undefined) {
      return [];
    }
    const bar = make('div', [], 'bar');
    bar.style.width = `${(100 * picture.total) / longest}%`;
    const list = make('ul', [], 'stage-list');
    for (const [index, [stage, time]] of Object.entries(picture.stages).entries()) {
      const piece = make('span', [], `stage stage-${index}`);
      piece.style.flexGrow = String(Math.max(time, 0));
      bar.append(piece);
      list.append(make('li', [make('i', [], `stage stage-${index}`), `${stage} ${milliseconds(time)}`]));
    }
    const route = picture.route === undefined ? '' : `, ${ROUTES[picture.route]}`;
    return [make('p', `${DECODERS[name]}: ${milliseconds(picture.total)}${route}`), bar, list];
  });
  block('stages').replaceChildren(...bars);
  block('passes').replaceChildren();
}

/** A list of the GPU's passes for each picture that it had a part in. */
export async function passesOf(file: Blob, request: Request, decoded: Decoded[]): Promise<Node[]> {
  const nodes: Node[] = [];
  for (const [name, picture] of decoded) {
    if (picture?.route === 'webgpu' || picture?.route === 'webgpu-whole') {
      nodes.push(...(await describePasses(DECODERS[name], gpuTimes(file, request, picture.route))));
    }
  }
  return nodes;
}

async function describePasses(name: string, measuring: ReturnType<typeof gpuTimes>): Promise<Node[]> {
  try {
    const times = await measuring;
    if (times === undefined) {
      return [make('p', `${name}: this adapter has no timestamp queries, so its passes can’t be timed one by one.`)];
    }
    const total = Object.values(times).reduce((sum, time) => sum + time, 0);
    const items = Object.entries(times).map(([pass, time]) => make('li', `${pass} ${time.toFixed(2)} ms`));
    const heading = `${name}: ${total.toFixed(2)} ms by the GPU’s own clock, which browsers round`;
    return [make('p', heading), make('ul', items, 'stage-list')];
  } catch (error) {
    return [make('p', `${name}: the GPU’s passes could not be timed. ${errorInWords(error)}`)];
  }
}
