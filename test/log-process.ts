/** Logs a thousand lines in a row and then exits the way its argument specifies. */
import { createLog } from '../src/log.ts';

const endings: Record<string, () => void> = {
  'by itself': () => {},
  'by process.exit': () => process.exit(0),
  'by an error': () => {
    throw new Error('that nobody handles');
  },
};

const log = createLog('info');
for (let number = 1; number <= 1_000; number++) log.info({ number, token: 'hidden' }, 'line');
endings[process.argv[2]!]!();
