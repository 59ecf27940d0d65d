/** A process with clients. Each client sends its next request once it has the response to the previous one. */
import { randomBytes } from 'node:crypto';
import { now, serve } from '../support/child.ts';
import { openConnection } from '../support/connection.ts';

export type LoadMethods = typeof methods;

export type Load = {
  /** The URL of the server. */
  url: string;
  request: ApiRequest;
  token: string;
  connections: number;
  /** Stops after this many seconds or requests. */
  limit: { seconds: number } | { requests: number };
};

export type ApiRequest = {
  method: 'GET' | 'POST';
  path: string;
  /** The JSON body. `UNIQUE` in it is replaced with a different value for each request. */
  body?: string;
  status: number;
  /** Text that each response must contain. */
  contains: string;
  /** IDs of the same length. Requests use them in turn instead of the first one. */
  inTurn?: readonly string[];
};

export type LoadResult = { count: number; seconds: number; latencies: Float64Array };

/** A placeholder with the same length as the value that replaces it. */
export const UNIQUE = '-unique-unique-';

const run = randomBytes(3).toString('hex');
let lastNumber = 0;
const nextUnique = () => `${run}${(++lastNumber).toString(36).padStart(UNIQUE.length - run.length, '0')}`;

const methods = {
  /** @throws Error if a response has a different status or content. */
  async load({ url, request, token, connections, limit }: Load): Promise<LoadResult> {
    const { host, hostname, port } = new URL(url);
    const { method, path, body, status, contains, inTurn = [''] } = request;
    const head = [
      `${method} ${path} HTTP/1.1`,
      `host: ${host}`,
      `authorization: Bearer ${token}`,
      'accept: application/json',
      ...(body === undefined ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
    ];
    const text = `${head.join('\r\n')}\r\n\r\n${body ?? ''}`;
    const latencies: number[] = [];
    let started = 0;

    async function ask(): Promise<void> {
      const connection = await openConnection(hostname, Number(port), '127.0.0.1');
      while ('seconds' in limit ? now() < endsAt : started < limit.requests) {
        started++;
        const sentAt = now();
        const sent = text.replace(UNIQUE, nextUnique).replace(inTurn[0]!, inTurn[started % inTurn.length]!);
        const response = await connection.send(sent);
        if (response.status !== status || !response.text.includes(contains))
          throw new Error(`${url}${path} responded with ${response.status}: ${response.text}`);
        latencies.push(now() - sentAt);
      }
      connection.close();
    }

    const startedAt = now();
    const endsAt = startedAt + ('seconds' in limit ? limit.seconds * 1000 : 0);
    await Promise.all(Array.from({ length: connections }, ask));
    return { count: latencies.length, seconds: (now() - startedAt) / 1000, latencies: Float64Array.from(latencies) };
  },
};

serve(methods);
