import { Button, Group, MultiSelect, Select, TextInput } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconFilter, IconFilterOff, IconListDetails } from '@tabler/icons-react';
import { type ReactNode, useEffect, useId, useState } from 'react';
import type { Destination } from './destinations.ts';
import { EmptyState } from './empty-state.tsx';
import { useEnumValues } from './enum-values.ts';
import { type FilterField, labelOf } from './list-filters.ts';
import { toLocalTime, toUtc } from './local-time.ts';
import type { ListFilters } from './use-list-filters.ts';

/** The number of filters that are always shown. */
const MAIN_COUNT = 5;
/** On phones, the filters would otherwise push the list off the screen. */
const PHONE = '(max-width: 30em)';

/** Buttons have no labels, so they are in line with the fields of their row, if there are any. */
const NEXT_TO_FIELDS = { alignSelf: 'flex-end' };
/** The options aren’t part of the page until the field is opened. */
const ON_DEMAND = { keepMounted: false };

type FieldProps<Kind extends FilterField['kind']> = {
  field: Extract<FilterField, { kind: Kind }>;
  values: readonly string[];
  onChange(values: readonly string[]): void;
  error: string | undefined;
};

/** A list's filters. Rarely used filters are hidden behind a button until they are set. */
export function FilterBar(props: {
  filters: ListFilters;
  /** Messages about invalid values, by filter. */
  errors: Readonly<Record<string, string>>;
  /** For lists with a `destination` filter. */
  destinations?: ReadonlyMap<string, Destination>;
}) {
  const { filters, errors, destinations = new Map() } = props;
  const { fields, values, isFiltered, set, clear } = filters;
  const [isOpen, setOpen] = useState(false);
  const isPhone = useMediaQuery(PHONE, false, { getInitialValueInEffect: false });
  const mainCount = isPhone ? 0 : MAIN_COUNT;
  const id = useId();
  const all = Object.entries(fields);
  const isMain = (index: number, { isRare }: FilterField) => index < mainCount && !isRare;
  const shown = all.filter(([name, field], index) => isMain(index, field) || isOpen || values[name]);
  const hasNoMain = !all.some(([, field], index) => isMain(index, field));
  return (
    <Group id={id} gap="sm" p="md" align="flex-start" role="search" aria-label="Filters">
      {shown.map(([name, field]) => (
        <Field
          key={name}
          field={field}
          values={values[name] ?? []}
          onChange={(selected) => set(name, selected)}
          error={errors[name]}
          destinations={destinations}
        />
      ))}
      {!all.every(([, field], index) => isMain(index, field)) && (
        <Button
          variant="subtle"
          size="xs"
          style={NEXT_TO_FIELDS}
          leftSection={hasNoMain && <IconFilter size={14} />}
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setOpen(!isOpen)}
        >
          {hasNoMain ? 'Filters' : isOpen ? 'Fewer filters' : 'More filters'}
        </Button>
      )}
      {isFiltered && (
        <Button
          variant="subtle"
          size="xs"
          style={NEXT_TO_FIELDS}
          leftSection={<IconFilterOff size={14} />}
          onClick={() => clear()}
        >
          Clear filters
        </Button>
      )}
    </Group>
  );
}

/** For an empty page of a list: says why it is empty. If the list itself is empty, shows `children`. */
export function NoMatches(props: { what: string; filters: ListFilters; children: ReactNode }) {
  const { what, filters, children } = props;
  if (!filters.isFirstPage) {
    return (
      <EmptyState icon={IconListDetails} title={`No ${what} on this page`}>
        They were deleted, or are on the pages before this one.
      </EmptyState>
    );
  }
  if (!filters.isFiltered) return children;
  return (
    <EmptyState icon={IconFilterOff} title={`No matching ${what}`}>
      Nothing matches these filters. Change or clear them.
    </EmptyState>
  );
}

