import type { TestApp } from '../support/app.ts';

/** Returns the number of open streams from the metrics of a process. */
export async function countStreams(app: TestApp): Promise<number> {
  const text = await (await fetch(`${app.url}/metrics`)).text();
  return Number(/^tollgate_live_streams (\d+)$/m.exec(text)?.[1]);
}
