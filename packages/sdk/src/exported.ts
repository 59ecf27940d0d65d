import { TollgateError } from './errors.ts';

/**
 * An export. Iterate over it to get its rows, oldest first, or read it as a file. Either way, a new request is sent
 * each time.
 */
export type Exported<Row> = AsyncIterable<Row> & {
  /**
   * The file as a stream. If the export is cut off, reading rejects, so a file that you read to the end is complete.
   */
  file(format: 'csv' | 'jsonl'): Promise<ReadableStream<Uint8Array>>;
};

/** @param open Requests the export in the given format and returns the body. */
export function createExported<Row>(open: Exported<Row>['file']): Exported<Row> {
  return {
    file: open,
    async *[Symbol.asyncIterator]() {
      for await (const line of linesOf(await open('jsonl'))) yield JSON.parse(line) as Row;
    },
  };
}

/** @throws TollgateError `CONNECTION_FAILED` if the last line doesn't end with a line break. */
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const lines = (rest + decoder.decode(read.value, { stream: true })).split('\n');
      rest = lines.pop()!;
      yield* lines;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
  if (rest !== '') throw new TollgateError('CONNECTION_FAILED', 'The export was cut off.');
}
