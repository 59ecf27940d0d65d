import {
  ActionIcon,
  Button,
  MultiSelect,
  NativeSelect,
  Group as Row,
  Select,
  Stack,
  TagsInput,
  TextInput,
} from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useEnumValues } from '../enum-values.ts';
import { formatEventType } from '../format.ts';
import { EVENT_FIELDS, OPERATOR_LABELS, OPERATORS, type Operator } from './fields.ts';
import {
  type Condition,
  type Group,
  type Item,
  isGroup,
  newCondition,
  newGroup,
  withField,
  withOperator,
} from './model.ts';

const FIELD_OPTIONS = Object.keys(EVENT_FIELDS).map((value) => ({ value, label: value }));
const MATCHES = [
  { value: 'all', label: 'All conditions match' },
  { value: 'any', label: 'Any condition matches' },
];

/** The rows of a group. `name` completes the labels for screen readers, for example, “group 2”. */
export function GroupRows(props: { group: Group; onChange(group: Group): void; name?: string }) {
  const { group, onChange, name } = props;
  const { items } = group;
  const place = (index: number) => (name ? `${index + 1} of ${name}` : String(index + 1));
  const replace = (index: number, item: Item | undefined) =>
    onChange({ ...group, items: items.flatMap((each, at) => (at === index ? (item ?? []) : [each])) });
  const add = (item: Item) => onChange({ ...group, items: [...items, item] });
  return (
    <Stack gap="xs">
      {items.length > 1 && (
        <NativeSelect
          size="xs"
          w={220}
          aria-label={name ? `How ${name} matches` : 'How the filter matches'}
          data={MATCHES}
          value={group.match}
          onChange={(event) => onChange({ ...group, match: event.currentTarget.value as Group['match'] })}
        />
      )}
      {items.map((item, index) =>
        isGroup(item) ? (
          <Row key={item.key} gap={4} wrap="nowrap" align="flex-start" className="filter-group">
            <GroupRows group={item} onChange={(inner) => replace(index, inner)} name={`group ${index + 1}`} />
            <RemoveButton label={`Remove group ${index + 1}`} onClick={() => replace(index, undefined)} />
          </Row>
        ) : (
          <ConditionRow
            key={item.key}
            condition={item}
            place={place(index)}
            onChange={(changed) => replace(index, changed)}
            onRemove={() => replace(index, undefined)}
          />
        ),
      )}
      <Row gap="xs">
        <AddButton onClick={() => add(newCondition())}>{name ? `Add condition to ${name}` : 'Add condition'}</AddButton>
        {!name && items.length > 0 && (
          <AddButton onClick={() => add(newGroup(group.match === 'all' ? 'any' : 'all', [newCondition()]))}>
            Add group
          </AddButton>
        )}
      </Row>
    </Stack>
  );
}

function AddButton({ children, onClick }: { children: string; onClick(): void }) {
  return (
    <Button size="compact-xs" variant="default" leftSection={<IconPlus size={12} />} onClick={onClick}>
      {children}
    </Button>
  );
}

function RemoveButton({ label, onClick }: { label: string; onClick(): void }) {
  return (
    <ActionIcon variant="subtle" color="gray" aria-label={label} onClick={onClick}>
      <IconTrash size={14} />
    </ActionIcon>
  );
}

function ConditionRow(props: {
  condition: Condition;
  place: string;
  onChange(condition: Condition): void;
  onRemove(): void;
}) {
  const { condition, place, onChange, onRemove } = props;
  const { field, operator } = condition;
  const operators = OPERATORS[EVENT_FIELDS[field]?.type ?? 'text'];
  return (
    <Row gap={4} wrap="nowrap" align="flex-start">
      <Select
        size="xs"
        w={180}
        aria-label={`Field of condition ${place}`}
        data={FIELD_OPTIONS}
        value={field}
        onChange={(value) => value && onChange(withField(condition, value))}
        allowDeselect={false}
        searchable
      />
      <NativeSelect
        size="xs"
        w={130}
        aria-label={`Operator of condition ${place}`}
        data={operators.map((value) => ({ value, label: OPERATOR_LABELS[value] }))}
        value={operator}
        onChange={(event) => onChange(withOperator(condition, event.currentTarget.value as Operator))}
      />
      <ValueField condition={condition} label={`Value of condition ${place}`} onChange={onChange} />
      <RemoveButton label={`Remove condition ${place}`} onClick={onRemove} />
    </Row>
  );
}

/** The field for a condition's value. It depends on the operator and on the type of the event's field. */
function ValueField(props: { condition: Condition; label: string; onChange(condition: Condition): void }) {
  const { condition, label, onChange } = props;
  const { field, operator, value } = condition;
  const choices = useChoices(field);
  const set = (changed: Condition['value']) => onChange({ ...condition, value: changed });
  const shared = { size: 'xs', 'aria-label': label, style: { flex: 1 } } as const;
  if (operator === 'exists') {
    const data = [
      { value: 'true', label: 'yes' },
      { value: 'false', label: 'no' },
    ];
    return (
      <NativeSelect
        {...shared}
        data={data}
        value={String(value)}
        onChange={(event) => set(event.currentTarget.value)}
      />
    );
  }
  if (operator === 'in') {
    const values = [...[value].flat()];
    if (choices) return <MultiSelect {...shared} data={choices} value={values} onChange={set} />;
    return <TagsInput {...shared} value={values} onChange={set} acceptValueOnBlur />;
  }
  if (choices)
    return <Select {...shared} data={choices} value={String(value) || null} onChange={(chosen) => set(chosen ?? '')} />;
  const isNumber = EVENT_FIELDS[field]?.type !== 'text';
  return (
    <TextInput
      {...shared}
      value={String(value)}
      placeholder={EVENT_FIELDS[field]?.type === 'decimal' ? '1.00' : ''}
      {...(isNumber && { inputMode: 'decimal' as const })}
      spellCheck={false}
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}

/** The values to choose from. Undefined if any value can be entered. */
function useChoices(field: string): string[] | undefined {
  const eventTypes = useEnumValues('EventType').map(formatEventType);
  const known = EVENT_FIELDS[field];
  if (known?.type !== 'choice') return undefined;
  return 'choices' in known ? [...known.choices] : eventTypes;
}
