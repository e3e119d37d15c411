/** Drawing a region on a picture, by pointer, by keyboard or by numbers. */

import type { Rect } from 'isopel';
import { block, button, input } from './dom.js';

const FIELDS = ['x', 'y', 'width', 'height'] as const;
/** Pixels that an arrow key moves by. */
const STEP = 8;

export class RegionPicker {
  readonly #stage = block('stage');
  readonly #selection = block('selection');
  readonly #inputs = FIELDS.map((field) => input(`region-${field}`));
  readonly #onChange: (region: Rect | undefined) => void;
  #size = { width: 1, height: 1 };
  #region: Rect | undefined;

  constructor(onChange: (region: Rect | undefined) => void) {
    this.#onChange = onChange;
    this.#stage.addEventListener('pointerdown', (event) => this.#drag(event));
    this.#stage.addEventListener('keydown', (event) => this.#key(event));
    this.#inputs.forEach((field) => field.addEventListener('change', () => this.#readInputs()));
    button('region-clear').addEventListener('click', () => this.set(undefined));
  }

  /** Starts anew on a picture of this size. */
  reset(width: number, height: number): void {
    this.#size = { width, height };
    this.#region = undefined;
    this.#inputs.forEach((field, index) => {
      field.max = String(index % 2 === 0 ? width : height);
    });
    this.#show();
  }

  /** Keeps the region, unless the picture has another size now. */
  resize(width: number, height: number): void {
    if (width !== this.#size.width || height !== this.#size.height) {
      this.reset(width, height);
    }
  }

  get region(): Rect | undefined {
    return this.#region;
  }

  set(region: Rect | undefined): void {
    this.#region = region && this.#within(region);
    this.#show();
    this.#onChange(this.#region);
  }

  #drag(event: PointerEvent): void {
    if (event.button !== 0) {
      return;
    }
    const start = this.#pixelAt(event);
    const before = this.#region;
    this.#stage.setPointerCapture(event.pointerId);
    const move = (moved: PointerEvent): void => {
      const end = this.#pixelAt(moved);
      const [x, y] = [Math.min(start.x, end.x), Math.min(start.y, end.y)];
      const [width, height] = [Math.abs(start.x - end.x), Math.abs(start.y - end.y)];
      this.#region = width > 1 && height > 1 ? this.#within({ x, y, width, height }) : undefined;
      this.#show();
    };
    const end = new AbortController();
    const listen = (type: 'pointermove' | 'pointerup' | 'pointercancel', act: (event: PointerEvent) => void): void =>
      this.#stage.addEventListener(type, act, { signal: end.signal });
    listen('pointermove', move);
    listen('pointerup', () => {
      end.abort();
      this.#onChange(this.#region);
    });
    // A touch that turned out to scroll the page.
    listen('pointercancel', () => {
      end.abort();
      this.#region = before;
      this.#show();
    });
  }

  #key(event: KeyboardEvent): void {
    const directions: Record<string, [number, number]> = {
      ArrowLeft: [-STEP, 0],
      ArrowRight: [STEP, 0],
      ArrowUp: [0, -STEP],
      ArrowDown: [0, STEP],
    };
    const direction = directions[event.key];
    if (event.key === 'Escape') {
      this.set(undefined);
    } else if (direction !== undefined) {
      event.preventDefault();
      const [dx, dy] = direction;
      const region = this.#region ?? this.#middle();
      this.set(
        event.shiftKey
          ? { ...region, width: region.width + dx, height: region.height + dy }
          : { ...region, x: region.x + dx, y: region.y + dy },
      );
    }
  }

  #readInputs(): void {
    const middle = this.#region ?? this.#middle();
    const values = this.#inputs.map((field, index) => {
      const value = field.valueAsNumber;
      return Number.isFinite(value) ? Math.round(value) : middle[FIELDS[index] ?? 'x'];
    });
    const [x = 0, y = 0, width = 1, height = 1] = values;
    this.set({ x, y, width, height });
  }

  /** A quarter of the picture, in its middle. */
  #middle(): Rect {
    const { width, height } = this.#size;
    return { x: width >> 2, y: height >> 2, width: Math.max(1, width >> 1), height: Math.max(1, height >> 1) };
  }

  #within({ x, y, width, height }: Rect): Rect {
    const clamp = (value: number, low: number, high: number): number => Math.max(low, Math.min(value, high));
    const left = clamp(x, 0, this.#size.width - 1);
    const top = clamp(y, 0, this.#size.height - 1);
    return {
      x: left,
      y: top,
      width: clamp(width, 1, this.#size.width - left),
      height: clamp(height, 1, this.#size.height - top),
    };
  }

  #pixelAt(event: PointerEvent): { x: number; y: number } {
    const box = this.#stage.getBoundingClientRect();
    const pixel = (at: number, length: number, pixels: number): number =>
      Math.round(Math.max(0, Math.min(1, at / length)) * pixels);
    return {
      x: pixel(event.clientX - box.left, box.width, this.#size.width),
      y: pixel(event.clientY - box.top, box.height, this.#size.height),
    };
  }

  #show(): void {
    const region = this.#region;
    this.#selection.hidden = region === undefined;
    this.#inputs.forEach((field, index) => {
      field.value = region === undefined ? '' : String(region[FIELDS[index] ?? 'x']);
    });
    if (region !== undefined) {
      const { width, height } = this.#size;
      this.#selection.style.left = `${(100 * region.x) / width}%`;
      this.#selection.style.top = `${(100 * region.y) / height}%`;
      this.#selection.style.width = `${(100 * region.width) / width}%`;
      this.#selection.style.height = `${(100 * region.height) / height}%`;
    }
  }
}
