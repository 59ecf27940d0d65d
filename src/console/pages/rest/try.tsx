import { Alert, Badge, Button, Code, Group, Stack, Text } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import { useApi } from '../../api/client.ts';
import { type Operation, requestPath } from '../../api/openapi.ts';
import { UNREACHABLE } from '../../api/problem.ts';
import { Command } from '../../parts/command.tsx';

type Result = { status: number; statusText: string; milliseconds: number; headers: string; body: string };

/** Sends the request as the signed-in user and shows the response. For read-only requests. */
export function RestTry({ operation, values }: { operation: Operation; values: Readonly<Record<string, string>> }) {
  const api = useApi();
  const [isBusy, setBusy] = useState(false);
  const [result, setResult] = useState<Result>();
  const [failure, setFailure] = useState<string>();
  const path = requestPath(operation, values);
  const missing = operation.parameters.filter(({ name, in: place }) => place === 'path' && !values[name]);

  async function run(): Promise<void> {
    setBusy(true);
    setFailure(undefined);
    const started = performance.now();
    try {
      const response = await api.request(path);
      const body = readable(await response.text());
      const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
      const milliseconds = Math.round(performance.now() - started);
      setResult({ status: response.status, statusText: response.statusText, milliseconds, headers, body });
    } catch {
      setResult(undefined);
      setFailure(UNREACHABLE);
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
          disabled={missing.length > 0}
          onClick={() => void run()}
        >
          Try it
        </Button>
        <Text size="xs" c="dimmed">
          {missing.length > 0
            ? `Enter ${missing.map(({ name }) => name).join(' and ')} above first.`
            : 'Sends the request as you, with the values above.'}
        </Text>
      </Group>
      {failure && <Alert color="red" role="alert" title={failure} />}
      {result && (
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
          <Command>{result.body}</Command>
        </Stack>
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
