/**
 * Preloaded with `node --import`. Shifts the wall clock of the process by `CLOCK_SHIFT_SECONDS`, as on a machine with a
 * wrong clock.
 */
const shiftMilliseconds = Number(process.env.CLOCK_SHIFT_SECONDS ?? '0') * 1000;
const realNow = Date.now;
const now = () => realNow() + shiftMilliseconds;

globalThis.Date = new Proxy(Date, {
  construct: (target, values, newTarget) => Reflect.construct(target, values.length > 0 ? values : [now()], newTarget),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
});
