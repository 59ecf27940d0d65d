import { createSocket } from 'node:dgram';
import type { AddressInfo } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Addresses or texts to respond with (none for an empty response), or a failure. */
export type DnsAnswer = string[] | 'SERVFAIL' | 'NXDOMAIN';

const RECORD_TYPES: Record<number, string> = { 1: 'A', 16: 'TXT', 28: 'AAAA' };
const RESPONSE_CODES: Record<string, number> = { SERVFAIL: 2, NXDOMAIN: 3 };

/** Starts a DNS server (RFC 1035) on loopback for A, AAAA, and TXT queries. */
export async function startDnsServer(answer: (name: string, type: string) => DnsAnswer | Promise<DnsAnswer>) {
  const questions: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', async (query, from) => {
    const { name, type, end } = readQuestion(query);
    questions.push(`${type} ${name}`);
    const answered = await answer(name, type);
    const records = typeof answered === 'string' ? [] : answered.map(type === 'TXT' ? encodeText : encodeAddress);
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180 | (typeof answered === 'string' ? RESPONSE_CODES[answered]! : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([header, query.subarray(12, end), ...records]), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(socket.address() as AddressInfo).port}`,
    questions,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  };
}

function readQuestion(query: Buffer): { name: string; type: string; end: number } {
  const labels: string[] = [];
  let offset = 12;
  for (let length = query[offset]!; length > 0; length = query[offset]!) {
    labels.push(query.toString('ascii', offset + 1, offset + 1 + length));
    offset += length + 1;
  }
  return { name: labels.join('.'), type: RECORD_TYPES[query.readUInt16BE(offset + 1)] ?? 'other', end: offset + 5 };
}

function encodeAddress(address: string): Buffer {
  const data = Buffer.from(ipaddr.parse(address).toByteArray());
  return encodeRecord(data.length === 4 ? 1 : 28, data);
}

/** Splits the text in two, because resolvers must join the parts. */
function encodeText(text: string): Buffer {
  const half = Math.ceil(text.length / 2);
  const parts = [text.slice(0, half), text.slice(half)].map((part) => Buffer.from(part));
  return encodeRecord(16, Buffer.concat(parts.flatMap((part) => [Buffer.from([part.length]), part])));
}

function encodeRecord(type: number, data: Buffer): Buffer {
  const record = Buffer.alloc(12);
  record.writeUInt16BE(0xc00c, 0); // The name of the question, by pointer.
  record.writeUInt16BE(type, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([record, data]);
}
