import { join } from 'node:path';
import { type Role, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

export type Version = 'old' | 'new';
export type Node = ServiceProcess & { version: Version };

/**
 * Returns a function that starts a process of either version.
 *
 * @param release the folder of the last release's build
 */
export function createStarter(folder: string, release: string, env: Record<string, string>) {
  let started = 0;
  return async (version: Version, role: Role): Promise<Node> => {
    const name = `${++started}-${version}-${role}`;
    const program = version === 'old' && { program: join(release, 'dist/server/main.mjs') };
    return { version, ...(await startServiceProcess({ role, name, folder, env, ...program })) };
  };
}
