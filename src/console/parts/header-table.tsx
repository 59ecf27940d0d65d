import { ActionIcon, Button, Group, Input, Table, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import type { HeaderPreset } from './header-values.ts';

const MAX_HEADERS = 20;

/** Help text for every field with a secret. */
export const WRITE_ONLY = 'Stored encrypted and never shown again.';

/** A column of the table. Screen readers announce its fields by the header's number and `spoken`. */
type Column = { name: string; label: string; spoken: string; placeholder?: string };
const COLUMNS: readonly Column[] = [
  { name: 'name', label: 'Name', spoken: 'name' },
  { name: 'value', label: 'Value', spoken: 'value' },
];

/**
 * A form field for a list of headers.
 *
 * @param props `field`: the form field's name. `isAlone`: whether it is in a panel with its label as the title. `rows`:
 * its current value. `more`: columns in addition to the name and the value.
 */
export function HeaderTable<Values>(props: {
  form: UseFormReturnType<Values>;
  field: string;
  rows: readonly { key: string }[];
  label: string;
  description: string;
  isAlone?: boolean;
  more?: readonly Column[];
  presets?: readonly HeaderPreset[];
  onAdd(preset?: HeaderPreset): void;
}) {
  const { form, field, rows, label, description, more = [], presets = [], isAlone = false, onAdd } = props;
  const columns = [...COLUMNS, ...more];
  const isFull = rows.length >= MAX_HEADERS;
  return (
    <Input.Wrapper
      {...(!isAlone && { label, labelElement: 'div' })}
      description={description}
      error={form.errors[field]}
    >
      {rows.length > 0 && (
        <Table withRowBorders={false} horizontalSpacing={4}>
          <caption className="visually-hidden">{label}</caption>
          <Table.Thead>
            <Table.Tr>
              {columns.map((column) => (
                <Table.Th key={column.name} fz="xs" c="dimmed" fw={500}>
                  {column.label}
                </Table.Th>
              ))}
              <Table.Th w={40}>
                <span className="visually-hidden">Actions</span>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(({ key }, index) => (
              <Table.Tr key={key} style={{ verticalAlign: 'top' }}>
                {columns.map((column) => (
                  <Table.Td key={column.name}>
                    <TextInput
                      aria-label={`Header ${index + 1} ${column.spoken}`}
                      placeholder={column.placeholder}
                      required
                      spellCheck={false}
                      autoComplete="off"
                      {...form.getInputProps(`${field}.${index}.${column.name}`)}
                    />
                  </Table.Td>
                ))}
                <Table.Td>
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    size="lg"
                    aria-label={`Remove header ${index + 1}`}
                    onClick={() => form.removeListItem(field, index)}
                  >
                    <IconTrash size={16} />
                  </ActionIcon>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      <Group mt="xs" gap="xs">
        <AddButton label="Add header" isDisabled={isFull} onClick={() => onAdd()} />
        {presets.map((preset) => (
          <AddButton key={preset.label} label={preset.label} isDisabled={isFull} onClick={() => onAdd(preset)} />
        ))}
      </Group>
    </Input.Wrapper>
  );
}

function AddButton({ label, isDisabled, onClick }: { label: string; isDisabled: boolean; onClick(): void }) {
  return (
    <Button size="xs" variant="default" leftSection={<IconPlus size={14} />} disabled={isDisabled} onClick={onClick}>
      {label}
    </Button>
  );
}
