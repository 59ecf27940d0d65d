/** The upper limit: signed 1 KB POSTs through a bare undici Pool, without a queue or a history. */
import { createHmac, randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { serve } from '../support/child.ts';
import { FILLER } from './engine.ts';

export type RawMethods = typeof methods;

const KEY = Buffer.alloc(32, 7);
const CONCURRENCY = 64;

const methods = {
  /** @returns the duration in seconds, and the CPU time used. */
  async post(url: string, count: number): Promise<{ seconds: number; cpuMicroseconds: number }> {
    const pool = new Pool(url, { connections: CONCURRENCY });
    let left = count;

    async function postOne(): Promise<void> {
      const id = randomUUID();
      const now = new Date();
      const timestamp = String(Math.floor(now.getTime() / 1000));
      const data = { description: FILLER };
      const body = JSON.stringify({ id, type: 'endpoint.created', timestamp: now.toISOString(), data });
      const signature = createHmac('sha256', KEY).update(`${id}.${timestamp}.${body}`).digest('base64');
      const headers = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      };
      const response = await pool.request({ method: 'POST', path: '/', headers, body });
      await response.body.dump();
    }

    async function work(): Promise<void> {
      while (left-- > 0) await postOne();
    }

    const startedAt = performance.now();
    const before = process.cpuUsage();
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    const { user, system } = process.cpuUsage(before);
    await pool.close();
    return { seconds: (performance.now() - startedAt) / 1000, cpuMicroseconds: user + system };
  },
};

serve(methods);
