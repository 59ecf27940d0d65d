import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { cpuMicrosecondsOf, onCore } from '../support/processes.ts';

/** Headers that nginx sends itself. */
const OWN_HEADERS = ['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'];

export const isNginxInstalled = (): boolean => spawnSync('nginx', ['-v']).status === 0;

/** Starts nginx with one worker, which always returns this 402 response. */
export async function startNginx(paymentRequired: Response, core: number | undefined) {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-nginx-'));
  const port = await freePort();
  await writeFile(
    join(directory, 'nginx.conf'),
    configuration(directory, port, paymentRequired.headers, await paymentRequired.text()),
  );
  const [program, args] = onCore(core, 'nginx', ['-p', directory, '-c', 'nginx.conf', '-e', 'stderr']);
  const nginx = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const url = `http://127.0.0.1:${port}`;
  while (!(await fetch(url).catch(() => undefined))) {
    if (nginx.exitCode !== null) throw new Error('nginx has ended.');
    await sleep(20);
  }
  return {
    url,
    cpuMicroseconds: (): number => cpuMicrosecondsOf(String(nginx.pid)),
    async stop(): Promise<void> {
      nginx.kill('SIGTERM');
      await once(nginx, 'exit');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function configuration(directory: string, port: number, headers: Headers, body: string): string {
  const added = [...headers].filter(([name]) => !OWN_HEADERS.includes(name));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
    daemon off;
    worker_processes 1;
    pid ${directory}/pid;
    events {}
    http {
      access_log off;
      keepalive_requests 1000000000;
      default_type ${quote(headers.get('content-type') ?? '')};
      ${temporary.map((name) => `${name}_temp_path ${directory}/${name};`).join('\n')}
      server {
        listen 127.0.0.1:${port};
        ${added.map(([name, value]) => `add_header ${name} ${quote(value)} always;`).join('\n')}
        location / { return 402 ${quote(body)}; }
      }
    }`;
}

const quote = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`;
