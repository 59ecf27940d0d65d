import { constants } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { DEFAULT_CIPHERS, type TLSSocket } from 'node:tls';
import { buildConnector } from 'undici';
import { isPublicAddress, parseAddress } from './address.ts';
import type { EgressAllow } from './allow-list.ts';
import { EgressError, toEgressError } from './egress-error.ts';
import type { Handshakes } from './handshakes.ts';
import type { Lookup } from './lookup.ts';
import { handOver, noteFailure, watchOpening } from './phases.ts';
import type { OpenTunnel } from './proxy.ts';
import { limitTickets } from './session-tickets.ts';
import { type TlsIdentity, tlsOptionsOf } from './tls-identity.ts';
import { requireSocketFunctions, tolerant } from './tolerant-socket.ts';
import { hostnameOf, isPublicPort, portOf } from './url.ts';

type Write = (fields: object, message: string) => void;

export type EgressLog = { debug: Write; warn: Write };

export type GuardedConnectOptions = {
  allow: EgressAllow;
  log: EgressLog;
  lookup: Lookup;
  handshakes: Handshakes;
  /** Host name → the origin (`http://127.0.0.1:4010`) that replaces it. The replacement is checked like any other target. */
  hostOverrides: Record<string, string>;
  connectTimeoutMilliseconds: number;
  /** If set, all connections go through a proxy. It gets the checked address. */
  openTunnel: OpenTunnel | undefined;
  tls?: TlsIdentity | undefined;
};

type Target = { protocol: string; hostname: string; port: number };

type Opening = ReturnType<typeof watchOpening>;

// How many of a name's addresses to try. Trying more wouldn't help.
const MAX_ATTEMPTS = 3;
// After these failures, another address wouldn't help.
const HOPELESS: ReadonlySet<string> = new Set(['tls_error', 'proxy_error']);
// In finite-field Diffie-Hellman, the server chooses the numbers to calculate with. They can be so large that each
// handshake holds up the whole process for seconds. Every server that supports it also supports elliptic curves.
const ciphers = `${DEFAULT_CIPHERS}:!kDHE`;
// In TLS 1.2, a server can start more handshakes on a connection, with other certificates, and those have no turns.
const TLS_OPTIONS = { ciphers, secureOptions: constants.SSL_OP_NO_RENEGOTIATION };

/**
 * Opens the sockets of undici's clients. Every outgoing connection passes through here: the name is resolved once, all
 * its addresses are checked, and the socket connects to one of those addresses and no other. Neither a second DNS
 * response nor a literal address (which undici never passes to a `lookup` option) can bypass the check. The TLS server
 * name and the Host header still come from the URL.
 */
