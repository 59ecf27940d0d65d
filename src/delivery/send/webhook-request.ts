import type { ClaimedEvent } from '../model/claimed-delivery.ts';
import { signWebhook } from './signing.ts';

/**
 * A webhook's body: `{id, type, timestamp, projectId, data}`, plus `"test":true` on test events. `data` is copied as it
 * was stored, so the bytes are the same on every attempt.
 */
export function webhookBody(event: Omit<ClaimedEvent, 'version'>, projectId: string): string {
  const head = JSON.stringify({ id: event.id, type: event.type, timestamp: event.timestamp.toISOString(), projectId });
  return `${head.slice(0, -1)},"data":${event.data}${event.test ? ',"test":true' : ''}}`;
}

/** A webhook's headers that are the same on every attempt. */
export function webhookHeaders({ id, version, userAgent }: { id: string; version: number; userAgent: string }) {
  return {
    'content-type': 'application/json',
    'user-agent': userAgent,
    'tollgate-payload-version': String(version),
    'webhook-id': id,
  };
}

/** All of an attempt's headers, including one signature per secret. */
export function signedWebhookHeaders(message: {
  id: string;
  version: number;
  userAgent: string;
  timestampSeconds: number;
  body: string | Buffer;
  secrets: readonly string[];
}): Record<string, string> {
  return {
    ...webhookHeaders(message),
    'webhook-timestamp': String(message.timestampSeconds),
    'webhook-signature': signWebhook(message),
  };
}
