import { readdirSync, readFileSync } from 'node:fs';
import { ROLES, type Role, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

/** A process's memory in megabytes, and its number of open files. */
export type Holdings = { rss: number; heap: number; files: number };

export type Service = Awaited<ReturnType<typeof startService>>;

/** One process of each role. */
export async function startService(folder: string, env: Record<string, string>) {
  const processes = {} as Record<Role, ServiceProcess>;
  for (const role of ROLES) processes[role] = await startServiceProcess({ role, name: role, folder, env });

  return {
    urlOf: (role: Role): string => processes[role].url,

    /** @throws Error if the process has ended */
    async holdings(role: Role): Promise<Holdings> {
      const { url, pid } = processes[role];
      const metrics = await (await fetch(`${url}/metrics`)).text();
      const rss = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1];
      const heap = /^nodejs_heap_size_used_bytes (\S+)/m.exec(metrics)![1];
      return {
        rss: Number(rss) / 1024,
        heap: Number(heap) / 2 ** 20,
        files: readdirSync(`/proc/${pid}/fd`).length,
      };
    },

    async stop(): Promise<void> {
      await Promise.all(ROLES.map((role) => processes[role].stop()));
    },
  };
}
