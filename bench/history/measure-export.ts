import { readFileSync } from 'node:fs';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

export type ExportFigures = { rows: number; seconds: number; bytes: number; additionalBytes: number };

/** How often the process's memory is read. */
const SAMPLE_MILLISECONDS = 50;
const CR_LF = Buffer.from('\r\n');

/**
 * Exports everything at a path as CSV from a process of its own, with Node's default settings, as `npm start` runs it.
 *
 * @param warmUp a shorter export that comes first, because code and buffers that stay take memory only once.
 */
export async function measureExport(options: {
  databaseUrl: string;
  folder: string;
  token: string;
  path: string;
  warmUp: string;
}): Promise<ExportFigures> {
  const { databaseUrl, folder, token, path, warmUp } = options;
  const env = { DATABASE_URL: databaseUrl };
  const service = await startServiceProcess({ role: 'api', name: 'api', folder, env });
  try {
    await download(service, token, warmUp);
    const before = residentBytesOf(service);
    let most = before;
    const sampling = setInterval(() => {
      most = Math.max(most, residentBytesOf(service));
    }, SAMPLE_MILLISECONDS);
    const startedAt = performance.now();
    const { rows, bytes } = await download(service, token, path);
    clearInterval(sampling);
    const seconds = (performance.now() - startedAt) / 1000;
    return { rows, seconds, bytes, additionalBytes: most - before };
  } finally {
    await service.stop();
  }
}

/** Counts the rows of an export. The benchmark's data has no line breaks in cells. */
async function download({ url }: ServiceProcess, token: string, path: string) {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  let [lines, bytes] = [0, 0];
  let last = 0;
  for await (const chunk of response.body! as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    for (const byte of chunk) {
      if (byte === CR_LF[1] && last === CR_LF[0]) lines += 1;
      last = byte;
    }
  }
  return { rows: path.includes('after=') ? lines : lines - 1, bytes };
}

/** @throws Error on systems without /proc */
function residentBytesOf({ pid }: ServiceProcess): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Number(kilobytes) * 1024;
}
