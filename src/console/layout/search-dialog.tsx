import { Badge, Combobox, Group, Loader, Modal, Text, TextInput, useCombobox } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useQuery } from 'urql';
import { useLocation } from 'wouter';
import { SearchDocument } from '../../generated/console/search.ts';
import { toProblem } from '../api/problem.ts';
import { formatEnum } from '../parts/format.ts';
import { currentFirst, pageOf } from './search-targets.ts';

const PAUSE_MILLISECONDS = 200;
const MIN_LENGTH = 2;

/** Finds items in all of the user's projects, and opens the selected one. */
export function SearchDialog({ projectId, onClose }: { projectId: string | undefined; onClose(): void }) {
  const [text, setText] = useState('');
  const [query] = useDebouncedValue(text.trim(), PAUSE_MILLISECONDS);
  const [, go] = useLocation();
  const combobox = useCombobox({ opened: true });
  const isAsked = query.length >= MIN_LENGTH;
  const [{ data, error, fetching }] = useQuery({
    query: SearchDocument,
    variables: { query },
    pause: !isAsked,
    requestPolicy: 'network-only',
  });
  const items = isAsked && !fetching ? currentFirst(data?.search ?? [], projectId) : [];
  // Pressing Enter opens the first result.
  const first = items[0]?.id;
  useEffect(() => {
    if (first) combobox.selectFirstOption();
    else combobox.resetSelectedOption();
  }, [first, combobox.selectFirstOption, combobox.resetSelectedOption]);

  return (
    <Modal opened onClose={onClose} title="Search" yOffset="12vh" size="lg">
      <Combobox
        store={combobox}
        onOptionSubmit={(id) => {
          const chosen = items.find((item) => item.id === id);
          if (!chosen) return;
          onClose();
          go(pageOf(chosen));
        }}
      >
        <Combobox.EventsTarget withExpandedAttribute>
          <TextInput
            data-autofocus
            aria-label="Search"
            role="combobox"
            aria-autocomplete="list"
            placeholder="An ID, transaction hash, wallet, path, host, or name"
            leftSection={<IconSearch size={16} />}
            rightSection={isAsked && fetching && <Loader size={16} />}
            value={text}
            maxLength={200}
            onChange={(event) => setText(event.currentTarget.value)}
            // While the list of options is open, the dialog doesn't receive the Escape key.
            onKeyDown={(event) => event.key === 'Escape' && onClose()}
          />
        </Combobox.EventsTarget>
        <Text size="sm" c={error ? 'red.8' : 'dimmed'} mt="sm" role="status">
          {statusText({ query, fetching, count: items.length, ...(error && { problem: toProblem(error).message }) })}
        </Text>
        <Combobox.Options mt="xs" aria-label="Results" style={{ overflowY: 'auto', maxHeight: '50vh' }}>
          {items.map((item) => (
            <Combobox.Option key={item.id} value={item.id}>
              <Group gap="sm" wrap="nowrap">
                <Badge color="gray">{formatEnum(item.type)}</Badge>
                <Text size="sm" truncate flex={1}>
                  {item.label}
                  <span className="visually-hidden"> {item.id}</span>
                </Text>
                {item.projectId !== projectId && item.type !== 'PROJECT' && projectId && (
                  <Text size="xs">Other project</Text>
                )}
                {item.status && <Text size="xs">{formatEnum(item.status)}</Text>}
              </Group>
            </Combobox.Option>
          ))}
        </Combobox.Options>
      </Combobox>
    </Modal>
  );
}

/** Matches the start of a wallet address or hash, or one that is shortened as in lists. */
const SHORTENED = /^0x[0-9a-f]{2,39}$|^0x[0-9a-f]+(?:…|\.{3})/i;

function statusText(state: { query: string; fetching: boolean; count: number; problem?: string }): string {
  const { query, fetching, count, problem } = state;
  if (query.length < MIN_LENGTH) return 'Enter at least two characters.';
  if (fetching) return 'Searching…';
  if (problem) return problem;
  if (count === 0 && SHORTENED.test(query)) return 'Nothing found. Enter the whole wallet or transaction hash.';
  if (count === 0) return 'Nothing found.';
  return count === 1 ? '1 result' : `${count} results`;
}
