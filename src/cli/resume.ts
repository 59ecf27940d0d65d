import { createReadStream } from 'node:fs';
import { truncate } from 'node:fs/promises';
import { Failure } from './failure.ts';

const [QUOTE, CR, LF] = [0x22, 0x0d, 0x0a];
const BYTE_ORDER_MARK = /^\uFEFF/;

/** What a file begins with, and the pattern of a row that begins with its ID. */
const FORMATS = {
  csv: { start: 'id,', row: /^(\w+),/ },
  jsonl: { start: '{"id":"', row: /^\{"id":"(\w+)"/ },
} as const;

/**
 * Removes an incomplete row from the end of an exported file. Reads the file a piece at a time.
 *
 * @returns the ID of the last complete row, or undefined if there is no row. Then the file is empty, or it will be.
 * @throws Failure `usage` if the file isn't an export in this format. It doesn't change then.
 */
export async function cutToLastRow(path: string, format: keyof typeof FORMATS): Promise<string | undefined> {
  const isCsv = format === 'csv';
  const { start, row } = FORMATS[format];
  let head = '';
  let lastRow = '';
  let rowCount = 0;
  let end = 0;
  let offset = 0;
  let parts: Buffer[] = [];
  let isQuoted = false;
  let previous = 0;
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      if (head === '') head = chunk.toString().replace(BYTE_ORDER_MARK, '').slice(0, start.length);
      let rowStart = 0;
      for (let at = 0; at < chunk.length; at++) {
        const byte = chunk[at]!;
        // A quote inside a quoted cell is doubled, so the second one restores the state.
        if (isCsv && byte === QUOTE) isQuoted = !isQuoted;
        else if (byte === LF && !isQuoted) {
          // Rows of an export end with CRLF. Without this check, a file whose line endings were converted would look like
          // a single incomplete row, and all of it would be removed.
          if (isCsv && previous !== CR) throw notAnExport(path, format);
          lastRow = Buffer.concat([...parts, chunk.subarray(rowStart, at)])
            .toString()
            .replace(BYTE_ORDER_MARK, '');
          parts = [];
          rowStart = at + 1;
          rowCount += 1;
          end = offset + rowStart;
        }
        previous = byte;
      }
      parts.push(chunk.subarray(rowStart));
      offset += chunk.length;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    if (error instanceof Failure) throw error;
    throw new Failure('failed', `Cannot read: ${(error as Error).message}.`);
  }
  const isHeader = isCsv && rowCount === 1;
  const id = rowCount === 0 || isHeader ? undefined : row.exec(lastRow)?.[1];
  if (!start.startsWith(head) && !head.startsWith(start)) throw notAnExport(path, format);
  if (rowCount > 0 && !isHeader && id === undefined) throw notAnExport(path, format);
  await truncate(path, id === undefined ? 0 : end);
  return id;
}

function notAnExport(path: string, format: string): Failure {
  const name = format === 'csv' ? 'CSV' : 'JSON Lines';
  return new Failure('usage', `${path} is not an export in ${name}. Choose the file's format with --format.`);
}
