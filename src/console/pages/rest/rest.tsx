import { Alert, Anchor, Badge, Code, Grid, List, NavLink, Stack, Text, TextInput, Title } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { Link, useParams } from 'wouter';
import { loadReference, OPENAPI_PATH, type Operation, type RestReference } from '../../api/openapi.ts';
import { Command } from '../../parts/command.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { Loading } from '../../parts/loading.tsx';
import { Page, Panel } from '../../parts/page.tsx';
import { METHOD_COLORS, RestOperation } from './operation.tsx';

/** The REST API reference, with the current project's ID filled in. */
export function RestPage() {
  const { id: projectId } = useProject();
  const { operationId } = useParams<{ operationId?: string }>();
  const [reference, setReference] = useState<RestReference>();
  const [failure, setFailure] = useState<Error>();
  useEffect(() => {
    loadReference().then(setReference, setFailure);
  }, []);
  const operation = reference?.operations.find((candidate) => candidate.operationId === operationId);
  // The list stays in place next to an operation, so the top of a newly opened one may be out of view.
  useEffect(() => {
    if (operation) window.scrollTo(0, 0);
  }, [operation]);
  return (
    <Page
      title="REST reference"
      lead="Every operation in the REST API, with this project’s ID filled in."
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
          <Grid.Col span={{ base: 12, md: 4 }} className="rest-contents" {...(operation && { visibleFrom: 'md' })}>
            <Contents reference={reference} current={operationId} />
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 8 }}>
            {operation ? (
              <>
                <Anchor component={Link} href={`/projects/${projectId}/rest`} hiddenFrom="md">
                  All operations
                </Anchor>
                <RestOperation key={operation.operationId} operation={operation} schemas={reference.schemas} />
              </>
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

function Contents({ reference, current }: { reference: RestReference; current: string | undefined }) {
  const { id } = useProject();
  const [search, setSearch] = useState('');
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Without the braces, the effect would return what `scrollIntoView` returns, which is a promise in some browsers.
    list.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'center' });
  }, []);
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
          No matching operations.
        </Text>
      )}
      <Stack ref={list} component="nav" aria-label="Operations" gap="md">
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
      {isUnknown && <Alert color="orange" title="Operation not found. Choose one from the list." />}
      <Title order={2}>Get started</Title>
      <Text size="sm">
        Create an{' '}
        <Anchor component={Link} href={`/projects/${id}/keys`} underline="always">
          API key
        </Anchor>
        , set it as an environment variable, and fetch this project:
      </Text>
      <Command>{start}</Command>
      <List size="sm" spacing={6}>
        <List.Item>
          Request bodies are JSON. A <Code>PATCH</Code> changes only the fields you send. Unknown fields and query
          parameters are rejected.
        </List.Item>
        <List.Item>
          Lists return <Code>data</Code>, newest first, and <Code>nextCursor</Code>. To get the next page, send the
          cursor as <Code>after</Code>.
        </List.Item>
        <List.Item>
          To retry a <Code>POST</Code> safely within 24 hours, send an <Code>Idempotency-Key</Code> with it.
        </List.Item>
        <List.Item>
          Errors are <Code>application/problem+json</Code> with a machine-readable <Code>code</Code> and a{' '}
          <Code>requestId</Code>.
        </List.Item>
      </List>
    </Panel>
  );
}
