import { crc32, deflateSync, inflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { smallPng } from '../../scripts/pictures/small-png.ts';

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type), data]);
  const [size, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  size.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(content));
  return Buffer.concat([size, content, check]);
}

/** The data of each chunk of a PNG, by its type. */
function chunksOf(png: Buffer): Record<string, Buffer> {
  const chunks: Record<string, Buffer> = {};
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const data = png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
    const type = png.toString('latin1', at + 4, at + 8);
    expect(png.readUInt32BE(at + 8 + data.length)).toBe(crc32(png.subarray(at + 4, at + 8 + data.length)));
    chunks[type] = data;
  }
  return chunks;
}

test('a reduced picture has the same size and colors, no matter what filters its rows had', () => {
  // Three pixels per row: white, red, white. The rows use the filters none, sub, up, average, and Paeth.
  const rows = [
    [0, 255, 255, 255, 255, 0, 0, 255, 255, 255],
    [1, 255, 255, 255, 0, 1, 1, 0, 255, 255],
    [2, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [3, 128, 128, 128, 0, 129, 129, 0, 128, 128],
    [4, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  ];
  const header = Buffer.from([0, 0, 0, 3, 0, 0, 0, rows.length, 8, 2, 0, 0, 0]);
  const picture = Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.from(rows.flat()))),
    chunk('IEND', Buffer.alloc(0)),
  ]);

  const { IHDR, PLTE, IDAT } = chunksOf(smallPng(picture));
  expect([...IHDR!]).toEqual([0, 0, 0, 3, 0, 0, 0, rows.length, 4, 3, 0, 0, 0]);
  expect(PLTE!.toString('hex')).toBe('ffffffff0000');
  // White has index 0, and red has index 1. Each row starts with its filter, and each byte holds two pixels.
  expect(inflateSync(IDAT!).toString('hex')).toBe('000100'.repeat(rows.length));
});
