import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { parseEgressAllow } from '../../src/egress/allow-list.ts';
import type { EgressDoor } from '../../src/egress/egress.ts';
import { toEgressError } from '../../src/egress/egress-error.ts';
import { startReceiver } from '../support/receiver.ts';
import { startRawServer } from './raw-server.ts';
import { createTestEgress, loopback } from './support.ts';

const REFUSAL = { errorClass: 'target_not_allowed', message: 'The target address must be public.' };
const LIMITS = { timeoutMilliseconds: 20_000, maxResponseBytes: 65_536 };

const send = ({ send }: EgressDoor, url: string) => send({ method: 'GET', url, headers: {}, ...LIMITS });
const failure = (door: EgressDoor, url: string) =>
  send(door, url).then(
    () => 'a response',
    (error: unknown) => error,
  );
/** Skips the URL check, as streaming callers do. */
const stream = (door: EgressDoor, url: string, owner = '') =>
  request(url, { dispatcher: door.dispatcherFor(owner) }).then(async ({ statusCode, body }) => {
    await body.dump();
    return statusCode;
  }, toEgressError);

describe('an egress door', () => {
  test('opens its own targets, which no other door can reach, not even over an open connection', async () => {
    await using receiver = await startReceiver();
    await using egress = createTestEgress({ lookup: async () => ['127.0.0.1'] });
    const door = egress.within(parseEgressAllow(loopback(receiver)));
    const other = egress.within(parseEgressAllow('127.0.0.2/32:*'));
    const url = `http://api.example:${receiver.port}/`;
    expect((await send(door, url)).statusCode).toBe(200);
    expect(await stream(door, url)).toBe(200);
    expect(receiver.connectionCount()).toBe(1);
    for (const refusing of [egress, other]) {
      expect(await failure(refusing, url)).toMatchObject(REFUSAL);
      expect(await stream(refusing, url)).toMatchObject(REFUSAL);
    }
    expect(await stream(door, url)).toBe(200);
    expect(receiver.connectionCount()).toBe(1);
    expect(receiver.requests).toHaveLength(3);
  });

  test("doesn't share connections with another door that has the same targets", async () => {
    await using receiver = await startReceiver();
    await using egress = createTestEgress({ allow: loopback(receiver) });
    const doors = [egress, ...[1, 2].map(() => egress.within(parseEgressAllow(loopback(receiver))))];
    for (const door of [...doors, ...doors]) expect(await stream(door, receiver.url)).toBe(200);
    expect(receiver.connectionCount()).toBe(3);
  });

  test("gives each owner its own connections, so one can't use up another's", async () => {
    const busy = Promise.withResolvers<object>();
    await using receiver = await startReceiver(({ path }) => (path === '/slow' ? busy.promise : {}));
    await using egress = createTestEgress({ allow: loopback(receiver), connectionsPerOrigin: 2 });
    const slow = ['a', 'a', 'a'].map((owner) => stream(egress, `${receiver.url}/slow`, owner));
    await receiver.waitFor(2);
    expect(await stream(egress, receiver.url, 'b')).toBe(200);
    busy.resolve({});
    expect(await Promise.all(slow)).toEqual([200, 200, 200]);
  });

  test('is the same door if it is requested again with the same allow-list', async () => {
    const allow = parseEgressAllow('127.0.0.1/32:4010');
    await using egress = createTestEgress();
    expect(egress.within(allow)).toBe(egress.within(allow));
  });

  test('checks again when a name later points elsewhere', async () => {
    await using receiver = await startReceiver();
    await using inside = await startRawServer(undefined, { host: '127.0.0.2', port: receiver.port });
    let responses = ['127.0.0.1'];
    await using egress = createTestEgress({ lookup: async () => responses });
    const door = egress.within(parseEgressAllow(loopback(receiver)));
    const url = `http://rebind.example:${receiver.port}/`;
    receiver.respondNext({ headers: { connection: 'close' } });
    expect(await stream(door, url)).toBe(200);
    for (responses of [['127.0.0.2'], ['127.0.0.1', '127.0.0.2'], ['::1'], ['169.254.169.254'], ['64:ff9b::7f00:1']])
      expect(await stream(door, url), responses.join()).toMatchObject(REFUSAL);
    expect(inside.connectionCount()).toBe(0);
    expect(receiver.connectionCount()).toBe(1);
  });

  test('shares the limit on kept connections with the other doors', async () => {
    await using first = await startReceiver();
    await using second = await startReceiver();
    await using egress = createTestEgress({ allow: loopback(first, second), maxConnections: 1 });
    const door = egress.within(parseEgressAllow(loopback(first, second)));
    expect(await stream(egress, first.url)).toBe(200);
    expect(await stream(door, second.url)).toBe(200);
    expect(await stream(egress, first.url)).toBe(200);
    expect([first, second].map((receiver) => receiver.connectionCount())).toEqual([2, 1]);
  });

  test('closes when the egress closes', async () => {
    await using receiver = await startReceiver();
    const egress = createTestEgress();
    const door = egress.within(parseEgressAllow(loopback(receiver)));
    expect(await stream(door, receiver.url)).toBe(200);
    await egress.close();
    expect(await stream(door, receiver.url)).toMatchObject({ errorClass: 'aborted' });
  });
});
