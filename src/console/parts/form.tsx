import type { UseFormReturnType } from '@mantine/form';
import { type ReactNode, useEffect, useEffectEvent } from 'react';
import { errorsByField, type Problem } from '../api/problem.ts';
import { ProblemNotice } from './problem-notice.tsx';

/** Shows the server's validation errors next to the fields they belong to. Pass it the `problem` from `useSubmit`. */
export function useServerErrors<Values>(
  { setErrors }: Pick<UseFormReturnType<Values>, 'setErrors'>,
  problem: Problem | undefined,
): void {
  // The form returns new functions on every render, but each problem must be shown only once.
  const show = useEffectEvent((shown: Problem) => setErrors(errorsByField(shown)));
  useEffect(() => {
    if (problem) show(problem);
  }, [problem]);
}

/** The error of a field with a list, or the first one of its items, which the field doesn't show by itself. */
export function listError<Values>({ errors }: Pick<UseFormReturnType<Values>, 'errors'>, field: string): ReactNode {
  return errors[field] ?? Object.entries(errors).find(([name]) => name.startsWith(`${field}.`))?.[1];
}

/** Shows the problem at the top of a form, unless the messages next to the fields already say everything. */
export function FormProblem<Values>({
  form,
  problem,
}: {
  form: UseFormReturnType<Values>;
  problem: Problem | undefined;
}) {
  if (!problem) return null;
  const names = Object.keys(form.getValues() as object);
  const isShownAtFields =
    problem.fields.length > 0 &&
    Object.keys(errorsByField(problem)).every((name) => names.includes(name.split('.')[0]!));
  return isShownAtFields ? null : <ProblemNotice problem={problem} />;
}
