import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { buildSchema, parse, validate } from 'graphql';
import { expect, test } from 'vitest';
import { EXAMPLES } from '../../src/console/pages/graphql/examples.ts';

const schema = buildSchema(readFileSync(resolve(import.meta.dirname, '../../schema.graphql'), 'utf8'));

test.each(EXAMPLES)(
  'the GraphQL explorer’s example “$name” is valid and needs no variable except the project',
  ({ query }) => {
    const document = parse(query);
    expect(validate(schema, document)).toEqual([]);
    const variables = document.definitions.flatMap((definition) =>
      definition.kind === 'OperationDefinition' ? (definition.variableDefinitions ?? []) : [],
    );
    expect(['projectId']).toEqual(expect.arrayContaining(variables.map(({ variable }) => variable.name.value)));
  },
);
