import { Checkbox, type CheckboxGroupProps, Stack } from '@mantine/core';
import { useQuery } from 'urql';
import { ApiKeyScopesDocument } from '../../../generated/console/api-keys.ts';
import { formatEnum } from '../../parts/format.ts';
import { Marked } from '../../parts/marked.tsx';

/** A checkbox for each scope, with what it allows. */
export function ScopesField(props: Omit<CheckboxGroupProps, 'children'>) {
  const [{ data }] = useQuery({ query: ApiKeyScopesDocument });
  return (
    <Checkbox.Group label="Scopes" description="What programs can do with the key." {...props}>
      <Stack gap="xs" mt="xs">
        {data?.__type?.enumValues?.map(({ name, description }) => (
          <Checkbox
            key={name}
            value={name}
            label={formatEnum(name)}
            description={<Marked>{description ?? ''}</Marked>}
          />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}
