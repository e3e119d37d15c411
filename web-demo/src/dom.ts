/** The page's elements, by their ids and types. */

export function element<T extends HTMLElement>(id: string, type: { new (): T }): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) {
    throw new Error(`the page has no ${type.name} called ${id}`);
  }
  return found;
}

export const canvas = (id: string): HTMLCanvasElement => element(id, HTMLCanvasElement);
export const select = (id: string): HTMLSelectElement => element(id, HTMLSelectElement);
export const input = (id: string): HTMLInputElement => element(id, HTMLInputElement);
export const button = (id: string): HTMLButtonElement => element(id, HTMLButtonElement);
export const block = (id: string): HTMLElement => element(id, HTMLElement);

/** A new element with text or children. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  contents: string | (Node | string)[] = [],
  className = '',
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.append(...(typeof contents === 'string' ? [contents] : contents));
  made.className = className;
  return made;
}

/** Rows of a description list. */
export function describe(list: HTMLElement, facts: [string, string][]): void {
  list.replaceChildren(...facts.flatMap(([name, value]) => [make('dt', name), make('dd', value)]));
}

/** Shows text, or hides the element if there is none. */
export function show(target: HTMLElement, text: string | undefined): void {
  target.hidden = text === undefined;
  target.textContent = text ?? '';
}
