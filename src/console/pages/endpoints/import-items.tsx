import { Alert, Badge, Button, Checkbox, Code, Group, List, Stack, Text, TextInput } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import { ImportEndpointsDocument, type ImportEndpointsMutation } from '../../../generated/console/imports.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { useDraft } from '../../parts/drafts.ts';
import { formatCount, formatEnum, formatUsd } from '../../parts/format.ts';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { ConfirmImport, type SalesChange, salesChanges } from './confirm-import.tsx';
import type { ImportPreview, ImportSource } from './import-values.ts';

type Item = ImportPreview['items'][number];
type Result = NonNullable<ImportEndpointsMutation['importEndpoints']>['results'][number];
/** The user's choices for an item. */
type Choice = { isChosen: boolean; priceUsd: string };

/** The number of endpoints to import per request. Each endpoint counts toward the rate limit. */
const BATCH = 50;
const COLORS = { NEW: 'teal', CHANGED: 'orange', SAME: 'gray', GONE: 'red' } as const;

const keyOf = ({ path, methods, status }: Item) => `${status} ${path} ${methods.join(',')}`;
const canImport = ({ status }: Item) => status === 'NEW' || status === 'CHANGED';

/** The endpoints in a document. The user chooses which ones to import and sets their prices. */
export function ImportItems(props: {
  source: ImportSource;
  preview: ImportPreview;
  /** The changes that the user is being asked to confirm. The dialog around the items has to know. */
  toConfirm: readonly SalesChange[] | undefined;
  setToConfirm(changes: readonly SalesChange[] | undefined): void;
  onBack(): void;
  onClose(): void;
  onImported(): void;
}) {
  const { source, preview, toConfirm, setToConfirm, onBack, onClose, onImported } = props;
  const project = useProject();
  const { items, problems } = preview;
  const [choices, setChoices] = useState<Readonly<Record<string, Choice>>>(() => firstChoices(items));
  const [results, setResults] = useState<readonly Result[]>([]);
  const { submit, problem, isBusy } = useSubmit(ImportEndpointsDocument);
  const chosen = items.filter((item) => choices[keyOf(item)]?.isChosen);
  useDraft(
    'import-choices',
    () => choices,
    (kept) => setChoices((before) => ({ ...before, ...kept })),
  );
  const refusal = results.find(({ error }) => error?.code === 'RECENT_SIGN_IN_REQUIRED')?.error;
  const isDone = results.length > 0 && results.length >= chosen.length && !refusal;
  const change = (item: Item, changes: Partial<Choice>) =>
    setChoices((before) => ({ ...before, [keyOf(item)]: { ...before[keyOf(item)]!, ...changes } }));

  function confirm() {
    const changes = salesChanges(chosen, (item) => choices[keyOf(item)]!.priceUsd);
    if (changes.length > 0) setToConfirm(changes);
    else void save();
  }
  async function save() {
    const all: Result[] = [];
    setResults([]);
    for (let start = 0; start < chosen.length; start += BATCH) {
      const batch = chosen.slice(start, start + BATCH).map((item) => {
        const { path, methods, upstreamUrl } = item;
        const { priceUsd } = choices[keyOf(item)]!;
        // Without a price, an endpoint that exists keeps its own, which may have changed in the meantime.
        const hasPrice = item.status === 'NEW' || priceUsd !== item.priceUsd;
        return { path, methods, upstreamUrl, ...(hasPrice && { priceUsd }) };
      });
      const result = await submit({ input: { projectId: project.id, ...source, items: batch } });
      // The import can be repeated safely, because endpoints that were already imported don't change.
      if (!result?.importEndpoints) break;
      all.push(...result.importEndpoints.results);
      setResults([...all]);
    }
    setToConfirm(undefined);
    if (all.length > 0) onImported();
  }

  if (isDone) return <ImportResults results={results} onClose={onClose} />;
  return (
    <Stack gap="md">
      {problem && <ProblemNotice problem={problem} />}
      {refusal && <ProblemNotice problem={{ ...refusal, requestId: undefined, fields: [], retryable: false }} />}
      {problems.length > 0 && <Skipped problems={problems} />}
      <DataTable
        caption="Endpoints in the document"
        columns={columnsFor(choices, change)}
        rows={items}
        keyOf={keyOf}
        empty={null}
      />
      <Group justify="flex-end">
        <Button variant="default" onClick={onBack}>
          Back
        </Button>
        <Button loading={isBusy} disabled={chosen.length === 0} onClick={confirm}>
          Import {countEndpoints(chosen.length)}
        </Button>
      </Group>
      {toConfirm && (
        <ConfirmImport
          changes={toConfirm}
          isBusy={isBusy}
          onClose={() => setToConfirm(undefined)}
          onConfirm={() => void save()}
        />
      )}
    </Stack>
  );
}

