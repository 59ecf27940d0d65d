/** A program that reads a document from standard input and writes an `Outcome`. Started by `read-document.ts`. */

import { setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { AppError } from '../../../errors.ts';
import { readOpenApi } from './read.ts';
import type { Outcome } from './read-document.ts';

/** On a busy machine, the processes that handle payments get three times as much CPU time as this program. */
const PRIORITY = 5;

function outcomeOf(document: string): Outcome {
  try {
    return { document: readOpenApi(document) };
  } catch (error) {
    if (error instanceof AppError) return { message: error.fields[0]!.message };
    throw error;
  }
}

const document = await text(process.stdin);
// Set only now, because starting at a low priority would take seconds on a busy machine.
setPriority(PRIORITY);
// Tells the parent process that reading has started. JSON may start with whitespace.
process.stdout.write('\n');
process.stdout.write(JSON.stringify(outcomeOf(document)));
