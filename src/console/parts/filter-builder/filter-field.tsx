import { Code, Input, Group as Row, SegmentedControl, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { EXAMPLE_FILTER, parseFilter } from '../destination-values.ts';
import { type Group, newGroup, readFilter, writeFilter } from './model.ts';
import { FilterPreview } from './preview.tsx';
import { GroupRows } from './rows.tsx';

type Mode = 'form' | 'json';

/**
 * Edits a destination's filter as a form or as JSON, and shows which of the latest events match.
 *
 * @param value the filter as JSON text, or empty text for none.
 * @param eventTypes the destination's event types, by their names in the enum; none means all.
 */
export function FilterField(props: {
  value: string;
  onChange(value: string): void;
  error: string | undefined;
  eventTypes: readonly string[];
}) {
  const { value, onChange, error, eventTypes } = props;
  // Rows without a value can't be read back from the JSON, so the form's state is kept here.
  const [group, setGroup] = useState<Group | undefined>(() => groupIn(value));
  const [mode, setMode] = useState<Mode>(group ? 'form' : 'json');
  const readable = groupIn(value);
  function change(changed: Group): void {
    setGroup(changed);
    const filter = writeFilter(changed);
    onChange(filter ? JSON.stringify(filter, null, 2) : '');
  }
  function show(next: Mode): void {
    if (next === 'form' && mode === 'json') setGroup(readable);
    setMode(next);
  }
  return (
    <Stack gap="xs" role="group" aria-label="Event filter">
      <Row justify="space-between" align="flex-end">
        <Input.Wrapper
          label="Filter"
          labelElement="div"
          description="Send only events that match. Other events are counted but not delivered."
        />
        <SegmentedControl
          size="xs"
          aria-label="Edit the filter as"
          data={[
            { value: 'form', label: 'Form', disabled: mode === 'json' && !readable },
            { value: 'json', label: 'JSON' },
          ]}
          value={mode}
          onChange={(next) => show(next as Mode)}
        />
      </Row>
      {mode === 'form' ? (
        <GroupRows group={group ?? newGroup('all')} onChange={change} />
      ) : (
        <>
          <Textarea
            aria-label="Filter"
            placeholder={EXAMPLE_FILTER}
            autosize
            minRows={2}
            spellCheck={false}
            value={value}
            onChange={(event) => onChange(event.currentTarget.value)}
            error={error !== undefined}
          />
          {!readable && parseFilter(value) !== undefined && (
            <Text size="xs" c="dimmed">
              The form can’t show this filter. It doesn’t support <Code>not</Code> or more than one level of nested
              groups.
            </Text>
          )}
        </>
      )}
      {error && <Input.Error role="alert">{error}</Input.Error>}
      <FilterPreview value={value} eventTypes={eventTypes} />
    </Stack>
  );
}

/** Undefined if the form can't show the filter. */
function groupIn(text: string): Group | undefined {
  if (text.trim() === '') return newGroup('all');
  return readFilter(parseFilter(text));
}
