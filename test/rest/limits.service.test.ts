import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { schema } from '../../src/graphql/schema.ts';
import { createOpenApi } from '../../src/rest/openapi.ts';
import { openFuzzTarget } from '../conformance/fuzz-target.ts';
import type { TestApp, TestUser } from '../support/app.ts';
import { type Case, casesOf, type Document, defaultsOf, type Sent } from './limit-cases.ts';

const document = createOpenApi(schema) as Document;
const { cases, unlimited } = casesOf(document);

let app: TestApp;
let alice: TestUser;
let ids: Record<string, string>;
beforeAll(async () => {
  ({ app, alice, ids } = await openFuzzTarget({ GATEWAY_DOMAIN: 'shops.example' }));
});
afterAll(() => app?.stop());

type Problem = { errors?: { pointer: string; message: string }[] };

/** Sends a request, and returns the messages about the field or something in it. */
async function refusals({ method, path, pointer }: Case, { body, query = '' }: Sent): Promise<string[]> {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => ids[name] ?? 'mem_00000000000000000000000000');
  const response = await fetch(app.url + filled + query, {
    method,
    headers: {
      authorization: `Bearer ${alice.token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(response.status, text).toBeLessThan(500);
  if (response.status !== 422) return [];
  const { errors = [] } = JSON.parse(text) as Problem;
  const about = errors.filter((error) => error.pointer === pointer || error.pointer.startsWith(`${pointer}/`));
  return about.map(({ message }) => message);
}

test('every limit that the server enforces is in the document: other text, lists, and numbers can be of any size', async () => {
  const found: string[] = [];
  for (const one of unlimited) {
    const messages = await refusals(one, one.beyond);
    if (messages.length > 0) found.push(`${one.name}: ${messages.join()}`);
  }
  expect(unlimited.length).toBeGreaterThan(20);
  expect(found).toEqual([]);
});

test.each(defaultsOf(document))('$operationId without $field has the documented default', async (one) => {
  const path = one.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => ids[name]!);
  const { status, body } = await alice.rest<Record<string, unknown>>('POST', path, one.body);
  expect([status, body[one.field]]).toEqual([201, one.value]);
});

describe('a value at the limit is accepted, and one beyond it gets a 422 that names the field:', () => {
  test('there are cases for all kinds of limits', () => {
    const keywords = new Set(cases.map(({ keyword }) => keyword));
    const all = ['maxItems', 'maxLength', 'maximum', 'minItems', 'minLength', 'minimum', 'pattern', 'format'];
    expect([...keywords].sort()).toEqual(all.sort());
  });

  test.each(cases)('$name', async (one) => {
    // Both values can be refused for another reason, such as a certificate without content.
    const atLimit = await refusals(one, one.atLimit);
    const beyond = await refusals(one, one.beyond);
    expect(beyond.filter((message) => !atLimit.includes(message))).not.toEqual([]);
  });
});
