import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createMessageTurns } from '../../src/graphql/message-turns.ts';

test('after a large message, the next one waits for as many turns of the event loop as its size takes', async () => {
  const turns = createMessageTurns();
  const started: string[] = [];
  turns.take('many', 256 * 1024, () => started.push('large'));
  turns.take('one', 100, () => started.push('small'));
  for (let turn = 0; turn < 7; turn += 1) await setImmediate();
  expect(started).toEqual(['large']);
  for (let turn = 0; turn < 3; turn += 1) await setImmediate();
  expect(started).toEqual(['large', 'small']);
});

test('addresses take turns, and a message that is given up isn’t handled', async () => {
  const turns = createMessageTurns();
  const started: string[] = [];
  turns.take('first', 256 * 1024, () => started.push('first'));
  const giveUp = turns.take('many', 100, () => started.push('given up'));
  for (const name of ['many 1', 'many 2']) turns.take('many', 100, () => started.push(name));
  turns.take('one', 100, () => started.push('one'));
  giveUp();
  while (started.length < 4) await setImmediate();
  expect(started).toEqual(['first', 'many 1', 'one', 'many 2']);
});
