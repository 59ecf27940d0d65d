import { expect } from 'vitest';
import type { TestApp } from './app.ts';
import { loadOpenApi, type OpenApiChecker } from './openapi.ts';

export type RestResponse<T = Record<string, unknown>> = { status: number; headers: Headers; text: string; body: T };

/** A request. Bytes and strings are sent unchanged, everything else as JSON. */
export type RestRequest = { body?: unknown; headers?: Record<string, string> };

export type Rest = {
  openapi: OpenApiChecker;
  /**
   * Sends a request with or without a credential, and checks the response against the OpenAPI document. `body` is
   * undefined if the response isn't JSON.
   */
  send<T = Record<string, unknown>>(
    credential: { token: string } | undefined,
    method: string,
    path: string,
    request?: RestRequest,
  ): Promise<RestResponse<T>>;
};

/** Returns a REST client that fails on undocumented responses and on 5xx statuses. */
export async function openRest(app: Pick<TestApp, 'url'>): Promise<Rest> {
  const openapi = await loadOpenApi(app.url);
  return {
    openapi,
    async send<T>(credential: { token: string } | undefined, method: string, path: string, request: RestRequest = {}) {
      const { body, headers } = request;
      const response = await fetch(app.url + path, {
        method,
        headers: {
          ...(credential && { authorization: `Bearer ${credential.token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: toBytes(body) }),
      });
      const text = await response.text();
      const answer = { status: response.status, headers: response.headers, text };
      if (method !== 'HEAD' && method !== 'OPTIONS') openapi.check({ method, path, ...answer });
      expect(response.status, `${method} ${path.slice(0, 200)} ${text.slice(0, 500)}`).toBeLessThan(500);
      const isJson = text !== '' && /^application\/(problem\+)?json\b/.test(response.headers.get('content-type') ?? '');
      return { ...answer, body: (isJson ? JSON.parse(text) : undefined) as T };
    },
  };
}

function toBytes(body: unknown): Uint8Array<ArrayBuffer> {
  if (body instanceof Uint8Array) return new Uint8Array(body);
  return new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body));
}
