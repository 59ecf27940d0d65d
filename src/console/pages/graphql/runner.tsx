import { Button, Group, Select, Stack, Text, Textarea } from '@mantine/core';
import { IconPlayerPlay, IconPlayerStop } from '@tabler/icons-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useApi } from '../../api/client.ts';
import { UNREACHABLE } from '../../api/problem.ts';
import { followDocument, isSubscription, mayMutate, runDocument } from '../../api/run-document.ts';
import { Command } from '../../parts/command.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { Panel } from '../../parts/page.tsx';
import { EXAMPLES } from './examples.ts';

/** The number of subscription results to keep, newest first. */
const MAX_RESULTS = 20;

/** An editor for an operation and its variables, with the results. */
export function GraphqlRunner() {
  const project = useProject();
  const [query, setQuery] = useState(EXAMPLES[0]!.query);
  const [variables, setVariables] = useState(JSON.stringify({ projectId: project.id }, null, 2));
  const [variablesError, setVariablesError] = useState<string>();
  const { results, note, isRunning, run, stop } = useRun();

  function start(): void {
    const parsed = parseVariables(variables);
    setVariablesError(parsed ? undefined : 'Must be a JSON object, such as {"first": 10}.');
    if (parsed) run(query, parsed);
  }
  function startOnShortcut(event: KeyboardEvent): void {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    start();
  }

  return (
    <Stack gap="lg">
      <Panel>
        <Select
          label="Example"
          data={EXAMPLES.map(({ name }) => name)}
          defaultValue={EXAMPLES[0]!.name}
          allowDeselect={false}
          onChange={(chosen) => setQuery(EXAMPLES.find(({ name }) => name === chosen)?.query ?? query)}
        />
        <Textarea
          label="Operation"
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
          onKeyDown={startOnShortcut}
          autosize
          minRows={10}
          maxRows={30}
          spellCheck={false}
          classNames={{ input: 'mono' }}
        />
        <Textarea
          label="Variables"
          description="JSON. Unused variables are ignored."
          value={variables}
          onChange={(event) => setVariables(event.currentTarget.value)}
          onKeyDown={startOnShortcut}
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
            or press Ctrl-Enter
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
  const [note, setNote] = useState('Run a query to see the result.');
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
      setNote('Listening. New results appear here.');
      const unsubscribe = followDocument(api, request, show, (reason = 'The subscription has ended.') => end(reason));
      stopRunning.current = () => {
        end('Stopped.');
        unsubscribe();
      };
      return;
    }
    setNote('Running…');
    const stopped = mayMutate(query) ? 'Stopped. The server may still have applied the change.' : 'Stopped.';
    stopRunning.current = () => end(stopped);
    runDocument(api, request).then(
      (result) => {
        show(result);
        end(`${Math.round(performance.now() - started)} ms`);
      },
      () => end(UNREACHABLE),
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
