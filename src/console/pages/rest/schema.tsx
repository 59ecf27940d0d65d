import { Badge, Box, Code, Group, Stack, Text, UnstyledButton } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { useState } from 'react';
import { innerObject, type JsonSchema, type RestReference, typeName, valuesOf } from '../../api/openapi.ts';
import { Marked } from '../../parts/marked.tsx';

type Schemas = RestReference['schemas'];

/** An object's fields, with their types and descriptions. Nested objects can be expanded. */
export function SchemaFields({ schema, schemas }: { schema: JsonSchema; schemas: Schemas }) {
  const object = innerObject(schema, schemas);
  const fields = Object.entries(object?.properties ?? {});
  if (!object || fields.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        Empty object
      </Text>
    );
  }
  return (
    <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
      {fields.map(([name, field]) => (
        <Field
          key={name}
          name={name}
          schema={field}
          schemas={schemas}
          isRequired={object.required?.includes(name) ?? false}
        />
      ))}
    </Stack>
  );
}

function Field(props: { name: string; schema: JsonSchema; schemas: Schemas; isRequired: boolean }) {
  const { name, schema, schemas, isRequired } = props;
  const [isOpen, setOpen] = useState(false);
  const inner = innerObject(schema, schemas);
  const values = valuesOf(schema, schemas);
  return (
    <Box component="li">
      <Group gap="xs">
        <Code bg="transparent" fw={600} px={0}>
          {name}
        </Code>
        <Text size="xs" c="dimmed">
          {typeName(schema, schemas)}
        </Text>
        {isRequired && (
          <Badge color="gray" size="sm">
            required
          </Badge>
        )}
      </Group>
      {schema.description && (
        <Text size="sm">
          <Marked>{schema.description}</Marked>
        </Text>
      )}
      {values.length > 0 && (
        <Text size="xs" c="dimmed">
          One of {values.join(', ')}
        </Text>
      )}
      {inner && (
        <>
          <UnstyledButton fz="xs" mt={4} mih={24} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <Group gap={4}>
              {isOpen ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}
              Fields of {name}
            </Group>
          </UnstyledButton>
          {isOpen && (
            <Box pl="md" mt="xs" style={{ borderLeft: '1px solid var(--tollgate-line)' }}>
              <SchemaFields schema={inner} schemas={schemas} />
            </Box>
          )}
        </>
      )}
    </Box>
  );
}
