import type { OperationDefinitionNode } from 'graphql';
import { useEffect, useRef, useState } from 'react';
import { useApi } from '../../api/client.ts';
import { UNREACHABLE } from '../../api/problem.ts';
import { followDocument, runDocument } from '../../api/run-document.ts';

/** The number of subscription results to keep, newest first. */
const MAX_RESULTS = 20;

type Result = { number: number; text: string };

/** Runs one operation at a time, and provides its results and a note about its progress. */
export function useRun() {
  const api = useApi();
  const [results, setResults] = useState<readonly Result[]>([]);
  const [note, setNote] = useState('Run a query to see the result.');
  const [isRunning, setRunning] = useState(false);
  const stopRunning = useRef(() => {});
  useEffect(() => () => stopRunning.current(), []);

  /** `operation` is undefined if the document can't be parsed; the server then explains what is wrong with it. */
  function run(
    query: string,
    variables: Record<string, unknown>,
    operation: OperationDefinitionNode | undefined,
  ): void {
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
    const request = { query, variables, ...(operation?.name && { operationName: operation.name.value }) };
    setResults([]);
    setRunning(true);
    if (operation?.operation === 'subscription') {
      setNote('Listening. New results appear here.');
      const unsubscribe = followDocument(api, request, show, (reason = 'The subscription has ended.') => end(reason));
      stopRunning.current = () => {
        end('Stopped.');
        unsubscribe();
      };
      return;
    }
    setNote('Running…');
    const isMutation = operation?.operation === 'mutation';
    const stopped = isMutation ? 'Stopped. The server may still have applied the change.' : 'Stopped.';
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
