import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
/** A palette of 16 colors takes half a byte per pixel. */
const MAX_COLORS = 16;
/** The squared distance at which readers can tell two colors apart in anti-aliased text. */
const MIN_DISTANCE = 24 ** 2;

/** A color that covers more of the picture than this is a background. */
const BACKGROUND_SHARE = 0.02;

type Image = { width: number; height: number /** One 0xRRGGBB number per pixel. */; pixels: Uint32Array };

/**
 * Reduces a screenshot to 16 colors, which is enough for text on a few backgrounds, and makes the file several times
 * smaller (https://www.w3.org/TR/png-3/). The screenshot must be opaque.
 */
export function smallPng(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png);
  const palette = paletteOf(pixels);
  const nearest = new Map(Array.from(new Set(pixels), (color) => [color, nearestIn(palette, color)]));
  const rowBytes = Math.ceil(width / 2);
  const rows = Buffer.alloc((rowBytes + 1) * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const place = y * (rowBytes + 1) + 1 + (x >> 1);
      rows[place]! |= nearest.get(pixels[y * width + x]!)! << (x % 2 === 0 ? 4 : 0);
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([4, 3, 0, 0, 0], 8);
  const colors = Buffer.from(palette.flatMap((color) => [color >> 16, (color >> 8) & 255, color & 255]));
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', colors),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const sizes = Buffer.alloc(8);
  sizes.writeUInt32BE(data.length, 0);
  sizes.writeUInt32BE(crc32(content), 4);
  return Buffer.concat([sizes.subarray(0, 4), content, sizes.subarray(4)]);
}

/** Reads a PNG with 8 bits per channel and 3 or 4 channels, which is what Chromium writes. */
function decode(png: Buffer): Image {
  const parts: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const channels = png[25] === 6 ? 4 : 3;
  const rowBytes = width * channels;
  const data = inflateSync(Buffer.concat(parts));
  const pixels = new Uint32Array(width * height);
  let above = Buffer.alloc(rowBytes);
  for (let y = 0; y < height; y++) {
    const start = y * (rowBytes + 1);
    const row = unfilter(data[start]!, data.subarray(start + 1, start + 1 + rowBytes), above, channels);
    for (let x = 0; x < width; x++) pixels[y * width + x] = row.readUIntBE(x * channels, 3);
    above = row;
  }
  return { width, height, pixels };
}

/** Undoes a row's filter (https://www.w3.org/TR/png-3/#9Filter-types). */
function unfilter(filter: number, row: Buffer, above: Buffer, channels: number): Buffer<ArrayBuffer> {
  const result = Buffer.alloc(row.length);
  for (let index = 0; index < row.length; index++) {
    const left = index < channels ? 0 : result[index - channels]!;
    const up = above[index]!;
    const upLeft = index < channels ? 0 : above[index - channels]!;
    const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, upLeft)][filter]!;
    result[index] = row[index]! + predicted;
  }
  return result;
}

function paeth(left: number, up: number, upLeft: number): number {
  const estimate = left + up - upLeft;
  const distances = [left, up, upLeft].map((value) => Math.abs(estimate - value));
  return [left, up, upLeft][distances.indexOf(Math.min(...distances))]!;
}

/** All background colors, then the most frequent colors that differ enough from each other. */
function paletteOf(pixels: Uint32Array): number[] {
  const counts = new Map<number, number>();
  for (const color of pixels) counts.set(color, (counts.get(color) ?? 0) + 1);
  const palette: number[] = [];
  for (const [color, count] of [...counts].toSorted(([, one], [, other]) => other - one)) {
    if (palette.length === MAX_COLORS) break;
    const isBackground = count > pixels.length * BACKGROUND_SHARE;
    if (isBackground || palette.every((chosen) => distance(chosen, color) >= MIN_DISTANCE)) palette.push(color);
  }
  return palette;
}

function nearestIn(palette: readonly number[], color: number): number {
  const distances = palette.map((chosen) => distance(chosen, color));
  return distances.indexOf(Math.min(...distances));
}

function distance(one: number, other: number): number {
  const of = (shift: number) => (((one >> shift) & 255) - ((other >> shift) & 255)) ** 2;
  return of(16) + of(8) + of(0);
}
