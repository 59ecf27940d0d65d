import { ActionIcon, Button, Fieldset, Input, Select, Stack, Table, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { AUTHENTICATION_FIELDS, AUTHENTICATION_TYPES, type CredentialsValues } from './credentials-values.ts';

const MAX_HEADERS = 20;
const WRITE_ONLY = 'Stored encrypted and never shown again.';

type Props<Values> = { form: UseFormReturnType<Values>; onAddHeader(): void };

/** What a webhook's requests contain in addition to the signature: its authentication, and its own headers. */
export function CredentialsFields<Values extends CredentialsValues>({ form, onAddHeader }: Props<Values>) {
  const { authentication } = form.getValues();
  return (
    <Fieldset legend="Authentication and headers">
      <Stack gap="md">
        <Select
          label="Authentication"
          description="Requests are always signed. Choose a type if your server requires more."
          data={AUTHENTICATION_TYPES}
          allowDeselect={false}
          {...form.getInputProps('authentication.type')}
        />
        {AUTHENTICATION_FIELDS[authentication.type].map(({ name, label, description, isSecret, isOptional }) => (
          <TextInput
            key={name}
            label={label}
            description={isSecret ? WRITE_ONLY : description}
            required={!isOptional}
            spellCheck={false}
            autoComplete="off"
            {...form.getInputProps(`authentication.${name}`)}
          />
        ))}
        <HeaderTable form={form} onAddHeader={onAddHeader} />
      </Stack>
    </Fieldset>
  );
}

function HeaderTable<Values extends CredentialsValues>({ form, onAddHeader }: Props<Values>) {
  const { headers } = form.getValues();
  const cell = (index: number, name: 'name' | 'value') => (
    <TextInput
      aria-label={`Header ${index + 1} ${name}`}
      required
      spellCheck={false}
      autoComplete="off"
      {...form.getInputProps(`headers.${index}.${name}`)}
    />
  );
  return (
    <Input.Wrapper
      label="Headers"
      labelElement="div"
      description={`Added to every request. Values are secret. ${WRITE_ONLY}`}
      error={form.errors.headers}
    >
      {headers.length > 0 && (
        <Table withRowBorders={false} horizontalSpacing={4}>
          <caption className="visually-hidden">Headers</caption>
          <Table.Thead>
            <Table.Tr>
              <Table.Th fz="xs" c="dimmed" fw={500}>
                Name
              </Table.Th>
              <Table.Th fz="xs" c="dimmed" fw={500}>
                Value
              </Table.Th>
              <Table.Th w={40}>
                <span className="visually-hidden">Actions</span>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {headers.map(({ key }, index) => (
              <Table.Tr key={key} style={{ verticalAlign: 'top' }}>
                <Table.Td>{cell(index, 'name')}</Table.Td>
                <Table.Td>{cell(index, 'value')}</Table.Td>
                <Table.Td>
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    size="lg"
                    aria-label={`Remove header ${index + 1}`}
                    onClick={() => form.removeListItem('headers', index)}
                  >
                    <IconTrash size={16} />
                  </ActionIcon>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      <Button
        mt="xs"
        size="xs"
        variant="default"
        leftSection={<IconPlus size={14} />}
        disabled={headers.length >= MAX_HEADERS}
        onClick={onAddHeader}
      >
        Add header
      </Button>
    </Input.Wrapper>
  );
}
