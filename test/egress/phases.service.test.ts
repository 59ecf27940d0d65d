import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addPhases, NO_PHASES } from '../../src/egress/phases.ts';
import { startReceiver } from '../support/receiver.ts';
import { CERTIFICATE, PRIVATE_KEY } from './certificate.ts';
import { createTestEgress, loopback, slowly } from './support.ts';

const trustedBefore = getCACertificates('default');
const server = createServer({ cert: CERTIFICATE, key: PRIVATE_KEY }, (_request, response) => response.end('secure'));
let port = 0;

beforeAll(async () => {
  setDefaultCACertificates([...trustedBefore, CERTIFICATE]);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(async () => {
  setDefaultCACertificates(trustedBefore);
  await new Promise<void>((resolve) => void server.close(() => resolve()).closeAllConnections());
});

const number = expect.any(Number);

describe("a request's phases", () => {
  test('include opening the connection for its first request, but only the wait for the response for later ones', async () => {
    const lookup = async () => ['127.0.0.1'];
    await using egress = createTestEgress({ allow: `127.0.0.1/32:${port}`, lookup, connectionsPerOrigin: 1 });
    const url = `https://receiver.test:${port}/`;
    const first = await egress.get(url);
    expect(first.phases).toEqual({ dnsMs: number, connectMs: number, tlsMs: number, firstByteMs: number });
    const second = await egress.get(url);
    expect(second.phases).toEqual({ ...NO_PHASES, firstByteMs: number });
  });

  test('show a slow name server and a slow response', async () => {
    await using receiver = await startReceiver(async () => {
      await slowly(60);
      return {};
    });
    const lookup = async () => {
      await slowly(80);
      return ['127.0.0.1'];
    };
    await using egress = createTestEgress({ allow: loopback(receiver), lookup });
    const { phases, durationMilliseconds } = await egress.get(`http://slow.test:${receiver.port}/`);
    expect(phases.dnsMs).toBeGreaterThanOrEqual(75);
    expect(phases.firstByteMs).toBeGreaterThanOrEqual(55);
    expect(phases.tlsMs).toBeNull();
    const sum = Object.values(phases).reduce<number>((total, part) => total + (part ?? 0), 0);
    expect(sum).toBeLessThanOrEqual(durationMilliseconds + 3);
  });

  test("don't include name resolution for a literal address", async () => {
    await using receiver = await startReceiver();
    await using egress = createTestEgress({ allow: loopback(receiver) });
    expect((await egress.get(receiver.url)).phases).toEqual({ ...NO_PHASES, connectMs: number, firstByteMs: number });
  });

  test('are attributed to the right request while many connections open at the same time', async () => {
    const { promise: areOpen, resolve: opened } = Promise.withResolvers<void>();
    await using receiver = await startReceiver(async (_request, _response, index) => {
      if (index === 9) opened();
      await areOpen;
      return {};
    });
    await using egress = createTestEgress({ allow: loopback(receiver), connectionsPerOrigin: 10 });
    const all = await Promise.all(Array.from({ length: 30 }, () => egress.get(receiver.url)));
    expect(all.filter(({ phases }) => phases.connectMs !== null)).toHaveLength(receiver.connectionCount());
    expect(receiver.connectionCount()).toBe(10);
  });

  test('end where the request failed', async () => {
    await using refused = await startReceiver();
    await using broken = await startReceiver((_request, response) => void response.destroy());
    const allow = `127.0.0.1/32:${port},${loopback(refused, broken)}`;
    await refused.close();
    const lookup = async (name: string) => {
      if (name === 'nowhere.test') throw new Error('no such name');
      return ['127.0.0.1'];
    };
    await using egress = createTestEgress({ allow, lookup });
    const phasesOf = async (url: string) => (await egress.failureOf(url)).phases;
    expect(await phasesOf(`http://nowhere.test:${port}/`)).toEqual({ ...NO_PHASES, dnsMs: number });
    expect(await phasesOf(refused.url)).toEqual({ ...NO_PHASES, connectMs: number });
    expect(await phasesOf(`https://other-name.test:${port}/`)).toEqual({
      dnsMs: number,
      connectMs: number,
      tlsMs: number,
      firstByteMs: null,
    });
    expect(await phasesOf(broken.url)).toEqual({ ...NO_PHASES, connectMs: number });
  });

  test('are kept if a request is aborted while waiting for the response', async () => {
    await using silent = await startReceiver(() => undefined);
    await using egress = createTestEgress({ allow: loopback(silent) });
    const failure = await egress.failureOf(silent.url, { timeoutMilliseconds: 2_000 });
    expect(failure).toMatchObject({ errorClass: 'timeout', phases: { ...NO_PHASES, connectMs: number } });
  });

  test('can be added up over several calls', () => {
    const call = { dnsMs: 1, connectMs: 2, tlsMs: null, firstByteMs: 4 };
    expect(addPhases(NO_PHASES, call)).toEqual(call);
    expect(addPhases(call, { ...NO_PHASES, tlsMs: 3, firstByteMs: 5 })).toEqual({
      dnsMs: 1,
      connectMs: 2,
      tlsMs: 3,
      firstByteMs: 9,
    });
  });
});
