import { Anchor, Badge, Box, Code, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import {
  astFromValue,
  type GraphQLArgument,
  type GraphQLEnumValue,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLSchema,
  type GraphQLType,
  getNamedType,
  isAbstractType,
  isInputType,
  print,
} from 'graphql';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { membersOf, placeName, searchSchema } from '../../api/graphql-schema.ts';
import { useProject } from '../../parts/current-project.tsx';
import { Marked } from '../../parts/marked.tsx';
import { Panel } from '../../parts/page.tsx';

const ROOTS = ['Query', 'Mutation', 'Subscription'];
const MAX_RESULTS = 50;
type Member = GraphQLField<unknown, unknown> | GraphQLInputField | GraphQLEnumValue;

/** Schema search, and the documentation for one type. */
export function GraphqlDocs({ schema, typeName }: { schema: GraphQLSchema; typeName: string | undefined }) {
  const [search, setSearch] = useState('');
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const type = schema.getType(typeName ?? 'Query');
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
        <Panel>
          {type ? (
            <TypeDocs schema={schema} type={type} />
          ) : (
            <Text size="sm">Type not found. Search for it above.</Text>
          )}
        </Panel>
      )}
    </Stack>
  );
}

function SearchResults({ schema, words, onOpen }: { schema: GraphQLSchema; words: readonly string[]; onOpen(): void }) {
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

function TypeDocs({ schema, type }: { schema: GraphQLSchema; type: GraphQLNamedType }) {
  const { name, description } = type;
  const members: readonly Member[] = membersOf(type);
  return (
    <>
      <Group gap="xs">
        <Title order={2}>{name}</Title>
        <Badge color="gray">{kindOf(type)}</Badge>
      </Group>
      <Description text={description} />
      {isAbstractType(type) && (
        <Group gap="xs">
          {schema.getPossibleTypes(type).map((possible) => (
            <TypeLink key={possible.name} name={possible.name} />
          ))}
        </Group>
      )}
      <List label={`Members of ${name}`}>
        {members.map((member) => (
          <MemberDocs key={member.name} member={member} />
        ))}
      </List>
    </>
  );
}

/** A type's kind as in SDL: `GraphQLInputObjectType` is an `input`. */
function kindOf(type: GraphQLNamedType): string {
  const [, kind = ''] = /^GraphQL(Object|Interface|Union|Enum|Input|Scalar)/.exec(type[Symbol.toStringTag]) ?? [];
  return kind === 'Object' ? 'type' : kind.toLowerCase();
}

/** A field with its arguments, a field of an input, or a value of an enum. */
function MemberDocs({ member }: { member: Member | GraphQLArgument }) {
  const { name, description, deprecationReason } = member;
  const args = 'args' in member ? member.args : [];
  return (
    <Box component="li">
      {'type' in member ? <Signature {...member} /> : <Name>{name}</Name>}
      {deprecationReason && (
        <Text size="xs" c="dimmed">
          Deprecated: <Marked>{deprecationReason}</Marked>
        </Text>
      )}
      <Description text={description} />
      {args.length > 0 && (
        <Box pl="md" mt={4} style={{ borderLeft: '1px solid var(--tollgate-line)' }}>
          <List label={`Arguments of ${name}`}>
            {args.map((argument) => (
              <MemberDocs key={argument.name} member={argument} />
            ))}
          </List>
        </Box>
      )}
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

function Signature({ name, type, defaultValue }: { name: string; type: GraphQLType; defaultValue?: unknown }) {
  const value = defaultValue !== undefined && isInputType(type) ? astFromValue(defaultValue, type) : undefined;
  return (
    <Group gap="xs">
      <Name>{name}</Name>
      <TypeLink name={getNamedType(type).name} text={String(type)} />
      {value && (
        <Text size="xs" c="dimmed" className="mono">
          = {print(value)}
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

function Description({ text }: { text: string | null | undefined }) {
  if (!text) return null;
  return (
    <Text size="sm">
      <Marked>{text}</Marked>
    </Text>
  );
}