function firstChoices(items: readonly Item[]): Record<string, Choice> {
  return Object.fromEntries(
    items.filter(canImport).map((item) => [keyOf(item), { isChosen: true, priceUsd: item.priceUsd ?? '' }]),
  );
}

function columnsFor(
  choices: Readonly<Record<string, Choice>>,
  change: (item: Item, changes: Partial<Choice>) => void,
): Column<Item>[] {
  return [
    {
      title: 'Import',
      width: 60,
      render: (item) =>
        canImport(item) && (
          <Checkbox
            className="select-target"
            label={<span className="visually-hidden">Import {item.path}</span>}
            checked={choices[keyOf(item)]!.isChosen}
            onChange={({ currentTarget }) => change(item, { isChosen: currentTarget.checked })}
          />
        ),
    },
    { title: 'Status', render: ({ status }) => <Badge color={COLORS[status]}>{formatEnum(status)}</Badge> },
    { title: 'Path', render: (item) => <PathAndChanges item={item} /> },
    {
      title: 'Upstream',
      render: ({ upstreamUrl }) => (
        <Code bg="transparent" p={0} style={{ overflowWrap: 'anywhere' }}>
          {upstreamUrl}
        </Code>
      ),
    },
    {
      title: 'Price',
      align: 'right',
      width: 130,
      render: (item) =>
        canImport(item) ? (
          <TextInput
            aria-label={`Price of ${item.path}`}
            inputMode="decimal"
            leftSection="$"
            value={choices[keyOf(item)]!.priceUsd}
            onChange={({ currentTarget }) => change(item, { priceUsd: currentTarget.value })}
          />
        ) : (
          item.priceUsd && formatUsd(item.priceUsd)
        ),
    },
  ];
}

function PathAndChanges({ item }: { item: Item }) {
  const { path, methods, description, status, changes, problems } = item;
  return (
    <Stack gap={2}>
      <Code bg="transparent" p={0}>
        {path}
      </Code>
      <Text size="xs" c="dimmed" style={{ whiteSpace: 'pre-line' }}>
        {[methods.join(', '), description].filter(Boolean).join('\n')}
      </Text>
      {status === 'GONE' && <Text size="xs">Not in the document. The import doesn’t change it.</Text>}
      {changes.map(({ field, before, after }) => (
        <Text size="xs" key={field} style={{ overflowWrap: 'anywhere' }}>
          {field}: <del>{shown(before)}</del> → <ins>{shown(after)}</ins>
        </Text>
      ))}
      {problems.map((problem) => (
        <Text size="xs" key={problem}>
          <IconAlertTriangle size={12} aria-hidden /> {problem}
        </Text>
      ))}
    </Stack>
  );
}

function shown(value: unknown): string {
  if (value === null) return 'none';
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function Skipped({ problems }: { problems: ImportPreview['problems'] }) {
  return (
    <Alert
      color="orange"
      icon={<IconAlertTriangle size={18} />}
      title={problems.length === 1 ? 'One part can’t be imported' : `${problems.length} parts can’t be imported`}
    >
      <List size="sm">
        {problems.map(({ pointer, message }) => (
          <List.Item key={`${pointer} ${message}`}>
            <Code>{pointer}</Code> {message}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}

function ImportResults({ results, onClose }: { results: readonly Result[]; onClose(): void }) {
  const failed = results.filter(({ status }) => status === 'FAILED');
  const done = results.length - failed.length;
  return (
    <Stack gap="md">
      <Text role="status">Imported {countEndpoints(done)}.</Text>
      {failed.length > 0 && (
        <Alert
          color="red"
          role="alert"
          icon={<IconAlertTriangle size={18} />}
          title={`${countEndpoints(failed.length)} failed`}
        >
          <List size="sm">
            {failed.map(({ path, methods, error }) => (
              <List.Item key={`${path} ${methods.join(',')}`}>
                <Code>{path}</Code> {error?.message}
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
      <Group justify="flex-end">
        <Button onClick={onClose}>Close</Button>
      </Group>
    </Stack>
  );
}

function countEndpoints(count: number): string {
  return count === 1 ? '1 endpoint' : `${formatCount(count)} endpoints`;
}
