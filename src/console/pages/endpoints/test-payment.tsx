import { Alert, Anchor, Button, Code, Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { Link } from 'wouter';
import { useApi } from '../../api/client.ts';
import { UNREACHABLE } from '../../api/problem.ts';
import { useProject } from '../../parts/current-project.tsx';
import { gatewayPath } from '../../parts/gateway-address.ts';
import { hasRequestBody } from './methods.tsx';
import type { EndpointRow } from './rows.ts';

type Outcome = { statusCode: number; body: string; transaction: string | null };

/** Buys a response from an endpoint with the sandbox's test money. */
export function TestPayment({ endpoint }: { endpoint: EndpointRow }) {
  const api = useApi();
  const project = useProject();
  const { methods } = endpoint;
  const [path, setPath] = useState(gatewayPath(project.id, endpoint.path));
  const [method, setMethod] = useState(methods.includes('GET') ? 'GET' : methods[0]!);
  const [body, setBody] = useState('{}');
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome>();
  const [problem, setProblem] = useState<string>();

  async function pay(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setOutcome(undefined);
    setProblem(undefined);
    const request = { path, method, ...(hasRequestBody(method) && { body }) };
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(request) };
    const response = await api.request('/console/test-payments', init).catch(() => undefined);
    const result = (await response?.json().catch(() => undefined)) as (Outcome & { detail?: string }) | undefined;
    if (response?.ok && result) setOutcome(result);
    else setProblem(result?.detail ?? UNREACHABLE);
    setBusy(false);
  }

  return (
    <form onSubmit={pay}>
      <Stack gap="sm">
        <Group align="end" gap="sm">
          {methods.length > 1 && (
            <NativeSelect
              label="Method"
              data={[...methods]}
              value={method}
              onChange={(event) => setMethod(event.currentTarget.value)}
            />
          )}
          <TextInput
            label="Path"
            description="Replace placeholders with real values. You can also add a query string."
            required
            flex={1}
            value={path}
            onChange={(event) => setPath(event.currentTarget.value)}
          />
        </Group>
        {hasRequestBody(method) && (
          <Textarea
            label="Request body (JSON)"
            autosize
            minRows={2}
            value={body}
            onChange={(event) => setBody(event.currentTarget.value)}
          />
        )}
        <Group gap="sm">
          <Button type="submit" loading={isBusy}>
            Make a test payment
          </Button>
          <Text size="sm" c="dimmed">
            Pays with test money from this server’s sandbox.
          </Text>
        </Group>
        {problem && <Alert color="red" role="alert" title={problem} />}
        {outcome && <TestOutcome {...outcome} />}
      </Stack>
    </form>
  );
}

function TestOutcome({ statusCode, body, transaction }: Outcome) {
  const project = useProject();
  return (
    <Stack gap="xs" role="status">
      <Alert color={transaction ? 'teal' : 'yellow'} title={transaction ? 'Paid' : 'Not charged'}>
        The response has status {statusCode}.{' '}
        {transaction && (
          <>
            Transaction: <Code>{transaction}</Code>.{' '}
          </>
        )}
        <Anchor component={Link} href={`/projects/${project.id}/payments`} size="sm">
          Open payments
        </Anchor>
      </Alert>
      <Code block style={{ maxHeight: 240, overflow: 'auto' }} tabIndex={0} role="region" aria-label="Response body">
        {body}
      </Code>
    </Stack>
  );
}
