import { closeSync, openSync } from 'node:fs';
import { createReadDocument } from '../../../../src/features/imports/openapi/read-document.ts';

/** Reads a document twice: while this process can open no more files, and afterward. Prints the results as JSON. */
const read = createReadDocument({ operationMilliseconds: 150_000 });
const sender = { pointer: '/document', accountId: 'usr_a', signal: new AbortController().signal };
const result = () =>
  read('{"openapi":"3.1.0","paths":{"/a":{"get":{}}}}', sender).then(
    ({ operations }) => operations.length,
    ({ code, message }: Error & { code?: string }) => code ?? message,
  );

const opened: number[] = [];
try {
  for (;;) opened.push(openSync('/dev/null', 'r'));
} catch {
  // No more can be opened.
}
const without = await result();
for (const descriptor of opened) closeSync(descriptor);
process.stdout.write(JSON.stringify([without, await result()]));
