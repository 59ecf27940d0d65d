import { Fieldset, Select, Stack, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { HeaderTable, WRITE_ONLY } from '../../parts/header-table.tsx';
import { AUTHENTICATION_FIELDS, AUTHENTICATION_TYPES, type CredentialsValues } from './credentials-values.ts';

type Props<Values> = { form: UseFormReturnType<Values>; onAddHeader(): void };

/** A webhook's authentication and custom headers, which its requests contain in addition to the signature. */
export function CredentialsFields<Values extends CredentialsValues>({ form, onAddHeader }: Props<Values>) {
  const { authentication, headers } = form.getValues();
  return (
    <Fieldset legend="Authentication and headers">
      <Stack gap="md">
        <Select
          label="Authentication"
          description="Requests are always signed. Choose a type if your server also requires credentials."
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
        <HeaderTable
          form={form}
          field="headers"
          rows={headers}
          label="Headers"
          description={`Added to every request. Values are secret. ${WRITE_ONLY}`}
          onAdd={onAddHeader}
        />
      </Stack>
    </Fieldset>
  );
}
