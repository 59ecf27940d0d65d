/**
 * Loaded before a process (`node --import`): its wall clock is off by `CLOCK_SHIFT_SECONDS`, as that of a machine whose
 * clock nobody sets.
 */
const shiftMilliseconds = Number(process.env.CLOCK_SHIFT_SECONDS ?? '0') * 1000;
const realNow = Date.now;
const now = () => realNow() + shiftMilliseconds;

globalThis.Date = new Proxy(Date, {
  construct: (target, values, newTarget) => Reflect.construct(target, values.length > 0 ? values : [now()], newTarget),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
});
