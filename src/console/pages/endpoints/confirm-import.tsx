import { Box, Code } from '@mantine/core';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import { Facts } from '../../parts/facts.tsx';
import { formatCount, formatUsd } from '../../parts/format.ts';
import type { ImportPreview } from './import-values.ts';

type Item = ImportPreview['items'][number];
/** A change to what an existing endpoint's buyers get, or what they pay. */
export type SalesChange = { path: string; field: 'upstreamUrl' | 'priceUsd'; before: string; after: string };

/** With more new hosts and prices than this, the user types how many endpoints change instead. */
const MAX_TYPED = 3;

/** The changes that need a confirmation: to upstream URLs and prices of endpoints that exist. */
export function salesChanges(items: readonly Item[], priceOf: (item: Item) => string): SalesChange[] {
  return items.flatMap((item): SalesChange[] => {
    if (item.status !== 'CHANGED') return [];
    const { path, priceUsd, changes } = item;
    const moved = changes.find(({ field }) => field === 'upstreamUrl');
    const price = priceOf(item).trim();
    return [
      ...(moved
        ? [{ path, field: 'upstreamUrl' as const, before: String(moved.before), after: String(moved.after) }]
        : []),
      ...(priceUsd !== null && Number(price) !== Number(priceUsd)
        ? [{ path, field: 'priceUsd' as const, before: priceUsd, after: price }]
        : []),
    ];
  });
}

/** Shows the old and new values, and asks the user to type the new hosts and prices. */
export function ConfirmImport(props: {
  changes: readonly SalesChange[];
  isBusy: boolean;
  onConfirm(): void;
  onClose(): void;
}) {
  const { changes, ...rest } = props;
  const paths = new Set(changes.map(({ path }) => path));
  return (
    <ConfirmDialog isOpen title="Change existing endpoints" action="Import" typed={typedFor(changes)} {...rest}>
      Starting with the next request, buyers get their responses from the new URLs, and pay the new prices.
      {[...paths].map((path) => (
        <Box key={path} mt="sm">
          <Code>{path}</Code>
          <Facts
            rows={changes
              .filter((change) => change.path === path)
              .flatMap(({ field, before, after }) => [
                [`Old ${NAMES[field]}`, <Code key="before">{shown(field, before)}</Code>] as const,
                [`New ${NAMES[field]}`, <Code key="after">{shown(field, after)}</Code>] as const,
              ])}
          />
        </Box>
      ))}
    </ConfirmDialog>
  );
}

const NAMES = { upstreamUrl: 'upstream URL', priceUsd: 'price' } as const;

function shown(field: SalesChange['field'], value: string): string {
  // What isn't a number is rejected by the server, whose message says how to write it.
  return field === 'priceUsd' && Number.isFinite(Number(value)) ? formatUsd(value) : value;
}

function typedFor(changes: readonly SalesChange[]): string[] {
  const values = new Set(changes.map(({ field, after }) => (field === 'upstreamUrl' ? hostOf(after) : after)));
  if (values.size <= MAX_TYPED) return [...values];
  const count = new Set(changes.map(({ path }) => path)).size;
  return [count === 1 ? '1 endpoint' : `${formatCount(count)} endpoints`];
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url;
}
