import { Button, Group, Stack, Text } from '@mantine/core';
import { IconPlayerPlay, IconPlayerStop } from '@tabler/icons-react';
import type { GraphQLSchema } from 'graphql';
import { useCallback, useEffect, useEffectEvent, useMemo, useState } from 'react';
import { CodeEditor } from '../../parts/code-editor.tsx';
import { Command } from '../../parts/command.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { JsonEditor } from '../../parts/json-editor.tsx';
import { Panel } from '../../parts/page.tsx';
import { SamplePanel } from '../../parts/sample-panel.tsx';
import { ConfirmMutation } from './confirm-mutation.tsx';
import { EXAMPLES } from './examples.ts';
import { graphqlExtensions, runKeys } from './graphql-editor.ts';
import { useHistory } from './history.ts';
import {
  faultsInVariables,
  fromFragment,
  NOT_AN_OBJECT,
  operationAt,
  operationsIn,
  parseVariables,
  toFragment,
} from './operations.ts';
import { prettify } from './prettify.ts';
import { GRAPHQL_SAMPLES, sampleOf } from './samples.ts';
import { GraphqlToolbar } from './toolbar.tsx';
import { useRun } from './use-run.ts';

/**
 * Editors for a document and its variables, with the results.
 *
 * @param schema is undefined until it has been loaded; until then, the editor doesn't complete or check anything.
 * @param onType is called when the user asks for a type's documentation.
 */
export function GraphqlRunner({ schema, onType }: { schema: GraphQLSchema | undefined; onType(name: string): void }) {
  const project = useProject();
  const [draft, setDraft] = useDraft(project.id);
  const { query, variables } = draft;
  const [cursor, setCursor] = useState(0);
  const [variablesError, setVariablesError] = useState<string>();
  const { results, note, isRunning, run, stop } = useRun();
  const [isAsking, setAsking] = useState(false);
  const history = useHistory(project.id);
  const operations = useMemo(() => operationsIn(query), [query]);
  const operation = operationAt(operations, cursor);
  const sample = sampleOf(query, parseVariables(variables) ?? {}, operation, window.location.origin);

  function send(): void {
    setAsking(false);
    history.add(draft);
    run(query, parseVariables(variables)!, operation);
  }
  function start(): void {
    const parsed = parseVariables(variables);
    setVariablesError(parsed ? undefined : NOT_AN_OBJECT);
    if (!parsed) return;
    if (operation?.operation === 'mutation') setAsking(true);
    else send();
  }
  // The editors keep the first functions they are given, so these functions call the ones from the latest render.
  const startLatest = useEffectEvent(start);
  const showLatest = useEffectEvent(onType);
  const [keys] = useState(() => runKeys(() => startLatest()));
  const extensions = useMemo(() => [keys, graphqlExtensions(schema, (name) => showLatest(name))], [keys, schema]);
  const check = useCallback((value: unknown) => faultsInVariables(schema, operation, value), [schema, operation]);

  return (
    <Stack gap="lg">
      <Panel>
        <GraphqlToolbar
          history={history.entries}
          onExample={(example) => setDraft({ query: example, variables })}
          onHistory={(entry) => setDraft({ query: entry.query, variables: entry.variables || variables })}
          onClearHistory={history.clear}
          onPrettify={() => void prettify(draft).then(setDraft)}
          curl={() => GRAPHQL_SAMPLES.curl(sample)}
          link={() => window.location.origin + window.location.pathname + toFragment(draft)}
        />
        <CodeEditor
          label="Operation"
          value={query}
          onChange={(changed) => setDraft({ query: changed, variables })}
          onCursor={setCursor}
          extensions={extensions}
          minLines={10}
          maxLines={30}
        />
        <JsonEditor
          label="Variables"
          description="JSON. Unused variables are ignored."
          value={variables}
          onChange={(changed) => setDraft({ query, variables: changed })}
          check={check}
          error={variablesError}
          keys={keys}
          minLines={3}
          maxLines={12}
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
            {operations.length > 1 && operation?.name
              ? `Runs ${operation.name.value}, the operation at the cursor. You can also press Ctrl-Enter.`
              : 'or press Ctrl-Enter'}
          </Text>
        </Group>
      </Panel>
      <ConfirmMutation isOpen={isAsking} draft={draft} onConfirm={send} onClose={() => setAsking(false)} />
      <Panel title="Result">
        <Text size="sm" c="dimmed" role="status">
          {note}
        </Text>
        {results.map(({ number, text: result }) => (
          <Command key={number}>{result}</Command>
        ))}
      </Panel>
      <Panel title="Samples">
        <SamplePanel write={(language) => GRAPHQL_SAMPLES[language](sample)} />
      </Panel>
    </Stack>
  );
}

/** The contents of the editors. A shared link can provide the initial contents, but nothing runs until the user runs
 * it. */
function useDraft(projectId: string) {
  const initial = { query: EXAMPLES[0]!.query, variables: JSON.stringify({ projectId }, null, 2) };
  const [draft, setDraft] = useState(() => fromFragment(window.location.hash) ?? initial);
  useEffect(() => {
    const onLink = () => {
      const linked = fromFragment(window.location.hash);
      if (linked) setDraft(linked);
    };
    window.addEventListener('hashchange', onLink);
    return () => window.removeEventListener('hashchange', onLink);
  }, []);
  return [draft, setDraft] as const;
}
