import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from 'urql';
import { SearchDocument } from '../../../generated/console/search.ts';
import { toProblem } from '../../api/problem.ts';
import { currentFirst, type FoundItem } from './found-items.ts';
import { isMeant, type Pasted, readPasted } from './pasted.ts';

const PAUSE_MILLISECONDS = 200;
export const MIN_LENGTH = 2;

export type Found = {
  pasted: Pasted;
  items: readonly FoundItem[];
  /** Whether the result for the current text isn't known yet. */
  isWaiting: boolean;
  problem: string | undefined;
};

/** Searches all of the user's projects. Names are searched for when the user pauses, and IDs immediately. */
export function useFoundItems(text: string, projectId: string | undefined): Found {
  const pasted = readPasted(text);
  const wanted = 'query' in pasted ? pasted.query : '';
  const [settled] = useDebouncedValue(wanted, PAUSE_MILLISECONDS);
  const query = pasted.kind === 'text' ? settled : wanted;
  const isAsked = wanted.length >= MIN_LENGTH && query.length >= MIN_LENGTH;
  const [{ data, error, fetching }] = useQuery({
    query: SearchDocument,
    variables: { query },
    pause: !isAsked,
    requestPolicy: 'network-only',
  });
  const isWaiting = wanted.length >= MIN_LENGTH && (query !== wanted || fetching);
  const isKnown = isAsked && !isWaiting;
  const items = isKnown ? (data?.search ?? []).filter((item) => isMeant(pasted, item)) : [];
  const problem = isKnown && error ? toProblem(error) : undefined;
  return {
    pasted,
    items: currentFirst(items, projectId),
    isWaiting,
    problem: problem && (problem.fields[0]?.message ?? problem.message),
  };
}
