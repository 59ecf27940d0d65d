import { EventEmitter } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { limitTickets } from '../../src/egress/session-tickets.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A connection whose session takes this many bytes. */
function connect(sessionBytes: number) {
  const transport = { bytesRead: 0 };
  const closed: unknown[] = [];
  const socket = Object.assign(new EventEmitter(), {
    bytesRead: 0,
    getSession: () => Buffer.alloc(sessionBytes),
    destroy(error: unknown) {
      closed.push(error);
      socket.emit('close');
    },
  });
  limitTickets(socket as unknown as TLSSocket, transport);
  socket.emit('secureConnect');
  const sendTickets = (count: number) => {
    for (let sent = 0; sent < count; sent++) socket.emit('session', Buffer.alloc(0));
  };
  return { socket, transport, closed, sendTickets };
}

describe('a connection', () => {
  test('is closed if the server sends more than a hundred session tickets', () => {
    const { closed, sendTickets } = connect(700);
    sendTickets(100);
    expect(closed).toEqual([]);
    sendTickets(1);
    expect(closed).toMatchObject([{ errorClass: 'protocol_error' }]);
  });

  test('is closed if the server sends far more than its response, and its tickets can’t be counted', () => {
    const { socket, transport, closed } = connect(11_000);
    transport.bytesRead = 500_000;
    socket.bytesRead = 10_000;
    vi.advanceTimersByTime(1_000);
    expect(closed).toEqual([]);
    transport.bytesRead = 600_000;
    vi.advanceTimersByTime(1_000);
    expect(closed).toMatchObject([{ errorClass: 'protocol_error' }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('isn’t checked regularly if its tickets can be counted', () => {
    connect(700);
    expect(vi.getTimerCount()).toBe(0);
  });
});
