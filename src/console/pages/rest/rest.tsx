import { Alert, Anchor, Badge, Code, Grid, List, NavLink, Stack, Text, TextInput, Title } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { Link, useParams } from 'wouter';
import { loadReference, OPENAPI_PATH, type Operation, type Reference } from '../../api/openapi.ts';
import { Command } from '../../parts/command.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { Loading } from '../../parts/loading.tsx';
import { Page, Panel } from '../../parts/page.tsx';
import { METHOD_COLORS, RestOperation } from './operation.tsx';

/** What the REST interface takes and answers, with the project of the reader filled in. */
export function RestPage() {
  const { operationId } = useParams<{ operationId?: string }>();
  const [reference, setReference] = useState<Reference>();
  const [failure, setFailure] = useState<Error>();
  useEffect(() => {
    loadReference().then(setReference, setFailure);
  }, []);
  const operation = reference?.operations.find((candidate) => candidate.operationId === operationId);
  return (
    <Page
      title="REST reference"
      lead="Every operation of the REST interface, with this project filled in."
      actions={
        <Anchor href={OPENAPI_PATH} target="_blank">
          OpenAPI 3.1
        </Anchor>
      }
    >
      {failure && <Alert color="red" role="alert" title={failure.message} />}
      {!reference && !failure && <Loading />}
      {reference && (
        <Grid gap="lg">
          <Grid.Col span={{ base: 12, md: 4 }}>
            <Contents reference={reference} current={operationId} />
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 8 }}>
            {operation ? (
              <RestOperation key={operation.operationId} operation={operation} schemas={reference.schemas} />
            ) : (
              <Introduction isUnknown={operationId !== undefined} />
            )}
          </Grid.Col>
        </Grid>
      )}
    </Page>
  );
}

function matches({ summary, path, method, operationId }: Operation, words: string[]): boolean {
  const text = `${method} ${path} ${summary} ${operationId}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function Contents({ reference, current }: { reference: Reference; current: string | undefined }) {
  const { id } = useProject();
  const [search, setSearch] = useState('');
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = reference.operations.filter((operation) => matches(operation, words));
  const groups = reference.tags
    .map((tag) => ({ ...tag, operations: found.filter(({ tags }) => tags.includes(tag.name)) }))
    .filter(({ operations }) => operations.length > 0);
  return (
    <Stack gap="sm">
      <TextInput
        label="Search operations"
        placeholder="webhooks, POST, resend"
        leftSection={<IconSearch size={16} />}
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
      />
      <Text role="status" className="visually-hidden">{`${found.length} operations`}</Text>
      {groups.length === 0 && (
        <Text size="sm" c="dimmed">
          No operation has all of these words in its path or its summary.
        </Text>
      )}
      <Stack component="nav" aria-label="Operations" gap="md">
        {groups.map(({ name, operations }) => (
          <Stack gap={2} key={name}>
            <Text fz="xs" fw={600} c="dimmed" px="xs">
              {name}
            </Text>
            {operations.map(({ operationId, method, summary }) => (
              <NavLink
                key={operationId}
                component={Link}
                href={`/projects/${id}/rest/${operationId}`}
                label={summary.replaceAll('`', '')}
                leftSection={
                  <Badge color={METHOD_COLORS[method] ?? 'gray'} size="sm" w={58}>
                    {method}
                  </Badge>
                }
                active={operationId === current}
                aria-current={operationId === current ? 'page' : undefined}
                className="nav-link"
              />
            ))}
          </Stack>
        ))}
      </Stack>
    </Stack>
  );
}

function Introduction({ isUnknown }: { isUnknown: boolean }) {
  const { id } = useProject();
  const start = [
    'export TOLLGATE_TOKEN=…',
    `curl -sS '${window.location.origin}/api/projects/${id}' -H "Authorization: Bearer $TOLLGATE_TOKEN"`,
  ].join('\n');
  return (
    <Panel>
      {isUnknown && <Alert color="orange" title="There is no such operation. Choose one of the list." />}
      <Title order={2}>Start</Title>
      <Text size="sm">
        Make an{' '}
        <Anchor component={Link} href={`/projects/${id}/keys`} underline="always">
          API key
        </Anchor>
        , keep it in the environment, and ask for this project:
      </Text>
      <Command>{start}</Command>
      <List size="sm" spacing={6}>
        <List.Item>
          Bodies are JSON. A <Code>PATCH</Code> changes the fields it names; fields that are not known are refused.
        </List.Item>
        <List.Item>
          Lists answer <Code>data</Code> and <Code>nextCursor</Code>, newest first; give the cursor back as{' '}
          <Code>after</Code>.
        </List.Item>
        <List.Item>
          Send an <Code>Idempotency-Key</Code> with a <Code>POST</Code>, and sending it again within 24 hours is safe.
        </List.Item>
        <List.Item>
          Errors are <Code>application/problem+json</Code> with a <Code>code</Code> for programs and a{' '}
          <Code>requestId</Code>.
        </List.Item>
      </List>
    </Panel>
  );
}
