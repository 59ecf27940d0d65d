import {
  buildSchema,
  type GraphQLError,
  getVariableValues,
  type OperationDefinitionNode,
  parse,
  validate,
} from 'graphql';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { withoutValues } from '../../src/graphql/error-message.ts';

const SECRET = 'k3y0abcdefghijklmnop';

const schema = buildSchema(`
  scalar JSON
  enum Kind { SLACK TEAMS }
  input Options { kind: Kind!, kinds: [Kind!], name: String, active: Boolean, count: Int, id: ID, config: JSON, inner: Options }
  type Query { find(input: Options!, id: ID, count: Int): Boolean }
`);

const document = parse('query ($input: Options!, $id: ID) { find(input: $input, id: $id) }');

function variableMessages(variables: Record<string, unknown>): string[] {
  const { variableDefinitions } = document.definitions[0] as OperationDefinitionNode;
  const { errors = [] } = getVariableValues(schema, variableDefinitions ?? [], variables) as {
    errors?: readonly GraphQLError[];
  };
  return errors.map(({ message }) => message);
}

function documentMessages(source: string): string[] {
  try {
    return validate(schema, parse(source)).map(({ message }) => message);
  } catch (error) {
    return [(error as GraphQLError).message];
  }
}

describe('an error message about a variable', () => {
  const config = { apiKey: SECRET };
  test.each([
    [
      { kind: SECRET, config },
      'Variable "$input" got an invalid value at "input.kind"; The value does not exist in the "Kind" enum.',
    ],
    [
      { kind: 'SLAK', config },
      'Variable "$input" got an invalid value at "input.kind"; The value does not exist in the "Kind" enum. Did you mean the enum value "SLACK"?',
    ],
    [
      { kind: 'SLACK', kinds: ['TEAMS', SECRET] },
      'Variable "$input" got an invalid value at "input.kinds[1]"; The value does not exist in the "Kind" enum.',
    ],
    [
      { kind: [SECRET] },
      'Variable "$input" got an invalid value at "input.kind"; Enum "Kind" cannot represent the value.',
    ],
    [
      { kind: 'SLACK', name: { SECRET } },
      'Variable "$input" got an invalid value at "input.name"; String cannot represent a non string value.',
    ],
    [
      { kind: 'SLACK', name: 0.01 },
      'Variable "$input" got an invalid value at "input.name"; String cannot represent a number. Send it in double quotes.',
    ],
    [
      { kind: 'SLACK', active: SECRET },
      'Variable "$input" got an invalid value at "input.active"; Boolean cannot represent a non boolean value.',
    ],
    [
      { kind: 'SLACK', count: `${SECRET}; at "x"; ` },
      'Variable "$input" got an invalid value at "input.count"; It does not match its type.',
    ],
    [{ config }, 'Variable "$input" got an invalid value; Field "kind" of required type "Kind!" was not provided.'],
    [
      { kind: 'SLACK', config, colour: SECRET },
      'Variable "$input" got an invalid value; Field "colour" is not defined by type "Options".',
    ],
    [SECRET, 'Variable "$input" got an invalid value; Expected type "Options" to be an object.'],
    [
      { kind: 'SLACK', inner: SECRET },
      'Variable "$input" got an invalid value at "input.inner"; Expected type "Options" to be an object.',
    ],
  ])('names the field and the problem, but not the value: %j', (input, expected) => {
    const messages = variableMessages({ input });
    expect(messages.map(withoutValues)).toContain(expected);
    for (const message of messages) expect(withoutValues(message)).not.toContain(SECRET);
  });

  test('is searched only from its start, because a search that starts at each character of a long value takes minutes', () => {
    const exec = vi.spyOn(RegExp.prototype, 'exec');
    onTestFinished(() => exec.mockRestore());
    const [message] = variableMessages({ input: 'x'.repeat(1_000) });
    exec.mockClear();
    expect(withoutValues(message!)).toBe(
      'Variable "$input" got an invalid value; Expected type "Options" to be an object.',
    );
    const longSearches = exec.mock.calls.flatMap(([text], index) =>
      text.length > 1_000 ? [(exec.mock.contexts[index] as RegExp).source[0]] : [],
    );
    expect(longSearches.length).toBeGreaterThan(0);
    expect(new Set(longSearches)).toEqual(new Set(['^']));
  });

  test('is not changed if it quotes no value', () => {
    const [message] = variableMessages({});
    expect(withoutValues(message!)).toBe('Variable "$input" of required type "Options!" was not provided.');
  });
});

describe('an error message about a document', () => {
  test.each([
    `{ find(input: { kind: "${SECRET}" }) }`,
    `{ find(input: { kind: SLACK, active: "${SECRET}" }) }`,
    `{ find(input: "${SECRET}") }`,
    `{ find(input: { kind: SLACK, name: ["${SECRET}"] }) }`,
    `{ find(input: { kind: SLACK }, count: "${SECRET}") }`,
    `{ find(input: { kind: SLACK, name: """${SECRET}""" """${SECRET}""" }) }`,
    `{ "${SECRET}" }`,
    `{ find(input: { kind: SLACK, name: "${SECRET}" "${SECRET}" }) }`,
  ])('does not repeat string literals of the document: %s', (source) => {
    const messages = documentMessages(source);
    expect(messages).not.toEqual([]);
    for (const message of messages) {
      expect(withoutValues(message)).not.toContain(SECRET);
      expect(withoutValues(message)).toMatch(/\w{4,}.*\.$/s);
    }
  });

  test('keeps the names that explain the problem', () => {
    expect(documentMessages('{ fnd }').map(withoutValues)).toEqual([
      'Cannot query field "fnd" on type "Query". Did you mean "find"?',
    ]);
    expect(documentMessages('{ find(').map(withoutValues)).toEqual(['Syntax Error: Expected Name, found <EOF>.']);
  });
});
