import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { useState } from 'react';
import { type AnyVariables, useMutation } from 'urql';
import { type Problem, toProblem } from './problem.ts';

/**
 * A mutation with its state. `submit` returns the data or, on failure, undefined. `problem` then says why. `attempt`
 * returns the problem instead, for callers whose page may have been closed by then.
 */
export function useSubmit<Data, Variables extends AnyVariables>(document: TypedDocumentNode<Data, Variables>) {
  const [{ fetching }, run] = useMutation(document);
  const [problem, setProblem] = useState<Problem>();
  async function submit(variables: Variables): Promise<Data | undefined> {
    setProblem(undefined);
    const { data, error } = await run(variables);
    if (error) setProblem(toProblem(error));
    return error ? undefined : data;
  }
  async function attempt(variables: Variables): Promise<Problem | undefined> {
    const { error } = await run(variables);
    return error && toProblem(error);
  }
  return { submit, attempt, problem, isBusy: fetching };
}
