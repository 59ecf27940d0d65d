import { Anchor, Badge, Box, Code, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import {
  type GraphqlSchema,
  type InputValue,
  namedType,
  placeName,
  type SchemaType,
  searchSchema,
  type TypeRef,
  typeText,
} from '../../api/graphql-schema.ts';
import { useProject } from '../../parts/current-project.tsx';
import { Marked } from '../../parts/marked.tsx';
import { Panel } from '../../parts/page.tsx';

const ROOTS = ['Query', 'Mutation', 'Subscription'];
const MAX_RESULTS = 50;
const KIND_LABELS: Readonly<Record<SchemaType['kind'], string>> = {
  OBJECT: 'type',
  INTERFACE: 'interface',
  UNION: 'union',
  ENUM: 'enum',
  INPUT_OBJECT: 'input',
  SCALAR: 'scalar',
};

/** Schema search, and the documentation for one type. */
export function GraphqlDocs({ schema, typeName }: { schema: GraphqlSchema; typeName: string | undefined }) {
  const [search, setSearch] = useState('');
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const type = schema.get(typeName ?? 'Query');
  return (
    <Stack gap="sm" component="section" aria-label="Schema">
      <TextInput
        label="Search the schema"
        placeholder="delivery status, createWebhook"
        leftSection={<IconSearch size={16} />}
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
      />
      <Group gap="md" component="nav" aria-label="Root types">
        {ROOTS.map((root) => (
          <TypeLink key={root} name={root} />
        ))}
      </Group>
      {words.length > 0 ? (
        <SearchResults schema={schema} words={words} onOpen={() => setSearch('')} />
      ) : (
        <Panel>{type ? <TypeDocs type={type} /> : <Text size="sm">Type not found. Search for it above.</Text>}</Panel>
      )}
    </Stack>
  );
}

function SearchResults({ schema, words, onOpen }: { schema: GraphqlSchema; words: readonly string[]; onOpen(): void }) {
  const places = searchSchema(schema, words);
  return (
    <Panel>
      <Text size="xs" c="dimmed" role="status">
        {places.length > MAX_RESULTS ? `First ${MAX_RESULTS} of ${places.length} results` : `${places.length} results`}
      </Text>
      <List label="Search results">
        {places.slice(0, MAX_RESULTS).map((place) => (
          <Box component="li" key={placeName(place)}>
            <TypeLink name={place.typeName} text={placeName(place)} onOpen={onOpen} />
            <Description text={place.description} />
          </Box>
        ))}
      </List>
    </Panel>
  );
}

function TypeDocs({ type }: { type: SchemaType }) {
  const { kind, name, description, fields, inputFields, enumValues, possibleTypes } = type;
  return (
    <>
      <Group gap="xs">
        <Title order={2}>{name}</Title>
        <Badge color="gray">{KIND_LABELS[kind]}</Badge>
      </Group>
      <Description text={description} />
      {possibleTypes && (
        <Group gap="xs">
          {possibleTypes.map((possible) => (
            <TypeLink key={possible.name} name={possible.name ?? ''} />
          ))}
        </Group>
      )}
      <List label={`Members of ${name}`}>
        {fields?.map((field) => (
          <Box component="li" key={field.name}>
            <Signature name={field.name} type={field.type} />
            <Description text={field.description} />
            {field.args.length > 0 && (
              <Box pl="md" mt={4} style={{ borderLeft: '1px solid var(--tollgate-line)' }}>
                <List label={`Arguments of ${field.name}`}>{field.args.map(inputItem)}</List>
              </Box>
            )}
          </Box>
        ))}
        {inputFields?.map(inputItem)}
        {enumValues?.map((value) => (
          <Box component="li" key={value.name}>
            <Name>{value.name}</Name>
            <Description text={value.description} />
          </Box>
        ))}
      </List>
    </>
  );
}

function inputItem({ name, type, description, defaultValue }: InputValue) {
  return (
    <Box component="li" key={name}>
      <Signature name={name} type={type} {...(defaultValue !== null && { defaultValue })} />
      <Description text={description} />
    </Box>
  );
}

function List({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: 'none' }} aria-label={label}>
      {children}
    </Stack>
  );
}

function Signature({ name, type, defaultValue }: { name: string; type: TypeRef; defaultValue?: string }) {
  return (
    <Group gap="xs">
      <Name>{name}</Name>
      <TypeLink name={namedType(type)} text={typeText(type)} />
      {defaultValue !== undefined && (
        <Text size="xs" c="dimmed" className="mono">
          = {defaultValue}
        </Text>
      )}
    </Group>
  );
}

function Name({ children }: { children: string }) {
  return (
    <Code bg="transparent" fw={600} px={0}>
      {children}
    </Code>
  );
}

function TypeLink({ name, text = name, onOpen }: { name: string; text?: string; onOpen?: () => void }) {
  const { id } = useProject();
  return (
    <Anchor
      component={Link}
      href={`/projects/${id}/graphql/${name}`}
      className="mono"
      underline="always"
      {...(onOpen && { onClick: onOpen })}
    >
      {text}
    </Anchor>
  );
}

function Description({ text }: { text: string | null }) {
  if (!text) return null;
  return (
    <Text size="sm">
      <Marked>{text}</Marked>
    </Text>
  );
}
