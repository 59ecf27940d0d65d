import { expect, test } from 'vitest';
import { adviceFor, codeOf, EXIT_CODES, Failure } from '../../src/cli/failure.ts';

test.each(['constructor', '__proto__', 'toString', 'UNKNOWN', ''])(
  'an error with the code %j, which the service doesn’t have, ends a command as any other refusal',
  (code) => {
    const failure = new Failure('refused', 'no', { code });
    expect(codeOf(failure)).toBe(EXIT_CODES.refused);
    expect(adviceFor(code)).toBe('');
  },
);

test('an error’s code determines the exit code', () => {
  expect(codeOf(new Failure('refused', 'no', { code: 'NOT_FOUND' }))).toBe(EXIT_CODES.notFound);
});
