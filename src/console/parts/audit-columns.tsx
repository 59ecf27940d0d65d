import { Anchor, Badge, Code, Group, Stack, Text } from '@mantine/core';
import { type ReactNode, use } from 'react';
import { Link } from 'wouter';
import { type AuditRow, actionText, actorOf, changesOf, resourceName, resourcePath } from './audit-entry.ts';
import { Breakable } from './breakable.tsx';
import { Copy } from './copy-button.tsx';
import { CurrentProjectContext } from './current-project.tsx';
import type { Column } from './data-table.tsx';
import { Time } from './time.tsx';

/** The columns of the audit log. */
export const AUDIT_COLUMNS: readonly Column<AuditRow>[] = [
  {
    title: 'Action',
    render: ({ action }) => (
      <Text size="sm" fw={500}>
        {actionText(action)}
      </Text>
    ),
  },
  { title: 'Resource', render: (entry) => <Resource entry={entry} /> },
  { title: 'Changes', render: (entry) => <Changes entry={entry} /> },
  { title: 'Actor', render: (entry) => <Actor entry={entry} /> },
  { title: 'Time', align: 'right', render: ({ createdAt }) => <Time iso={createdAt} /> },
];

/** Who made the change, and the self-reported name of the program they used. */
function Actor({ entry }: { entry: AuditRow }) {
  const { name, badge } = actorOf(entry);
  return (
    <>
      <Group gap={6} wrap="nowrap">
        <Text size="sm">{name}</Text>
        {badge && <Badge color="gray">{badge}</Badge>}
        {entry.isReported && <Badge color="orange">Reported by the client</Badge>}
      </Group>
      {entry.client && (
        <Text size="xs" c="dimmed">
          via {entry.client}
        </Text>
      )}
    </>
  );
}

/** The name of the changed resource, which links to its page, and its ID. */
function Resource({ entry }: { entry: AuditRow }) {
  const project = use(CurrentProjectContext);
  const path = resourcePath(entry);
  const { targetId } = entry;
  const name = resourceName(entry);
  const id = (
    <Code bg="transparent" p={0} c={name ? 'dimmed' : 'inherit'} fz="xs">
      <Breakable text={targetId} />
    </Code>
  );
  const linked = (content: ReactNode) =>
    project && path ? (
      <Anchor component={Link} href={`/projects/${project.id}${path}`}>
        {content}
      </Anchor>
    ) : (
      <Text size="sm">{content}</Text>
    );
  return (
    <Stack gap={0} align="flex-start">
      {name && linked(<Breakable text={name} />)}
      <Group gap={4} wrap="nowrap">
        {name ? id : linked(id)}
        <Copy value={targetId} what="resource ID" />
      </Group>
    </Stack>
  );
}

/** The changed fields, one per line, and the stored values on demand. */
function Changes({ entry }: { entry: AuditRow }) {
  const changes = changesOf(entry);
  if (changes.length === 0) return null;
  const { changes: after, previous: before } = entry;
  return (
    <Stack gap={2} w="100%">
      {changes.map(({ label, before: old, after: value }) => (
        <Text key={label} size="sm" style={{ overflowWrap: 'anywhere' }}>
          <Text span c="dimmed" size="sm">
            {label}:
          </Text>{' '}
          {old !== undefined && `${old} → `}
          {value}
        </Text>
      ))}
      <details className="audit-json">
        <summary>JSON</summary>
        <Code block style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
          {JSON.stringify(before ? { before, after } : after, null, 2)}
        </Code>
      </details>
    </Stack>
  );
}
