import { collectDefaultMetrics, Registry } from '@prometheus-io/client';

let registry: Registry | undefined;

/**
 * Returns the metrics of this process and of Node. Starts to measure them if nothing has yet.
 *
 * All services in a process share them, because the library's timers and observers run until the process ends: each
 * further call of `collectDefaultMetrics` would add some, even if its registry is cleared later.
 */
export function measureProcess(): Registry {
  if (!registry) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry });
  }
  return registry;
}
