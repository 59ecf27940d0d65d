import type { TestApp } from '../support/app.ts';

/** How many long-lived connections a process says are open. */
export async function countStreams(app: TestApp): Promise<number> {
  const text = await (await fetch(`${app.url}/metrics`)).text();
  return Number(/^tollgate_live_streams (\d+)$/m.exec(text)?.[1]);
}
