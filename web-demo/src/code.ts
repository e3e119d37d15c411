/** Code that makes what the page shows. */

import { ISOPEL_OPTIONS } from './decoders.js';
import type { DecoderName, Request } from './decoders.js';

export function codeFor(name: DecoderName, request: Request): string {
  const options = [
    ...Object.entries(name === 'browser' ? {} : ISOPEL_OPTIONS[name]).map(([key, value]) => `${key}: '${value}'`),
    ...(request.orientation === 'apply' ? [] : [`orientation: '${request.orientation}'`]),
    ...(request.scale === 1 ? [] : [`scale: ${request.scale}`]),
    ...(request.region === undefined
      ? []
      : [
          `region: { ${Object.entries(request.region)
            .map(([key, value]) => `${key}: ${value}`)
            .join(', ')} }`,
        ]),
  ];
  if (name === 'browser') {
    return browserCode(request);
  }
  return [
    `import init from 'isopel'; // npm install isopel`,
    ``,
    `const isopel = await init();`,
    `const file = await fetch('picture.jpg');`,
    `const { width, height, data, warnings } = await isopel.decode(file, {`,
    ...options.map((option) => `  ${option},`),
    `});`,
    `// data: RGBA bytes, width * height * 4 of them`,
  ].join('\n');
}

function browserCode({ region, scale }: Request): string {
  const scaled = (side: string): string => (scale === 1 ? `bitmap.${side}` : `Math.ceil(bitmap.${side} * ${scale})`);
  const { x, y, width, height } = region ?? { x: 0, y: 0, width: scaled('width'), height: scaled('height') };
  const corner = `${x === 0 ? 0 : -x}, ${y === 0 ? 0 : -y}`;
  return [
    `const blob = await (await fetch('picture.jpg')).blob();`,
    `const bitmap = await createImageBitmap(blob, { colorSpaceConversion: 'none' });`,
    `const context = new OffscreenCanvas(${width}, ${height}).getContext('2d');`,
    scale === 1
      ? `context.drawImage(bitmap, ${corner});`
      : `context.drawImage(bitmap, ${corner}, ${scaled('width')}, ${scaled('height')});`,
    `const { data } = context.getImageData(0, 0, ${width}, ${height});`,
  ].join('\n');
}
