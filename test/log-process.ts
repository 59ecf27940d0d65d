/** Logs a thousand lines in a row, or as many as its second argument says, and then ends the way its first one specifies. */
import { createLog, lostLogLines } from '../src/log.ts';

const endings: Record<string, () => void> = {
  'by itself': () => {},
  'by process.exit': () => process.exit(0),
  'by an error': () => {
    throw new Error('that nobody handles');
  },
  'when its input ends': () => {
    let number = 1_000;
    const logging = setInterval(() => {
      log.info({ number: ++number, token: 'hidden' }, 'line');
      process.stderr.write(`lost ${lostLogLines()}\n`);
    }, 5);
    process.stdin.resume().once('end', () => {
      clearInterval(logging);
      process.once('exit', () => process.stderr.write(`logged ${number}, lost ${lostLogLines()}`));
    });
  },
};

const log = createLog('info');
const count = Number(process.argv[3] ?? 1_000);
for (let number = 1; number <= count; number++) log.info({ number, token: 'hidden' }, 'line');
endings[process.argv[2]!]!();
