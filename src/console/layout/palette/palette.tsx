import { Badge, Combobox, Group, Loader, Modal, Text, TextInput, useCombobox } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { type KeyboardEvent, useEffect, useEffectEvent, useId, useState } from 'react';
import { useLocation } from 'wouter';
import type { Entry, Step } from './entries.ts';
import { whyNothing } from './nothing-found.ts';
import { type Found, MIN_LENGTH, useFoundItems } from './use-found-items.ts';
import { type PaletteProps, useGroups } from './use-groups.ts';

const PLACEHOLDERS: Readonly<Record<Step | 'start', string>> = {
  start: 'A page, an action, a name, an ID, a transaction hash, or a wallet',
  testEvent: 'Where should the test event go?',
  project: 'Which project?',
};
const HINTS: Readonly<Record<Step | 'start', string>> = {
  start: 'Type to find pages, actions, and names, or paste an ID, a transaction hash, or a wallet.',
  testEvent: 'Choose a webhook or a connector. Press Esc to go back.',
  project: 'Choose a project. Press Esc to go back.',
};

/** Finds pages, actions, and the items of all of the user's projects, and opens what is selected. */
export function Palette({ onClose, ...props }: PaletteProps & { onClose(): void }) {
  const [text, setText] = useState('');
  const [step, setStep] = useState<Step>();
  const [isEnterPending, setEnterPending] = useState(false);
  const [, go] = useLocation();
  const combobox = useCombobox({ opened: true });
  // Mantine knows the list's own ID only after the first rendering.
  const listId = useId();
  const found = useFoundItems(step === 'testEvent' ? '' : text, props.projectId);
  const enter = (next: Step | undefined) => {
    setStep(next);
    setText('');
  };
  const { groups, isLoading } = useGroups({ ...props, text, found, step });
  const entries = groups.flatMap((group) => group.entries);
  const isWaiting = found.isWaiting || isLoading;

  const choose = (entry: Entry | undefined) => {
    if (!entry || entry.obstacle !== undefined) return;
    if ('step' in entry) return enter(entry.step);
    onClose();
    if ('run' in entry) return entry.run();
    if (entry.place) props.remember(entry.place);
    go(entry.href);
  };

  // Pressing Enter opens the first result.
  const first = entries[0]?.key;
  useEffect(() => {
    if (first) combobox.selectFirstOption();
    else combobox.resetSelectedOption();
  }, [first, combobox.selectFirstOption, combobox.resetSelectedOption]);
  const openPending = useEffectEvent(() => {
    setEnterPending(false);
    choose(entries[0]);
  });
  useEffect(() => {
    if (isEnterPending && !isWaiting) openPending();
  }, [isEnterPending, isWaiting]);

  function onKeyDown(event: KeyboardEvent): void {
    // While the list of options is open, the dialog doesn't receive the Escape key.
    if (event.key === 'Escape' && !step) onClose();
    if (step && (event.key === 'Escape' || (event.key === 'Backspace' && text === ''))) enter(undefined);
    // Someone who pastes an ID may press Enter before the result has arrived.
    if (event.key === 'Enter' && entries.length === 0 && isWaiting) setEnterPending(true);
  }

  return (
    <Modal opened onClose={onClose} title="Search" yOffset="12vh" size="lg">
      <Combobox store={combobox} onOptionSubmit={(key) => choose(entries.find((entry) => entry.key === key))}>
        <Combobox.EventsTarget withExpandedAttribute aria-expanded aria-controls={listId}>
          <TextInput
            data-autofocus
            aria-label="Search"
            role="combobox"
            aria-autocomplete="list"
            placeholder={PLACEHOLDERS[step ?? 'start']}
            leftSection={<IconSearch size={16} />}
            rightSection={isWaiting && <Loader size={16} />}
            value={text}
            onChange={(event) => {
              setText(event.currentTarget.value);
              setEnterPending(false);
            }}
            onKeyDown={onKeyDown}
          />
        </Combobox.EventsTarget>
        <Text size="sm" c={found.problem ? 'red.8' : 'dimmed'} mt="sm" role="status">
          {statusText({ text, step, found, count: entries.length, isWaiting })}
        </Text>
        <Combobox.Options id={listId} mt="xs" aria-label="Results" style={{ overflowY: 'auto', maxHeight: '50vh' }}>
          {groups
            .filter((group) => group.entries.length > 0)
            .map((group) => (
              <Combobox.Group key={group.title} label={group.title}>
                {group.entries.map((entry) => (
                  <Combobox.Option key={entry.key} value={entry.key} disabled={entry.obstacle !== undefined}>
                    <EntryLine entry={entry} />
                  </Combobox.Option>
                ))}
              </Combobox.Group>
            ))}
        </Combobox.Options>
      </Combobox>
    </Modal>
  );
}

function EntryLine({ entry: { type, label, detail, obstacle } }: { entry: Entry }) {
  return (
    <Group gap="sm" wrap="nowrap">
      <Badge color="gray">{type}</Badge>
      <Text size="sm" truncate flex={1} miw="40%">
        {label}
      </Text>
      {(obstacle ?? detail) && (
        <Text size="xs" lineClamp={2}>
          {obstacle ?? detail}
        </Text>
      )}
    </Group>
  );
}

function statusText(state: {
  text: string;
  step: Step | undefined;
  found: Found;
  count: number;
  isWaiting: boolean;
}): string {
  const { step, found, count, isWaiting } = state;
  const text = state.text.trim();
  if (isWaiting) return text === '' ? 'Loading…' : 'Searching…';
  if (text === '') return count === 0 && step ? 'There are none in this project.' : HINTS[step ?? 'start'];
  if (found.problem) return found.problem;
  if (count === 0 && step)
    return step === 'project' ? 'No other project has this name.' : 'No webhook or connector has this name.';
  if (text.length < MIN_LENGTH) return `Enter at least two characters to find items${count > 0 ? ', too' : ''}.`;
  if (count === 0) return whyNothing(found.pasted);
  return count === 1 ? '1 result' : `${count} results`;
}