function Field(
  props: FieldProps<FilterField['kind']> & { field: FilterField; destinations: ReadonlyMap<string, Destination> },
) {
  const { field, destinations, ...rest } = props;
  if (field.kind === 'many') return <ManyField field={field} {...rest} />;
  if (field.kind === 'order') return <OrderField field={field} {...rest} />;
  if (field.kind === 'destination') return <DestinationField field={field} destinations={destinations} {...rest} />;
  if (field.kind === 'yesOrNo') return <YesOrNoField field={field} {...rest} />;
  return <EnteredField field={field} {...rest} />;
}

function ManyField({ field, values, onChange, error }: FieldProps<'many'>) {
  const options = useEnumValues(field.enum);
  return (
    <MultiSelect
      size="xs"
      comboboxProps={ON_DEMAND}
      w={240}
      label={field.label}
      placeholder={values.length === 0 ? 'All' : ''}
      data={options.map((value) => ({ value, label: labelOf(field.enum, value) }))}
      value={[...values]}
      onChange={onChange}
      error={error}
      clearable
      searchable
    />
  );
}

function OrderField({ field, values, onChange, error }: FieldProps<'order'>) {
  const options = useEnumValues(field.enum);
  return (
    <Select
      size="xs"
      comboboxProps={ON_DEMAND}
      w={150}
      label={field.label}
      data={options.map((value) => ({ value, label: labelOf(field.enum, value) }))}
      value={values[0] ?? field.byDefault}
      onChange={(value) => onChange(value === null || value === field.byDefault ? [] : [value])}
      error={error}
      allowDeselect={false}
    />
  );
}

function YesOrNoField({ field: { label, yes, no }, values, onChange, error }: FieldProps<'yesOrNo'>) {
  return (
    <Select
      size="xs"
      comboboxProps={ON_DEMAND}
      w={140}
      label={label}
      placeholder="All"
      data={[
        { value: 'true', label: yes },
        { value: 'false', label: no },
      ]}
      value={values[0] ?? null}
      onChange={(value) => onChange(value === null ? [] : [value])}
      error={error}
      clearable
    />
  );
}

function DestinationField(props: FieldProps<'destination'> & { destinations: ReadonlyMap<string, Destination> }) {
  const { field, values, onChange, error, destinations } = props;
  const [id = null] = values;
  const options = [...destinations.values()].map(({ id: value, name }) => ({ value, label: name }));
  // A destination that was deleted, or that isn't among the first ones loaded.
  const isListed = id === null || destinations.has(id);
  return (
    <Select
      size="xs"
      comboboxProps={ON_DEMAND}
      w={240}
      label={field.label}
      placeholder="All"
      data={isListed ? options : [...options, { value: id, label: id }]}
      value={id}
      onChange={(value) => onChange(value === null ? [] : [value])}
      error={error}
      clearable
      searchable
    />
  );
}

/**
 * A field for a string, an amount, or a time. Its value is applied when the user presses Enter or leaves the field, not
 * while they type.
 */
function EnteredField({ field, values, onChange, error }: FieldProps<'text' | 'amount' | 'time'>) {
  const isTime = field.kind === 'time';
  const [value = ''] = values;
  const shown = isTime ? toLocalTime(value) : value;
  const [entered, setEntered] = useState(shown);
  useEffect(() => setEntered(shown), [shown]);
  function apply() {
    const text = entered.trim();
    if (text === shown) return;
    const applied = isTime ? toUtc(text) : text;
    onChange(applied === '' ? [] : [applied]);
  }
  return (
    <TextInput
      size="xs"
      w={isTime ? 190 : 150}
      label={field.label}
      {...(isTime ? { type: 'datetime-local' } : { placeholder: field.example, maxLength: 500 })}
      {...(field.kind === 'amount' && { inputMode: 'decimal' })}
      value={entered}
      onChange={(event) => setEntered(event.currentTarget.value)}
      onBlur={apply}
      onKeyDown={(event) => event.key === 'Enter' && apply()}
      error={error}
    />
  );
}
