import { Button, Group, Select, Stack, Text, Textarea } from '@mantine/core';
import { IconPlayerPlay, IconPlayerStop } from '@tabler/icons-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useApi } from '../../api/client.ts';
import { followDocument, isSubscription, runDocument } from '../../api/run-document.ts';
import { Command } from '../../parts/command.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { Panel } from '../../parts/page.tsx';
import { EXAMPLES } from './examples.ts';

/** Answers of a subscription that are kept; the newest are on top. */
const MAX_RESULTS = 20;
const NO_ANSWER = 'The server could not be reached. Check your connection, and that the service runs.';

/** An editor of a document and its variables, and what came back. */
export function GraphqlRunner() {
  const project = useProject();
  const [query, setQuery] = useState(EXAMPLES[0]!.query);
  const [variables, setVariables] = useState(JSON.stringify({ projectId: project.id }, null, 2));
  const [variablesError, setVariablesError] = useState<string>();
  const { results, note, isRunning, run, stop } = useRun();

  function start(): void {
    const parsed = parseVariables(variables);
    setVariablesError(parsed ? undefined : 'Must be a JSON object, for example {"first": 10}.');
    if (parsed) run(query, parsed);
  }
  function startByKeys(event: KeyboardEvent): void {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    start();
  }

  return (
    <Stack gap="lg">
      <Panel>
        <Select
          label="Begin with"
          data={EXAMPLES.map(({ name }) => name)}
          defaultValue={EXAMPLES[0]!.name}
          allowDeselect={false}
          onChange={(chosen) => setQuery(EXAMPLES.find(({ name }) => name === chosen)?.query ?? query)}
        />
        <Textarea
          label="Document"
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
          onKeyDown={startByKeys}
          autosize
          minRows={10}
          maxRows={30}
          spellCheck={false}
          classNames={{ input: 'mono' }}
        />
        <Textarea
          label="Variables"
          description="JSON. Those that the document does not name are ignored."
          value={variables}
          onChange={(event) => setVariables(event.currentTarget.value)}
          onKeyDown={startByKeys}
          error={variablesError}
          autosize
          minRows={3}
          maxRows={12}
          spellCheck={false}
          classNames={{ input: 'mono' }}
        />
        <Group gap="sm">
          <Button leftSection={<IconPlayerPlay size={14} />} loading={isRunning} onClick={start}>
            Run
          </Button>
          {isRunning && (
            <Button variant="default" leftSection={<IconPlayerStop size={14} />} onClick={stop}>
              Stop
            </Button>
          )}
          <Text size="xs" c="dimmed">
            Or Ctrl and Enter.
          </Text>
        </Group>
      </Panel>
      <Panel title="Result">
        <Text size="sm" c="dimmed" role="status">
          {note}
        </Text>
        {results.map(({ number, text }) => (
          <Command key={number}>{text}</Command>
        ))}
      </Panel>
    </Stack>
  );
}

type Result = { number: number; text: string };

function useRun() {
  const api = useApi();
  const [results, setResults] = useState<readonly Result[]>([]);
  const [note, setNote] = useState('Nothing has been asked yet.');
  const [isRunning, setRunning] = useState(false);
  const stopRunning = useRef(() => {});
  useEffect(() => () => stopRunning.current(), []);

  function run(query: string, variables: Record<string, unknown>): void {
    stopRunning.current();
    let count = 0;
    let isStopped = false;
    const started = performance.now();
    const show = (result: unknown) => {
      if (isStopped) return;
      count += 1;
      const shown = { number: count, text: JSON.stringify(result, null, 2) };
      setResults((before) => [shown, ...before].slice(0, MAX_RESULTS));
    };
    const end = (why: string) => {
      if (isStopped) return;
      isStopped = true;
      setRunning(false);
      setNote(why);
    };
    const request = { query, variables };
    setResults([]);
    setRunning(true);
    if (isSubscription(query)) {
      setNote('Listening. What happens from now on is shown here.');
      const unsubscribe = followDocument(api, request, show, (reason = 'It has ended.') => end(reason));
      stopRunning.current = () => {
        end('Stopped.');
        unsubscribe();
      };
      return;
    }
    setNote('Asking…');
    stopRunning.current = () => end('Stopped. What it changes may have been changed.');
    runDocument(api, request).then(
      (result) => {
        show(result);
        end(`${Math.round(performance.now() - started)} ms`);
      },
      () => end(NO_ANSWER),
    );
  }
  return { results, note, isRunning, run, stop: () => stopRunning.current() };
}

function parseVariables(text: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(text.trim() || '{}');
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
