import { Alert, Badge, Button, Code, Group, Stack, Text } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import { useApi } from '../../api/client.ts';
import { type Operation, type ParameterValues, requestPath } from '../../api/openapi.ts';
import { UNREACHABLE } from '../../api/problem.ts';
import { Command } from '../../parts/command.tsx';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import type { EnteredBody } from './body.ts';
import { typedBeforeDeletion } from './confirmation.ts';

type Result = { status: number; statusText: string; milliseconds: number; headers: string; body: string };

/** Sends the request as the signed-in user and shows the response. Requests that can change something require confirmation. */
export function RestTry(props: { operation: Operation; values: ParameterValues; body: EnteredBody | undefined }) {
  const { operation, values, body } = props;
  const { method } = operation;
  const api = useApi();
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [result, setResult] = useState<Result>();
  const [failure, setFailure] = useState<string>();
  const path = requestPath(operation, values);
  const obstacle = obstacleTo(props);
  const text = body?.value === undefined ? undefined : JSON.stringify(body.value, null, 2);

  async function run(): Promise<void> {
    setAsking(false);
    setBusy(true);
    setFailure(undefined);
    const started = performance.now();
    try {
      const headers: Record<string, string> = text === undefined ? {} : { 'content-type': 'application/json' };
      const response = await api.request(path, { method, headers, ...(text !== undefined && { body: text }) });
      const shown = readable(await response.text());
      const milliseconds = Math.round(performance.now() - started);
      const { status, statusText } = response;
      const received = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
      setResult({ status, statusText, milliseconds, headers: received, body: shown });
    } catch {
      setResult(undefined);
      setFailure(method === 'GET' ? UNREACHABLE : `${UNREACHABLE} The server may still have applied the change.`);
    }
    setBusy(false);
  }

  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Button
          size="xs"
          leftSection={<IconPlayerPlay size={14} />}
          loading={isBusy}
          disabled={obstacle !== undefined}
          onClick={() => (method === 'GET' ? void run() : setAsking(true))}
        >
          Try it
        </Button>
        <Text size="xs" c="dimmed">
          {obstacle ??
            `Sends the request as the signed-in user, with the values above.${method === 'GET' ? '' : ' You’ll be asked to confirm it.'}`}
        </Text>
      </Group>
      <ConfirmDialog
        isOpen={isAsking}
        title="Send this request?"
        action={`Send ${method}`}
        typed={method === 'DELETE' ? [typedBeforeDeletion(operation, values)] : []}
        isBusy={false}
        onConfirm={() => void run()}
        onClose={() => setAsking(false)}
      >
        <Stack gap="xs">
          It is sent as the signed-in user and changes real data.
          <Code block style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
            {`${method} ${window.location.origin}${path}`}
          </Code>
          {text !== undefined && (
            <Code block className="json" tabIndex={0} role="region" aria-label="Body to send">
              {text}
            </Code>
          )}
        </Stack>
      </ConfirmDialog>
      {failure && <Alert color="red" role="alert" title={failure} />}
      {result && <ResponseView result={result} />}
    </Stack>
  );
}

/** Why the request can't be sent yet. */
function obstacleTo(request: { operation: Operation; values: ParameterValues; body: EnteredBody | undefined }) {
  const { operation, values, body } = request;
  const missing = operation.parameters.filter(
    ({ name, in: place, required }) => place !== 'header' && required && !values[name],
  );
  if (missing.length > 0) return `Enter ${missing.map(({ name }) => name).join(' and ')} above first.`;
  return body && body.faults.length > 0 ? 'Fix the body above first.' : undefined;
}

function ResponseView({ result }: { result: Result }) {
  return (
    <Stack gap="xs" component="section" aria-label="Response">
      <Group gap="xs" role="status">
        <Badge color={result.status < 400 ? 'teal' : 'red'}>
          {result.status} {result.statusText}
        </Badge>
        <Text size="xs" c="dimmed" className="numeric">
          {result.milliseconds} ms
        </Text>
      </Group>
      <details>
        <Text component="summary" size="xs">
          Headers
        </Text>
        <Code block tabIndex={0}>
          {result.headers}
        </Code>
      </details>
      {result.body === '' ? (
        <Text size="sm" c="dimmed">
          No response body
        </Text>
      ) : (
        <Command>{result.body}</Command>
      )}
    </Stack>
  );
}

function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
