import { LinearClient } from '@linear/sdk';
import { parse, print } from 'graphql';
import { expect, test } from 'vitest';
import { linear } from '../../../src/connectors/types/linear.ts';
import { startReceiver } from '../../support/receiver.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const config = { apiKey: 'lin_api_secret', teamId: '9cfb482a-81e3-4154-b5b9-2c805e70a02d' };
const created = '{"data":{"issueCreate":{"success":true,"lastSyncId":1,"issue":{"id":"x"}}}}';

test.each(['payment.failed', 'customer.milestone'] as const)(
  'the Linear connector creates the same issue for %s as Linear’s library',
  async (eventType) => {
    const ours = requestOf(linear.build([sampleEvent(eventType)], config, sampleContext()));
    const { variables } = JSON.parse(ours.body ?? '');
    await using receiver = await startReceiver(() => ({
      headers: { 'content-type': 'application/json' },
      body: created,
    }));
    const client = new LinearClient({ apiKey: config.apiKey, apiUrl: `${receiver.url}/graphql` });
    await client.createIssue(variables.input);

    const [theirs] = await receiver.waitFor(1);
    expect(theirs?.method).toBe(ours.method);
    expect(theirs?.path).toBe(new URL(ours.url).pathname);
    expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
    expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
    const sent = JSON.parse(String(theirs?.body));
    expect(sent.variables).toEqual(variables);
    // The library requests more fields. The mutation, its argument, and its type are the same.
    expect(print(parse(sent.query))).toContain('issueCreate(input: $input)');
    expect(print(parse(sent.query))).toContain('$input: IssueCreateInput!');
    expect(print(parse(JSON.parse(ours.body ?? '').query))).toContain('($input: IssueCreateInput!)');
  },
);

test('the Linear connector sends an OAuth token the way the library does', async () => {
  const ours = requestOf(
    linear.build([sampleEvent('payment.failed')], { ...config, apiKey: 'lin_oauth_x' }, sampleContext()),
  );
  await using receiver = await startReceiver(() => ({
    headers: { 'content-type': 'application/json' },
    body: created,
  }));
  const client = new LinearClient({ accessToken: 'lin_oauth_x', apiUrl: `${receiver.url}/graphql` });
  await client.createIssue({ teamId: config.teamId, title: 'x' });
  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
});
