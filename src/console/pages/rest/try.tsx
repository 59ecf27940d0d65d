import { Alert, Badge, Button, Code, Group, Stack, Text } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import { useApi } from '../../api/client.ts';
import { type Operation, requestPath } from '../../api/openapi.ts';
import { Command } from '../../parts/command.tsx';

type Tried = { status: number; statusText: string; milliseconds: number; headers: string; body: string };

/** Makes the request as whoever is signed in, and shows what came. For requests that change nothing. */
export function RestTry({ operation, values }: { operation: Operation; values: Readonly<Record<string, string>> }) {
  const api = useApi();
  const [isBusy, setBusy] = useState(false);
  const [tried, setTried] = useState<Tried>();
  const [failure, setFailure] = useState<string>();
  const path = requestPath(operation, values);
  const missing = operation.parameters.filter(({ name, in: place }) => place === 'path' && !values[name]);

  async function run(): Promise<void> {
    setBusy(true);
    setFailure(undefined);
    const started = performance.now();
    try {
      const answer = await api.request(path);
      const body = readable(await answer.text());
      const headers = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
      const milliseconds = Math.round(performance.now() - started);
      setTried({ status: answer.status, statusText: answer.statusText, milliseconds, headers, body });
    } catch {
      setTried(undefined);
      setFailure('The server could not be reached. Check your connection, and that the service runs.');
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
            ? `Fill in ${missing.map(({ name }) => name).join(' and ')} above first.`
            : 'As you, with what is filled in above.'}
        </Text>
      </Group>
      {failure && <Alert color="red" role="alert" title={failure} />}
      {tried && (
        <Stack gap="xs" component="section" aria-label="What came back">
          <Group gap="xs" role="status">
            <Badge color={tried.status < 400 ? 'teal' : 'red'}>
              {tried.status} {tried.statusText}
            </Badge>
            <Text size="xs" c="dimmed" className="numeric">
              {tried.milliseconds} ms
            </Text>
          </Group>
          <details>
            <Text component="summary" size="xs">
              Headers
            </Text>
            <Code block tabIndex={0}>
              {tried.headers}
            </Code>
          </details>
          <Command>{tried.body}</Command>
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
