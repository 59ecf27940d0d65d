/**
 * Preloaded with `node --import`. Moves the process's wall clock by the number of seconds in the file `CLOCK_FILE`,
 * which can change at any time.
 */
import { readFileSync } from 'node:fs';

const READ_EVERY_MILLISECONDS = 500;
const file = process.env.CLOCK_FILE ?? '';
const realNow = Date.now;
let aheadMilliseconds = 0;

function read(): void {
  // While the file is being written, it is empty for a moment.
  const text = readFileSync(file, 'utf8');
  if (text) aheadMilliseconds = Number(text) * 1000;
}

read();
setInterval(read, READ_EVERY_MILLISECONDS).unref();
const now = () => realNow() + aheadMilliseconds;

globalThis.Date = new Proxy(Date, {
  construct: (target, values, newTarget) => Reflect.construct(target, values.length > 0 ? values : [now()], newTarget),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
});
