import { once } from 'node:events';
import { createServer, isIP } from 'node:net';
import { parseEgressAllow } from '../egress/allow-list.ts';
import { createEgress } from '../egress/egress.ts';

/** Where a server listens. */
type Address = { host: string; port: number };

const PROBE_MILLISECONDS = 2_000;
const MAX_PROBE_BYTES = 64 * 1024;
const PORTS_TO_TRY = 20;
const SILENT = { debug() {}, warn() {} };

/** The URL of a server, for programs on the same machine. */
export function urlOfAddress({ host, port }: Address): string {
  const name = isIP(host) === 6 ? `[${host}]` : host;
  return `http://${name === '0.0.0.0' ? '127.0.0.1' : name}:${port}`;
}

/**
 * Checks that this process can listen, so that it doesn't start a database first.
 *
 * @throws the operating system's error, such as EADDRINUSE
 */
export async function requireListenable(address: Address): Promise<void> {
  const server = createServer().listen(address);
  // Rejects if the server emits an error.
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

/**
 * Explains why a server can't listen: what might be using the port, and how to choose another one.
 *
 * @param start the command that starts the service
 * @returns undefined for errors that have nothing to do with the address
 */
export async function explainListenError(
  error: NodeJS.ErrnoException,
  address: Address,
  start: string,
): Promise<string | undefined> {
  const { host, port } = address;
  if (error.syscall !== 'listen' && error.syscall !== 'bind') return undefined;
  if (error.code === 'EACCES')
    return `This account isn't allowed to listen on port ${port}. Choose a port above 1023: PORT=4000 ${start}`;
  if (error.code === 'EADDRNOTAVAIL') return `HOST is ${host}, which isn't an address of this machine.`;
  if (error.code !== 'EADDRINUSE') return undefined;
  const other = (await nextFreePort(address)) ?? '…';
  const choose = `  To use another port:   PORT=${other} ${start}`;
  if (await isTollgate(address))
    return [
      `Port ${port} is already in use by another Tollgate server, which may be running in another terminal.`,
      `  To use that server:    ${urlOfAddress(address)}/console/`,
      choose,
    ].join('\n');
  return [
    `Port ${port} is already in use by another program.`,
    `  To see which one:      ${listCommand(port, process.platform)}`,
    choose,
  ].join('\n');
}

function listCommand(port: number, platform: NodeJS.Platform): string {
  return platform === 'linux' ? `ss -ltnp 'sport = :${port}'` : `lsof -nP -iTCP:${port} -sTCP:LISTEN`;
}

async function nextFreePort({ host, port }: Address): Promise<number | undefined> {
  const last = Math.min(port + PORTS_TO_TRY, 65_535);
  for (let candidate = port + 1; candidate <= last; candidate++) {
    const isFree = await requireListenable({ host, port: candidate }).then(
      () => true,
      () => false,
    );
    if (isFree) return candidate;
  }
  return undefined;
}

/** Whether the server at this address, on this machine, has Tollgate's console. */
async function isTollgate(address: Address): Promise<boolean> {
  const { port } = address;
  // A separate egress for this one port, because the service's own doesn't exist yet.
  const egress = createEgress({ allow: parseEgressAllow(`127.0.0.1/32:${port},[::1]/128:${port}`), log: SILENT });
  try {
    const settings = await egress.fetchJson(`${urlOfAddress(address)}/console/config.json`, {
      timeoutMilliseconds: PROBE_MILLISECONDS,
      maxBytes: MAX_PROBE_BYTES,
    });
    return typeof settings === 'object' && settings !== null && 'version' in settings && 'signIn' in settings;
  } catch {
    return false;
  } finally {
    await egress.close();
  }
}