export function createGuardedConnect(options: GuardedConnectOptions): buildConnector.connector {
  requireSocketFunctions();
  const { allow, log, lookup, handshakes, openTunnel, tls } = options;
  const timeout = options.connectTimeoutMilliseconds;
  const hasOwnAuthority = tls?.certificateAuthority !== undefined;
  const connectTo = buildConnector({ allowH2: false, timeout, ...TLS_OPTIONS, ...(tls && tlsOptionsOf(tls)) });
  const overrides = new Map(
    Object.entries(options.hostOverrides).map(([hostname, origin]) => [hostname, targetOf(new URL(origin))]),
  );

  async function resolve({ hostname }: Target, opening: Opening): Promise<string[]> {
    if (isIP(hostname) !== 0) return [hostname];
    try {
      return await lookup(hostname);
    } finally {
      opening.end('dnsMs');
    }
  }

  async function vettedAddresses(target: Target, opening: Opening): Promise<string[]> {
    const addresses = await resolve(target, opening);
    let own: ReadonlySet<string | undefined> | undefined;
    const isOwn = (address: string) => {
      own ??= ownAddresses();
      return own.has(parseAddress(address)?.toString());
    };
    const refused = addresses.filter((address) => !isPermitted(address, target, allow, isOwn));
    if (refused.length === 0) return addresses;
    log.debug({ ...target, addresses, refused }, 'blocked an outgoing connection');
    throw new EgressError('target_not_allowed');
  }

  /** Opens a connection without TLS. */
  function openSocket(address: string, port: number, opening: Opening): Promise<Socket> {
    const place = { protocol: 'http:', hostname: address, port: String(port) };
    return (openTunnel ? openTunnel(address, port) : connectOnce(connectTo, place)).finally(() =>
      opening.end('connectMs'),
    );
  }

  async function open(request: buildConnector.Options, opening: Opening): Promise<Socket> {
    const { protocol, hostname } = request;
    const port = Number(request.port) || (protocol === 'https:' ? 443 : 80);
    const target = overrides.get(hostname) ?? { protocol, hostname, port };
    const addresses = await vettedAddresses(target, opening);
    const servername = target.protocol === 'https:' && isIP(hostname) === 0 ? { servername: hostname } : {};
    const failures: unknown[] = [];
    for (const address of addresses.slice(0, MAX_ATTEMPTS)) {
      try {
        const { protocol, port } = target;
        const socket = await openSocket(address, port, opening);
        if (protocol !== 'https:') return socket;
        const place = { protocol, hostname: address, port: String(port), ...servername };
        return await secure(socket, opening, () =>
          handshakes.run({ hostname, address, hasOwnAuthority }, (watch) => startTls(connectTo, place, socket, watch)),
        );
      } catch (error) {
        failures.push(error);
        if (HOPELESS.has(toEgressError(error).errorClass)) break;
      }
    }
    throw failures.at(-1);
  }

  return (request, callback) => {
    const opening = watchOpening();
    open(request, opening).then(
      (socket) => handOver(opening.phases, () => callback(null, tolerant(socket))),
      (error) => {
        noteFailure(error, opening.phases);
        callback(error, null);
      },
    );
  };
}

function isPermitted(
  address: string,
  { protocol, port }: Target,
  allow: EgressAllow,
  isOwn: (address: string) => boolean,
): boolean {
  if (allow.permits(address, port)) return true;
  return protocol === 'https:' && isPublicPort(port) && isPublicAddress(address) && !isOwn(address);
}

/**
 * This machine's addresses. Traffic to its own public address bypasses firewalls, so it could reach ports that are
 * closed to the internet.
 */
function ownAddresses(): ReadonlySet<string | undefined> {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return new Set(own.map(({ address }) => parseAddress(address)?.toString()));
}

function targetOf(url: URL): Target {
  return { protocol: url.protocol, hostname: hostnameOf(url), port: portOf(url) };
}

function connectOnce(connectTo: buildConnector.connector, options: buildConnector.Options): Promise<Socket> {
  return new Promise((resolve, reject) => {
    connectTo(options, (error, connected) => (error ? reject(error) : resolve(connected)));
  });
}

/** Runs a handshake on a connection, and closes the connection if it fails. */
async function secure(socket: Socket, opening: Opening, handshake: () => Promise<Socket>): Promise<Socket> {
  // It may fail while the handshake waits for its turn.
  socket.on('error', () => {});
  try {
    return await handshake();
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    opening.end('tlsMs');
  }
}

/** @param watch called with the secure socket before the handshake starts. */
function startTls(
  connectTo: buildConnector.connector,
  options: buildConnector.Options,
  socket: Socket,
  watch: (socket: TLSSocket) => void,
): Promise<Socket> {
  if (socket.destroyed) throw new EgressError('connection_reset');
  return new Promise((resolve, reject) => {
    // undici returns the socket while it is still connecting, but undici's types don't say so.
    const secured = connectTo({ ...options, httpSocket: socket }, (error, connected) =>
      error ? reject(error) : resolve(connected),
    ) as unknown as TLSSocket;
    watch(secured);
    limitTickets(secured, socket);
  });
}
